-- Schema of Forecast Backfill: the target, its ledger and history, quarantine, campaigns, control.
-- Codes are compared byte by byte (collation C): the order is the same on every machine, and the
-- key is about a third cheaper to maintain than under a locale.

CREATE TABLE daily_demand (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    store_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    demand_group text COLLATE "C" NOT NULL,
    units bigint NOT NULL,
    revenue_cents bigint NOT NULL,
    discount_cents bigint NOT NULL,
    baskets bigint NOT NULL,
    list_price_cents bigint,
    on_display boolean,
    on_mailer boolean,
    authority smallint NOT NULL,
    source_version bigint NOT NULL,
    row_hash bigint NOT NULL,
    -- Merging equal entries only costs here: the equal ones are versions of one row, soon dead.
    CONSTRAINT daily_demand_is_unique_by_grain PRIMARY KEY (date, region, store_id, product_id)
        WITH (deduplicate_items = off),
    CONSTRAINT daily_demand_authority_is_known CHECK (authority IN (10, 20, 30))
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1
);
COMMENT ON TABLE daily_demand IS
    'Demand of one product in one store on one business date; a partition is one (date, region).';
COMMENT ON CONSTRAINT daily_demand_is_unique_by_grain ON daily_demand IS
    'A partition cannot be doubled, whatever a writer does.';
COMMENT ON CONSTRAINT daily_demand_authority_is_known ON daily_demand IS
    'Every row names who stands behind it: 10 backfill, 20 live, 30 correction.';

