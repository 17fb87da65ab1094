-- name: read_control(workload)^
SELECT epoch, intent, cap, reason FROM workload_control WHERE workload = :workload;

-- name: raise_epoch(workload, reason, changed_by)^
UPDATE workload_control
SET epoch = epoch + 1, reason = :reason, changed_by = :changed_by, changed_at = clock_timestamp()
WHERE workload = :workload
RETURNING epoch;

-- name: try_slot(slot_class, index)^
SELECT pg_try_advisory_lock(:slot_class, :index) AS is_taken;

-- name: release_slot(slot_class, index)^
SELECT pg_advisory_unlock(:slot_class, :index) AS is_released;
