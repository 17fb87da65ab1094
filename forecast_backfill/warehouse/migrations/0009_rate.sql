-- Rate: one bucket of tokens a workload, shared by every worker, on the database's clock.

CREATE TABLE workload_bucket (
    workload text NOT NULL,
    taken double precision NOT NULL DEFAULT 0,
    filled double precision NOT NULL DEFAULT 0,
    filled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    rate bigint,
    CONSTRAINT workload_bucket_has_one_row_a_workload PRIMARY KEY (workload),
    CONSTRAINT workload_bucket_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT workload_bucket_counts_up CHECK (taken >= 0 AND filled >= 0),
    CONSTRAINT workload_bucket_rate_is_positive CHECK (rate >= 1)
) WITH (fillfactor = 10);
COMMENT ON TABLE workload_bucket IS
    'Rows taken and tokens that came in up to filled_at at rate; the rate asked for is a knob.';
COMMENT ON CONSTRAINT workload_bucket_has_one_row_a_workload ON workload_bucket IS
    'All workers of a workload share one bucket.';
COMMENT ON CONSTRAINT workload_bucket_workload_is_known ON workload_bucket IS
    'There are two workloads.';
COMMENT ON CONSTRAINT workload_bucket_counts_up ON workload_bucket IS
    'Rows and tokens are counted since ever; a debt is more rows than tokens.';
COMMENT ON CONSTRAINT workload_bucket_rate_is_positive ON workload_bucket IS
    'Tokens come in at some rate, or (none) are not counted.';
INSERT INTO workload_bucket (workload) VALUES ('nightly'), ('backfill');
