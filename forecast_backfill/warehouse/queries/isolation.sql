-- name: take_seat(seat_class, seats)^
SELECT index
FROM generate_series(0, CAST(:seats AS integer) - 1) AS index
WHERE pg_try_advisory_lock(:seat_class, index)
LIMIT 1;

-- name: read_position()^
-- Where the log of the primary has come to: whoever has replayed that has all that was committed.
SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_insert_lsn()::text END
           AS position,
       (SELECT system_identifier FROM pg_control_system()) AS system;

-- name: read_replayed(position)^
SELECT pg_is_in_recovery()
       AND pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn) AS has_caught_up,
       (SELECT system_identifier FROM pg_control_system()) AS system;
