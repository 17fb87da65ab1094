-- Overlap: campaigns that write beside nightly, and what each authority has stated of a partition.

ALTER TABLE campaign
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN winner text,
    ADD CONSTRAINT campaign_is_numbered_once UNIQUE (number),
    ADD CONSTRAINT campaign_winner_is_known CHECK (winner IN ('live', 'correction'));
COMMENT ON COLUMN campaign.number IS
    'In the order of launching: of two corrections of one export the later one stays.';
COMMENT ON COLUMN campaign.winner IS
    'Whose rows stay where an overlap meets nightly on one export; none without an overlap.';
COMMENT ON CONSTRAINT campaign_is_numbered_once ON campaign IS
    'Two campaigns are never of the same age.';
COMMENT ON CONSTRAINT campaign_winner_is_known ON campaign IS
    'The winners of core/version.py, no other.';

ALTER TABLE partition_ledger
    ADD COLUMN is_merged boolean NOT NULL DEFAULT false,
    ADD COLUMN output_revision bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT partition_ledger_merged_has_an_output CHECK (
        NOT is_merged OR output <> 'absent'
    ),
    ADD CONSTRAINT partition_ledger_revision_is_of_a_merge CHECK (
        output_revision = 0 OR (output_revision > 0 AND is_merged)
    );
COMMENT ON COLUMN partition_ledger.is_merged IS
    'An overlap was merged into it: nightly merges too, until its owner replaces it whole.';
COMMENT ON COLUMN partition_ledger.output_revision IS
    'With output_source_version and output_authority the highest version that was stated.';
COMMENT ON CONSTRAINT partition_ledger_merged_has_an_output ON partition_ledger IS
    'A merge leaves an output, if only one of no rows.';
COMMENT ON CONSTRAINT partition_ledger_revision_is_of_a_merge ON partition_ledger IS
    'Revisions count only where several writers meet.';

CREATE TABLE partition_claim (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    authority smallint NOT NULL,
    source_version bigint NOT NULL,
    revision bigint NOT NULL,
    source_digest text NOT NULL,
    code_version text NOT NULL,
    dimension_version text NOT NULL,
    rows bigint NOT NULL,
    checksum numeric NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    claimed_at timestamptz NOT NULL,
    CONSTRAINT partition_claim_has_one_row_an_authority PRIMARY KEY (date, region, authority),
    CONSTRAINT partition_claim_authority_is_known CHECK (authority IN (10, 20, 30)),
    CONSTRAINT partition_claim_has_a_version CHECK (source_version > 0 AND revision >= 0),
    CONSTRAINT partition_claim_counts_rows CHECK (rows >= 0 AND checksum >= 0),
    CONSTRAINT partition_claim_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE partition_claim IS
    'The highest statement of each authority about a merged partition, and who made it.';
COMMENT ON CONSTRAINT partition_claim_has_one_row_an_authority ON partition_claim IS
    'Of an authority''s statements the highest counts.';
COMMENT ON CONSTRAINT partition_claim_authority_is_known ON partition_claim IS
    'The authorities of core/version.py, no other.';
COMMENT ON CONSTRAINT partition_claim_has_a_version ON partition_claim IS
    'What says no version cannot be ordered.';
COMMENT ON CONSTRAINT partition_claim_counts_rows ON partition_claim IS
    'A statement of no rows is one, a negative count is not.';
COMMENT ON CONSTRAINT partition_claim_workload_is_known ON partition_claim IS
    'There are two workloads.';

-- The row hash of core/fingerprint.py over stored columns; prefix is the canonical text of date and
-- region. It takes values, not a row, so that it binds to no table that may be swapped.
CREATE FUNCTION demand_row_hash(
    prefix text, store_id text, product_id text, demand_group text, units bigint,
    revenue_cents bigint, discount_cents bigint, baskets bigint, list_price_cents bigint,
    on_display boolean, on_mailer boolean
) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ('x' || md5(
        prefix
        || canonical_text(store_id)
        || canonical_text(product_id)
        || canonical_text(demand_group)
        || canonical_text(units)
        || canonical_text(revenue_cents)
        || canonical_text(discount_cents)
        || canonical_text(baskets)
        || canonical_text(list_price_cents)
        || canonical_text(on_display)
        || canonical_text(on_mailer)
    ))::bit(60)::bigint;
