-- name: beat()^
-- Beats are few, and old ones go with each new one.
WITH old AS (
    DELETE FROM pace_heartbeat WHERE beat_at < clock_timestamp() - interval '30 minutes'
)
INSERT INTO pace_heartbeat DEFAULT VALUES RETURNING beat_id;

-- name: replayed_beat()^
SELECT pg_is_in_recovery() AS is_in_recovery, max(beat_id) AS beat_id FROM pace_heartbeat;

-- name: lag_behind_beat(beat_id)^
-- On the primary: the age of the oldest beat after the replica's last one, and the gap before it.
SELECT NULL AS name,
       clock_timestamp() - min(beat_at) FILTER (WHERE beat_id > :beat_id) AS lag,
       min(beat_at) FILTER (WHERE beat_id > :beat_id)
           - max(beat_at) FILTER (WHERE beat_id <= :beat_id) AS gap
FROM pace_heartbeat;

-- name: replication_at_a_glance()^
-- Far cheaper than the view, and mostly there is nobody.
SELECT clock_timestamp() AS now,
       EXISTS (SELECT FROM pg_stat_get_wal_senders()) AS has_senders;

-- name: standbys()
-- Physical standbys that report a replayed position; a copy being taken or an archive does not.
SELECT concat_ws('@', application_name, coalesce(client_addr::text, 'local')) AS name,
       state IS NULL AS is_hidden
FROM pg_stat_replication AS sender
WHERE state IS NULL
   OR replay_lsn IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM pg_replication_slots
      WHERE slot_type = 'logical' AND active_pid = sender.pid
  );

-- name: lag_of_standbys()^
-- The standby that is furthest behind.
SELECT concat_ws('@', application_name, coalesce(client_addr::text, 'local')) AS name,
       unseen.lag, unseen.gap
FROM pg_stat_replication AS sender
CROSS JOIN LATERAL (
    SELECT clock_timestamp() - min(beat_at) FILTER (WHERE beat_lsn >= replay_lsn) AS lag,
           min(beat_at) FILTER (WHERE beat_lsn >= replay_lsn)
               - max(beat_at) FILTER (WHERE beat_lsn < replay_lsn) AS gap
    FROM pace_heartbeat
) AS unseen
WHERE replay_lsn IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM pg_replication_slots
      WHERE slot_type = 'logical' AND active_pid = sender.pid
  )
ORDER BY replay_lsn
LIMIT 1;

-- name: connection_use()^
SELECT (SELECT sum(numbackends) FROM pg_stat_database)::double precision AS used,
       (current_setting('max_connections')::integer
           - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true), '0')::integer)
           AS allowed;

-- name: wal_position()^
SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::double precision AS position,
       extract(epoch FROM clock_timestamp())::double precision AS at;

-- name: canary_read()^
SELECT count(*) AS rows, sum(units) AS units,
       extract(epoch FROM clock_timestamp())::double precision AS at
FROM daily_demand
WHERE (date, region) = (
    SELECT date, region FROM partition_ledger
    WHERE output <> 'absent' ORDER BY date DESC, region DESC LIMIT 1
);

-- name: has_dagster_runs()^
SELECT to_regclass('public.runs') IS NOT NULL AND to_regclass('public.run_tags') IS NOT NULL
           AS is_there;

-- name: nightly_queue_wait()^
-- Dagster writes the local time of the server's own time zone, which is also this session's.
SELECT clock_timestamp()::timestamp - min(run.create_timestamp) AS wait
FROM public.runs AS run
WHERE run.status = 'QUEUED'
  AND EXISTS (
      SELECT FROM public.run_tags AS tag
      WHERE tag.run_id = run.run_id
        AND tag.key = 'forecast_backfill/workload' AND tag.value = 'nightly'
  );
