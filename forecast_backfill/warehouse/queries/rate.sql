-- name: move_bucket(workload, taken, returned, burst_seconds)^
-- Fills the bucket up to now at the rate that held since the last time, then takes. Who waited for
-- the row sees it as it is then, and the clock too: both are read again. A clock that was set back
-- costs the time between; without a rate nothing is owed.
UPDATE workload_bucket AS bucket SET
    filled = CASE
        WHEN bucket.rate IS NULL OR control.rate IS NULL THEN bucket.taken
        ELSE least(
            bucket.filled + :returned
                + bucket.rate * greatest(0, extract(epoch FROM clock_timestamp() - bucket.filled_at)),
            bucket.taken + greatest(1, control.rate * :burst_seconds)
        )
    END,
    taken = bucket.taken + :taken,
    filled_at = clock_timestamp(),
    rate = control.rate
FROM workload_control AS control
WHERE bucket.workload = :workload AND control.workload = bucket.workload
RETURNING bucket.taken, bucket.filled, bucket.rate, control.epoch,
          control.intent = 'paused' AS is_paused,
          control.reason || ' (' || control.changed_by || ')' AS reason,
          set_config('synchronous_commit', 'off', true);
