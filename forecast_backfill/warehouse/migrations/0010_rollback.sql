-- Rollback: what stood in each partition before a campaign wrote it, until the campaign is accepted.

ALTER TABLE partition_ledger ADD COLUMN output_writer text;
COMMENT ON COLUMN partition_ledger.output_writer IS
    'The campaign that wrote the output, else the run; none where that was before it was recorded.';

ALTER TABLE partition_ledger
    DROP CONSTRAINT partition_ledger_status_is_known,
    DROP CONSTRAINT partition_ledger_refused_is_not_current,
    DROP CONSTRAINT partition_ledger_refused_has_a_reason,
    ADD CONSTRAINT partition_ledger_status_is_known CHECK (
        status IN ('running', 'done', 'quarantined', 'mismatched', 'failed', 'rolled_back')
    ),
    ADD CONSTRAINT partition_ledger_refused_is_not_current CHECK (
        status NOT IN ('quarantined', 'mismatched', 'failed', 'rolled_back') OR output <> 'current'
    ),
    ADD CONSTRAINT partition_ledger_refused_has_a_reason CHECK (
        (status IN ('quarantined', 'mismatched', 'failed', 'rolled_back')) = (reason IS NOT NULL)
    );
COMMENT ON CONSTRAINT partition_ledger_status_is_known ON partition_ledger IS
    'The states of core/states.py, no other.';
COMMENT ON CONSTRAINT partition_ledger_refused_is_not_current ON partition_ledger IS
    'What was refused, failed or taken back leaves an older output stale, or none.';
COMMENT ON CONSTRAINT partition_ledger_refused_has_a_reason ON partition_ledger IS
    'Every negative end says why, and only a negative end does.';

ALTER TABLE partition_event
    DROP CONSTRAINT partition_event_kind_is_known,
    ADD CONSTRAINT partition_event_kind_is_known CHECK (
        kind IN (
            'started', 'written', 'unchanged', 'quarantined', 'refused', 'mismatched', 'failed',
            'rolled_back'
        )
    );
COMMENT ON CONSTRAINT partition_event_kind_is_known ON partition_event IS
    'The kinds that progress is counted from.';

CREATE TABLE superseded_partition (
    campaign_id text COLLATE "C" NOT NULL,
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    superseded_at timestamptz NOT NULL,
    output text NOT NULL,
    record jsonb NOT NULL,
    claims jsonb NOT NULL,
    is_kept boolean NOT NULL,
    kept_rows bigint NOT NULL,
    rolled_back_at timestamptz,
    CONSTRAINT superseded_partition_has_one_row_a_campaign PRIMARY KEY (campaign_id, date, region),
    CONSTRAINT superseded_partition_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT superseded_partition_output_is_known CHECK (
        output IN ('absent', 'current', 'stale')
    ),
    CONSTRAINT superseded_partition_record_is_readable CHECK (
        jsonb_typeof(record) = 'object' AND jsonb_typeof(claims) = 'array'
    ),
    CONSTRAINT superseded_partition_counts_kept_rows CHECK (
        kept_rows = 0 OR (kept_rows > 0 AND is_kept AND output <> 'absent')
    )
);
COMMENT ON TABLE superseded_partition IS
    'What stood in a partition before a campaign (else a run) wrote it first; freed by accept.';
COMMENT ON COLUMN superseded_partition.record IS
    'The columns output_… and is_merged of the ledger as they were; empty without a ledger row.';
COMMENT ON COLUMN superseded_partition.claims IS
    'The partition''s rows of partition_claim as they were.';
COMMENT ON COLUMN superseded_partition.is_kept IS
    'Whether daily_demand_superseded holds the rows; false while daily_demand still holds the same.';
COMMENT ON CONSTRAINT superseded_partition_has_one_row_a_campaign ON superseded_partition IS
    'A campaign is taken back to what was before its first write, however often it wrote.';
COMMENT ON CONSTRAINT superseded_partition_workload_is_known ON superseded_partition IS
    'There are two workloads.';
COMMENT ON CONSTRAINT superseded_partition_output_is_known ON superseded_partition IS
    'A reader found nothing, a current output, or an older one.';
COMMENT ON CONSTRAINT superseded_partition_record_is_readable ON superseded_partition IS
    'The earlier record is an object, the earlier claims are a list.';
COMMENT ON CONSTRAINT superseded_partition_counts_kept_rows ON superseded_partition IS
    'Rows are counted only where some are kept; where there were none, none are.';

CREATE TABLE campaign_acceptance (
    campaign_id text COLLATE "C" NOT NULL,
    accepted_at timestamptz NOT NULL,
    accepted_by text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT campaign_acceptance_is_given_once PRIMARY KEY (campaign_id),
    CONSTRAINT campaign_acceptance_is_explained CHECK (
        accepted_by ~ '[^[:space:]]' AND reason ~ '[^[:space:]]'
    )
);
COMMENT ON TABLE campaign_acceptance IS
    'Campaigns that cannot be rolled back any more: what they replaced was freed.';
COMMENT ON CONSTRAINT campaign_acceptance_is_given_once ON campaign_acceptance IS
    'The latest acceptance of a campaign counts.';
COMMENT ON CONSTRAINT campaign_acceptance_is_explained ON campaign_acceptance IS
    'Whoever accepts says who and why.';
