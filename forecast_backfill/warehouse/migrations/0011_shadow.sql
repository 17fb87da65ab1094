-- Shadow: a new version of daily_demand beside the live one, and the name that readers go through.

-- The engine's own table stays where it is; what a swap changes is what this name shows.
CREATE VIEW daily_demand_for_readers AS
SELECT date, region, store_id, product_id, demand_group, units, revenue_cents, discount_cents,
       baskets, list_price_cents, on_display, on_mailer, authority, source_version, row_hash
FROM daily_demand;
COMMENT ON VIEW daily_demand_for_readers IS
    'What consumers read: the version of daily_demand in force; a shadow''s swap repoints it.';

CREATE TABLE shadow (
    shadow_id integer NOT NULL,
    state text NOT NULL,
    earlier integer,
    definition jsonb NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shadow_is_numbered PRIMARY KEY (shadow_id),
    CONSTRAINT shadow_number_is_positive CHECK (shadow_id >= 1),
    CONSTRAINT shadow_state_is_known CHECK (
        state IN (
            'building', 'validated', 'swapped', 'reverted', 'adopted', 'retired', 'dropped'
        )
    ),
    CONSTRAINT shadow_comes_after_the_earlier CHECK (earlier < shadow_id),
    CONSTRAINT shadow_is_under_way_once EXCLUDE USING btree ((true) WITH =)
        WHERE (state IN ('building', 'validated', 'swapped', 'reverted')),
    CONSTRAINT shadow_is_read_once EXCLUDE USING btree ((true) WITH =)
        WHERE (state IN ('swapped', 'adopted'))
);
COMMENT ON TABLE shadow IS
    'Versions of daily_demand that are written beside it; their tables are daily_demand_shadow_N.';
COMMENT ON COLUMN shadow.earlier IS
    'The shadow that readers read before this one was swapped; none where that was daily_demand.';
COMMENT ON CONSTRAINT shadow_is_numbered ON shadow IS
    'Each version can be named.';
COMMENT ON CONSTRAINT shadow_number_is_positive ON shadow IS
    'Version 0 is daily_demand itself.';
COMMENT ON CONSTRAINT shadow_state_is_known ON shadow IS
    'The states of core/shadow.py, no other.';
COMMENT ON CONSTRAINT shadow_comes_after_the_earlier ON shadow IS
    'A version takes the place of an older one.';
COMMENT ON CONSTRAINT shadow_is_under_way_once ON shadow IS
    'One shadow at a time is on its way to the readers, or may still be reverted.';
COMMENT ON CONSTRAINT shadow_is_read_once ON shadow IS
    'Readers read one version.';

CREATE TABLE shadow_partition (
    shadow_id integer NOT NULL,
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    status text NOT NULL,
    rows bigint NOT NULL,
    data_version text,
    reason text,
    run_id text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shadow_partition_has_one_row_a_partition PRIMARY KEY (shadow_id, date, region),
    CONSTRAINT shadow_partition_is_of_a_shadow FOREIGN KEY (shadow_id) REFERENCES shadow,
    CONSTRAINT shadow_partition_status_is_known CHECK (status IN ('equal', 'differs', 'failed')),
    CONSTRAINT shadow_partition_trouble_has_a_reason CHECK (
        (status = 'equal') = (reason IS NULL)
    )
) WITH (fillfactor = 70);
COMMENT ON TABLE shadow_partition IS
    'What came of the last write of a partition into a shadow, or of its last comparison.';
COMMENT ON COLUMN shadow_partition.data_version IS
    'The data version of the live rows that it was made from; due where the ledger has another.';
COMMENT ON CONSTRAINT shadow_partition_has_one_row_a_partition ON shadow_partition IS
    'A partition of a shadow is known in one place.';
COMMENT ON CONSTRAINT shadow_partition_is_of_a_shadow ON shadow_partition IS
    'There is no partition of a shadow that is not there.';
COMMENT ON CONSTRAINT shadow_partition_status_is_known ON shadow_partition IS
    'Equal by the mapping, found to differ, or refused by the shadow''s own constraints.';
COMMENT ON CONSTRAINT shadow_partition_trouble_has_a_reason ON shadow_partition IS
    'What is not equal says why, and only that does.';

CREATE TABLE shadow_left_out (
    shadow_id integer NOT NULL,
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    reason text NOT NULL,
    left_out_by text NOT NULL,
    left_out_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT shadow_left_out_has_one_row_a_partition PRIMARY KEY (shadow_id, date, region),
    CONSTRAINT shadow_left_out_is_of_a_shadow FOREIGN KEY (shadow_id) REFERENCES shadow,
    CONSTRAINT shadow_left_out_is_explained CHECK (
        reason ~ '[^[:space:]]' AND left_out_by ~ '[^[:space:]]'
    )
);
COMMENT ON TABLE shadow_left_out IS
    'Partitions without which a shadow may be swapped, by whose word and why.';
COMMENT ON CONSTRAINT shadow_left_out_has_one_row_a_partition ON shadow_left_out IS
    'A partition is left out once.';
COMMENT ON CONSTRAINT shadow_left_out_is_of_a_shadow ON shadow_left_out IS
    'Nothing is left out of a shadow that is not there.';
COMMENT ON CONSTRAINT shadow_left_out_is_explained ON shadow_left_out IS
    'Whoever leaves something out says who and why.';

CREATE TABLE shadow_event (
    event_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    shadow_id integer NOT NULL,
    step text NOT NULL,
    state text NOT NULL,
    done_by text NOT NULL,
    reason text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT shadow_event_is_numbered PRIMARY KEY (event_id),
    CONSTRAINT shadow_event_is_of_a_shadow FOREIGN KEY (shadow_id) REFERENCES shadow,
    CONSTRAINT shadow_event_step_is_known CHECK (
        step IN ('start', 'backfill', 'leave_out', 'validate', 'swap', 'revert', 'drop')
    ),
    CONSTRAINT shadow_event_is_explained CHECK (
        reason ~ '[^[:space:]]' AND done_by ~ '[^[:space:]]'
    )
);
COMMENT ON TABLE shadow_event IS
    'Every step of every shadow: who, when, why; rows are added and never changed.';
COMMENT ON CONSTRAINT shadow_event_is_numbered ON shadow_event IS
    'The later step has the higher number.';
COMMENT ON CONSTRAINT shadow_event_is_of_a_shadow ON shadow_event IS
    'No step of a shadow that is not there.';
COMMENT ON CONSTRAINT shadow_event_step_is_known ON shadow_event IS
    'The steps of forecast-backfill shadow.';
COMMENT ON CONSTRAINT shadow_event_is_explained ON shadow_event IS
    'Whoever takes a step says who and why.';
CREATE TRIGGER shadow_event_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON shadow_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_record();
COMMENT ON TRIGGER shadow_event_is_append_only ON shadow_event IS
    'What was done to a shadow cannot be rewritten.';
