-- Politeness: one row of knobs a workload with the history of its changes, and who waits for what.

ALTER TABLE workload_control
    ADD COLUMN rate bigint,
    ADD CONSTRAINT workload_control_rate_is_positive CHECK (rate >= 1),
    ADD CONSTRAINT workload_control_change_is_explained CHECK (
        reason ~ '[^[:space:]]' AND changed_by ~ '[^[:space:]]'
    );
COMMENT ON COLUMN workload_control.rate IS
    'Rows a second that all of the workload''s tasks may write together; none means no limit.';
COMMENT ON CONSTRAINT workload_control_rate_is_positive ON workload_control IS
    'To stop, pause: a rate of nothing would leave tasks waiting inside their work.';
COMMENT ON CONSTRAINT workload_control_change_is_explained ON workload_control IS
    'Whoever turns a knob says who and why.';

CREATE TABLE workload_change (
    change_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    workload text NOT NULL,
    verb text NOT NULL,
    epoch bigint NOT NULL,
    intent text NOT NULL,
    cap integer,
    rate bigint,
    reason text NOT NULL,
    changed_by text NOT NULL,
    CONSTRAINT workload_change_is_numbered PRIMARY KEY (change_id),
    CONSTRAINT workload_change_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT workload_change_verb_is_known CHECK (
        verb IN ('pause', 'resume', 'cap', 'rate', 'kill')
    )
);
COMMENT ON TABLE workload_change IS
    'Every turn of a knob and what then held; rows are added and never changed.';
COMMENT ON CONSTRAINT workload_change_is_numbered ON workload_change IS
    'The later change has the higher number.';
COMMENT ON CONSTRAINT workload_change_workload_is_known ON workload_change IS
    'There are two workloads.';
COMMENT ON CONSTRAINT workload_change_verb_is_known ON workload_change IS
    'The knobs that there are.';

-- The function of 0001 names one table only; this one serves every history.
CREATE FUNCTION refuse_change_of_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = TG_NAME, SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$$;
CREATE TRIGGER workload_change_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON workload_change
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_record();
COMMENT ON TRIGGER workload_change_is_append_only ON workload_change IS
    'Who turned which knob cannot be rewritten.';

CREATE TABLE workload_wait (
    run_id text NOT NULL,
    cause text NOT NULL,
    workload text NOT NULL,
    campaign_id text,
    reason text NOT NULL,
    seconds double precision NOT NULL,
    held_until timestamptz,
    CONSTRAINT workload_wait_has_one_row_a_run_and_cause PRIMARY KEY (run_id, cause),
    CONSTRAINT workload_wait_cause_is_known CHECK (
        cause IN ('pause', 'cap', 'pace', 'rate', 'seam', 'hold')
    ),
    CONSTRAINT workload_wait_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT workload_wait_is_not_negative CHECK (seconds >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE workload_wait IS
    'Seconds that a run has waited, by cause; held_until lies ahead while it still waits.';
COMMENT ON CONSTRAINT workload_wait_has_one_row_a_run_and_cause ON workload_wait IS
    'A run adds to one sum a cause, so that no two runs meet in a row.';
COMMENT ON CONSTRAINT workload_wait_cause_is_known ON workload_wait IS
    'Every waited second has one of the causes of core/admission.py.';
COMMENT ON CONSTRAINT workload_wait_workload_is_known ON workload_wait IS
    'There are two workloads.';
COMMENT ON CONSTRAINT workload_wait_is_not_negative ON workload_wait IS
    'Nobody waits less than nothing.';
CREATE INDEX workload_wait_by_campaign ON workload_wait (campaign_id);