-- The canonical text of core/fingerprint.py, value by value. PostgreSQL puts such a function's body
-- in place of its call, which is ten times faster, only where the body promises as much as the
-- function does: making text of a number promises STABLE, not IMMUTABLE.
CREATE FUNCTION canonical_text(value text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(length(value) || ':' || value, '-');
CREATE FUNCTION canonical_text(value boolean) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN value THEN '1:1' WHEN NOT value THEN '1:0' ELSE '-' END;
-- The lengths of common numbers are found by comparison: measuring costs a second text each.
CREATE FUNCTION canonical_text(value bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN value < 0 THEN length(value::text) || ':' || value
        WHEN value < 10 THEN '1:' || value
        WHEN value < 100 THEN '2:' || value
        WHEN value < 1000 THEN '3:' || value
        WHEN value < 10000 THEN '4:' || value
        WHEN value IS NULL THEN '-'
        ELSE length(value::text) || ':' || value
    END;

CREATE TABLE daily_demand_superseded (
    LIKE daily_demand,
    superseded_at timestamptz NOT NULL,
    campaign_id text,
    run_id text NOT NULL
);
COMMENT ON TABLE daily_demand_superseded IS
    'Rows as they were before a run (run_id, campaign_id) replaced them with other ones.';
-- Rows of a partition come in one go, so a summary of each few pages finds them; an entry a row would
-- make keeping them half as dear again.
CREATE INDEX daily_demand_superseded_by_partition
    ON daily_demand_superseded USING brin (date, region, superseded_at)
    WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE partition_ledger (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    status text NOT NULL,
    output text NOT NULL DEFAULT 'absent',
    attempt integer NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    epoch bigint NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    reason text,
    output_source_digest text,
    output_code_version text,
    output_dimension_version text,
    output_rows bigint,
    output_checksum numeric,
    output_units numeric,
    output_revenue_cents numeric,
    output_stores bigint,
    output_products bigint,
    output_data_version text,
    output_authority smallint,
    output_source_version bigint,
    output_written_at timestamptz,
    output_lines bigint,
    output_exclusions jsonb,
    CONSTRAINT partition_ledger_has_one_row_a_partition PRIMARY KEY (date, region),
    CONSTRAINT partition_ledger_status_is_known CHECK (
        status IN ('running', 'done', 'quarantined', 'mismatched', 'failed')
    ),
    CONSTRAINT partition_ledger_output_is_known CHECK (
        output IN ('absent', 'current', 'stale')
    ),
    CONSTRAINT partition_ledger_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT partition_ledger_attempt_is_counted CHECK (attempt >= 1),
    CONSTRAINT partition_ledger_running_is_unfinished CHECK (
        (status = 'running') = (finished_at IS NULL)
    ),
    CONSTRAINT partition_ledger_done_is_current CHECK (status <> 'done' OR output = 'current'),
    CONSTRAINT partition_ledger_refused_is_not_current CHECK (
        status NOT IN ('quarantined', 'mismatched', 'failed') OR output <> 'current'
    ),
    CONSTRAINT partition_ledger_refused_has_a_reason CHECK (
        (status IN ('quarantined', 'mismatched', 'failed')) = (reason IS NOT NULL)
    ),
    CONSTRAINT partition_ledger_output_is_described CHECK (
        num_nulls(
            output_source_digest, output_code_version, output_dimension_version, output_rows,
            output_checksum, output_units, output_revenue_cents, output_stores, output_products,
            output_data_version, output_authority, output_source_version, output_written_at,
            output_lines, output_exclusions
        ) = CASE output WHEN 'absent' THEN 15 ELSE 0 END
    )
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);
COMMENT ON TABLE partition_ledger IS
    'One row a partition: the last attempt, and the output that a reader finds (output_*).';
COMMENT ON CONSTRAINT partition_ledger_has_one_row_a_partition ON partition_ledger IS
    'Two attempts at one partition meet in one row.';
COMMENT ON CONSTRAINT partition_ledger_status_is_known ON partition_ledger IS
    'The states of core/states.py, no other.';
COMMENT ON CONSTRAINT partition_ledger_output_is_known ON partition_ledger IS
    'A reader finds nothing, the current output, or an older one.';
COMMENT ON CONSTRAINT partition_ledger_workload_is_known ON partition_ledger IS
    'There are two workloads.';
COMMENT ON CONSTRAINT partition_ledger_attempt_is_counted ON partition_ledger IS
    'A partition with a row was attempted at least once.';
COMMENT ON CONSTRAINT partition_ledger_running_is_unfinished ON partition_ledger IS
    'An attempt is running exactly while it has no end.';
COMMENT ON CONSTRAINT partition_ledger_done_is_current ON partition_ledger IS
    'Done means that the current output is readable.';
COMMENT ON CONSTRAINT partition_ledger_refused_is_not_current ON partition_ledger IS
    'What was refused or failed leaves an older output stale, or none.';
COMMENT ON CONSTRAINT partition_ledger_refused_has_a_reason ON partition_ledger IS
    'Every negative end says why, and only a negative end does.';
COMMENT ON CONSTRAINT partition_ledger_output_is_described ON partition_ledger IS
    'An output is described completely, and an absent one not at all.';

CREATE TABLE partition_event (
    event_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    attempt integer,
    seconds double precision,
    rows bigint,
    detail jsonb,
    CONSTRAINT partition_event_is_numbered PRIMARY KEY (event_id),
    CONSTRAINT partition_event_kind_is_known CHECK (
        kind IN (
            'started', 'written', 'unchanged', 'quarantined', 'refused', 'mismatched', 'failed'
        )
    ),
    CONSTRAINT partition_event_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE partition_event IS
    'What happened to partitions, in order; rows are added and never changed.';
COMMENT ON CONSTRAINT partition_event_is_numbered ON partition_event IS
    'The later event of a partition has the higher number.';
COMMENT ON CONSTRAINT partition_event_kind_is_known ON partition_event IS
    'The kinds that progress is counted from.';
COMMENT ON CONSTRAINT partition_event_workload_is_known ON partition_event IS
    'There are two workloads.';
CREATE INDEX partition_event_by_campaign ON partition_event (campaign_id, event_id);
CREATE INDEX partition_event_by_partition ON partition_event (date, region, event_id);

CREATE FUNCTION refuse_change_of_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'partition_event is append-only: % is refused', TG_OP
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'partition_event_is_append_only',
              SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$$;
CREATE TRIGGER partition_event_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON partition_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_history();
COMMENT ON TRIGGER partition_event_is_append_only ON partition_event IS
    'History cannot be rewritten, not even by mistake.';

CREATE TABLE quarantine (
    quarantine_id bigint GENERATED ALWAYS AS IDENTITY,
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    source_digest text NOT NULL,
    fault_total bigint NOT NULL,
    fault_counts jsonb NOT NULL,
    faults jsonb NOT NULL,
    summary text NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    quarantined_at timestamptz NOT NULL,
    resolved_at timestamptz,
    CONSTRAINT quarantine_is_numbered PRIMARY KEY (quarantine_id),
    CONSTRAINT quarantine_has_a_fault CHECK (fault_total >= 1),
    CONSTRAINT quarantine_faults_are_listed CHECK (
        jsonb_typeof(faults) = 'array' AND jsonb_typeof(fault_counts) = 'object'
    ),
    CONSTRAINT quarantine_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE quarantine IS
    'A refused source with its reasons; open until a later source of the partition is written.';
COMMENT ON CONSTRAINT quarantine_is_numbered ON quarantine IS
    'Each refusal can be named.';
COMMENT ON CONSTRAINT quarantine_has_a_fault ON quarantine IS
    'Nothing is quarantined without a reason.';
COMMENT ON CONSTRAINT quarantine_faults_are_listed ON quarantine IS
    'Faults are a list, their counts a mapping from code to number.';
COMMENT ON CONSTRAINT quarantine_workload_is_known ON quarantine IS
    'There are two workloads.';
CREATE UNIQUE INDEX quarantine_is_open_once ON quarantine (date, region)
    WHERE resolved_at IS NULL;
COMMENT ON INDEX quarantine_is_open_once IS
    'A partition has at most one open quarantine.';

CREATE TABLE campaign (
    campaign_id text NOT NULL,
    workload text NOT NULL,
    partitions integer NOT NULL,
    launched_at timestamptz NOT NULL,
    launched_by text NOT NULL,
    reprocess boolean NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT campaign_is_named_once PRIMARY KEY (campaign_id),
    CONSTRAINT campaign_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT campaign_asks_for_partitions CHECK (partitions >= 1)
);
COMMENT ON TABLE campaign IS
    'A launched backfill and how many partitions it was asked to do.';
COMMENT ON CONSTRAINT campaign_is_named_once ON campaign IS
    'A campaign is one Dagster backfill.';
COMMENT ON CONSTRAINT campaign_workload_is_known ON campaign IS
    'There are two workloads.';
COMMENT ON CONSTRAINT campaign_asks_for_partitions ON campaign IS
    'An empty campaign is a mistake.';

CREATE TABLE workload_control (
    workload text NOT NULL,
    epoch bigint NOT NULL,
    intent text NOT NULL,
    cap integer,
    reason text NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT workload_control_has_one_row_a_workload PRIMARY KEY (workload),
    CONSTRAINT workload_control_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT workload_control_epoch_is_positive CHECK (epoch >= 1),
    CONSTRAINT workload_control_intent_is_known CHECK (intent IN ('running', 'paused')),
    CONSTRAINT workload_control_cap_is_not_negative CHECK (cap >= 0)
) WITH (fillfactor = 10);
COMMENT ON TABLE workload_control IS
    'What on-call wants of a workload; a kill raises its epoch, and older tasks cannot commit.';
COMMENT ON CONSTRAINT workload_control_has_one_row_a_workload ON workload_control IS
    'A workload is controlled in one place.';
COMMENT ON CONSTRAINT workload_control_workload_is_known ON workload_control IS
    'There are two workloads.';
COMMENT ON CONSTRAINT workload_control_epoch_is_positive ON workload_control IS
    'Epochs count from 1 and only grow.';
COMMENT ON CONSTRAINT workload_control_intent_is_known ON workload_control IS
    'A workload is wanted running or paused.';
COMMENT ON CONSTRAINT workload_control_cap_is_not_negative ON workload_control IS
    'A cap counts slots; none means automatic.';
INSERT INTO workload_control (workload, epoch, intent, cap, reason, changed_by, changed_at)
VALUES
    ('nightly', 1, 'running', NULL, 'initial', 'migration', now()),
    ('backfill', 1, 'running', NULL, 'initial', 'migration', now());
