-- Pace: how fast a campaign may go by production's health, every change of it, and the heartbeat.

CREATE TABLE workload_pace (
    workload text NOT NULL,
    level text NOT NULL,
    share double precision NOT NULL,
    chunk_rows integer NOT NULL,
    signal text,
    value double precision,
    reason text NOT NULL,
    changed_at timestamptz NOT NULL,
    sampled_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    state jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT workload_pace_has_one_row_a_workload PRIMARY KEY (workload),
    CONSTRAINT workload_pace_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT workload_pace_level_is_known CHECK (
        level IN ('full', 'half', 'paused', 'tripped')
    ),
    CONSTRAINT workload_pace_share_is_a_part CHECK (share > 0 AND share <= 1),
    CONSTRAINT workload_pace_full_is_all CHECK ((level = 'full') = (share = 1)),
    CONSTRAINT workload_pace_chunk_has_rows CHECK (chunk_rows >= 1),
    CONSTRAINT workload_pace_is_explained CHECK (reason ~ '[^[:space:]]'),
    CONSTRAINT workload_pace_state_is_an_object CHECK (jsonb_typeof(state) = 'object')
) WITH (fillfactor = 10);
COMMENT ON TABLE workload_pace IS
    'The pace as of sampled_at (none: nobody has looked); state is what the next look builds on.';
COMMENT ON COLUMN workload_pace.revision IS
    'Counts changes: whoever looked does not overwrite what a person has reset meanwhile.';
COMMENT ON CONSTRAINT workload_pace_has_one_row_a_workload ON workload_pace IS
    'Every process goes by the same pace.';
COMMENT ON CONSTRAINT workload_pace_workload_is_known ON workload_pace IS
    'There are two workloads.';
COMMENT ON CONSTRAINT workload_pace_level_is_known ON workload_pace IS
    'The levels of core/pace.py, no other.';
COMMENT ON CONSTRAINT workload_pace_share_is_a_part ON workload_pace IS
    'A share is above nothing and up to all of the cap; a stop is a level.';
COMMENT ON CONSTRAINT workload_pace_full_is_all ON workload_pace IS
    'Full pace is the whole cap, and nothing else is.';
COMMENT ON CONSTRAINT workload_pace_chunk_has_rows ON workload_pace IS
    'A chunk without rows would never end.';
COMMENT ON CONSTRAINT workload_pace_is_explained ON workload_pace IS
    'Whoever waits can read why.';
COMMENT ON CONSTRAINT workload_pace_state_is_an_object ON workload_pace IS
    'What is remembered has names.';
-- Nightly is not paced: it is what a campaign slows down for.
INSERT INTO workload_pace (workload, level, share, chunk_rows, reason, changed_at)
VALUES ('backfill', 'full', 1, 8192, 'nobody has looked yet', now());

CREATE TABLE pace_event (
    event_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    workload text NOT NULL,
    old_level text NOT NULL,
    level text NOT NULL,
    share double precision NOT NULL,
    chunk_rows integer NOT NULL,
    signal text,
    value double precision,
    reason text NOT NULL,
    changed_by text NOT NULL,
    CONSTRAINT pace_event_is_numbered PRIMARY KEY (event_id),
    CONSTRAINT pace_event_workload_is_known CHECK (workload IN ('nightly', 'backfill')),
    CONSTRAINT pace_event_levels_are_known CHECK (
        old_level IN ('full', 'half', 'paused', 'tripped')
        AND level IN ('full', 'half', 'paused', 'tripped')
    ),
    CONSTRAINT pace_event_trip_is_left_by_a_person CHECK (
        old_level <> 'tripped' OR changed_by <> 'pace'
    ),
    CONSTRAINT pace_event_is_explained CHECK (
        reason ~ '[^[:space:]]' AND changed_by ~ '[^[:space:]]'
    )
);
COMMENT ON TABLE pace_event IS
    'Every change of pace, with the signal, its value and the reason; rows are only ever added.';
COMMENT ON CONSTRAINT pace_event_is_numbered ON pace_event IS
    'The later change has the higher number.';
COMMENT ON CONSTRAINT pace_event_workload_is_known ON pace_event IS
    'There are two workloads.';
COMMENT ON CONSTRAINT pace_event_levels_are_known ON pace_event IS
    'The levels of core/pace.py, no other.';
COMMENT ON CONSTRAINT pace_event_trip_is_left_by_a_person ON pace_event IS
    'A trip does not end by itself.';
COMMENT ON CONSTRAINT pace_event_is_explained ON pace_event IS
    'A change says why, and who or what made it.';
CREATE TRIGGER pace_event_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON pace_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_record();
COMMENT ON TRIGGER pace_event_is_append_only ON pace_event IS
    'What the pace was cannot be rewritten.';

CREATE TABLE pace_heartbeat (
    beat_id bigint GENERATED ALWAYS AS IDENTITY,
    beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    beat_lsn pg_lsn NOT NULL DEFAULT pg_current_wal_insert_lsn(),
    CONSTRAINT pace_heartbeat_is_numbered PRIMARY KEY (beat_id)
);
COMMENT ON TABLE pace_heartbeat IS
    'Beats of the last half hour: the oldest that a replica has not replayed is as old as its lag.';
COMMENT ON CONSTRAINT pace_heartbeat_is_numbered ON pace_heartbeat IS
    'The later beat has the higher number.';
