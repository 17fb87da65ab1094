-- name: read_pace(workload)^
SELECT level, share, chunk_rows, signal, value, reason, changed_at, sampled_at,
       clock_timestamp() AS now
FROM workload_pace
WHERE workload = :workload;

-- name: read_whole_pace(workload)^
SELECT level, share, chunk_rows, signal, value, reason, changed_at, sampled_at, state, revision,
       clock_timestamp() AS now
FROM workload_pace
WHERE workload = :workload;

-- name: try_sampling(lock_class, workload)^
SELECT pg_try_advisory_lock(:lock_class, hashtext(:workload)) AS is_taken;

-- name: is_sampling_stuck(lock_class, workload, seconds)$
-- Whoever looks has a session that only waits for the look; a stopped process is silent for ever.
SELECT EXISTS (
    SELECT FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
    WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
      AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND held.classid::bigint = :lock_class
      AND held.objid::bigint = hashtext(:workload)::bigint & 4294967295
      AND activity.state = 'idle'
      AND activity.state_change < clock_timestamp() - make_interval(secs => :seconds)
);

-- name: end_sampling(lock_class, workload)^
SELECT pg_advisory_unlock(:lock_class, hashtext(:workload)) AS is_released;

-- name: store_pace(workload, revision, level, share, chunk_rows, signal, value, reason, changed_at, sampled_at, state)!
UPDATE workload_pace
SET level = :level, share = :share, chunk_rows = :chunk_rows, signal = :signal, value = :value,
    reason = :reason, changed_at = :changed_at, sampled_at = :sampled_at, state = :state,
    revision = revision + 1
WHERE workload = :workload AND revision = :revision;

-- name: add_pace_event(workload, old_level, level, share, chunk_rows, signal, value, reason, changed_by)!
INSERT INTO pace_event
    (workload, old_level, level, share, chunk_rows, signal, value, reason, changed_by)
VALUES
    (:workload, :old_level, :level, :share, :chunk_rows, :signal, :value, :reason, :changed_by);

-- name: read_pace_events(workload, limit)
SELECT at, old_level, level, share, chunk_rows, signal, value, reason, changed_by
FROM pace_event
WHERE workload = :workload
ORDER BY event_id DESC
LIMIT :limit;
