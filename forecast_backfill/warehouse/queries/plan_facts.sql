-- name: plan_partitions(start, end, regions)
-- The ledger's view of the partitions of the dates, as a seal would see them.
SELECT date, region, status, output, output_data_version, reason
FROM partition_ledger
WHERE date >= :start AND date < :end AND region = ANY(:regions);

-- name: plan_size()^
-- Bytes of a partition on average, indexes and dead rows included; nothing where nothing is stored.
-- A table with leaves has no bytes of its own; one without is no tree.
SELECT coalesce(coalesce(
           (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('daily_demand')),
           pg_total_relation_size('daily_demand')
       ) / nullif(count(*), 0), 0)::bigint AS partition_bytes
FROM partition_ledger
WHERE output <> 'absent';

-- name: data_directory()^
SELECT current_setting('data_directory') AS path;

-- name: foreign_locks()
-- Modes that keep writers out, held or waited for: behind a waiting one every writer waits too.
SELECT DISTINCT ON (activity.pid)
       activity.pid, coalesce(activity.usename, '') AS "user",
       coalesce(activity.application_name, '') AS application, lock.mode,
       activity.xact_start AS since
FROM pg_locks AS lock
JOIN pg_stat_activity AS activity USING (pid)
WHERE lock.relation = CAST('daily_demand' AS regclass)
  AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND lock.mode IN (
      'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'
  )
  AND position('forecast_backfill' IN activity.application_name) = 0
ORDER BY activity.pid, lock.granted DESC, lock.mode;

-- name: windows_over(start, end)
SELECT date FROM training_window
WHERE window_start < :end AND window_end > :start
ORDER BY date;
