-- name: read_epoch(workload)^
SELECT epoch FROM workload_control WHERE workload = :workload;

-- name: read_knobs(workload)^
SELECT epoch, intent, cap, rate, reason, changed_by, changed_at
FROM workload_control WHERE workload = :workload;

-- name: read_conditions(workload)^
-- Whoever turned one knob last did not explain the others: each reason is that of its own verb. A
-- nightly fit is due from the seal of the last night's date until its window has a model or was left
-- to a person.
SELECT control.epoch, control.intent, control.cap, control.rate,
       coalesce(pause.told, control.reason || ' (' || control.changed_by || ')') AS reason,
       coalesce(cap.told, control.reason || ' (' || control.changed_by || ')') AS cap_reason,
       clock_timestamp() AS now,
       EXISTS (
           SELECT FROM demand_seal AS seal
           WHERE seal.workload = 'nightly'
             AND seal.date = (SELECT max(date) FROM demand_seal WHERE workload = 'nightly')
             AND seal.first_sealed_at > clock_timestamp() - interval '12 hours'
             AND NOT EXISTS (SELECT FROM demand_model WHERE date = seal.date)
             AND NOT EXISTS (
                 SELECT FROM training_window
                 WHERE date = seal.date AND verdict IN ('refused', 'needs_override')
             )
       ) AS is_fit_due,
       (
           SELECT count(*) FROM workload_wait
           WHERE workload = 'nightly' AND cause = 'cap' AND held_until > clock_timestamp()
       ) AS nightly_waiting
FROM workload_control AS control
LEFT JOIN LATERAL (
    SELECT reason || ' (' || changed_by || ')' AS told FROM workload_change
    WHERE workload = control.workload AND verb IN ('pause', 'kill') AND intent = 'paused'
    ORDER BY change_id DESC LIMIT 1
) AS pause ON control.intent = 'paused'
LEFT JOIN LATERAL (
    SELECT reason || ' (' || changed_by || ')' AS told FROM workload_change
    WHERE workload = control.workload AND verb = 'cap' ORDER BY change_id DESC LIMIT 1
) AS cap ON control.cap IS NOT NULL
WHERE control.workload = :workload;

-- name: change_control(workload, verb, intent, sets_cap, cap, sets_rate, rate, epochs, reason, changed_by)^
WITH changed AS (
    UPDATE workload_control
    SET epoch = epoch + :epochs,
        intent = coalesce(CAST(:intent AS text), intent),
        cap = CASE WHEN :sets_cap THEN CAST(:cap AS integer) ELSE cap END,
        rate = CASE WHEN :sets_rate THEN CAST(:rate AS bigint) ELSE rate END,
        reason = :reason, changed_by = :changed_by, changed_at = clock_timestamp()
    WHERE workload = :workload
    RETURNING *
), recorded AS (
    INSERT INTO workload_change
        (workload, verb, epoch, intent, cap, rate, reason, changed_by)
    SELECT workload, :verb, epoch, intent, cap, rate, reason, changed_by FROM changed
)
SELECT epoch, intent, cap, rate, reason, changed_by, changed_at FROM changed;

-- name: set_lock_timeout(timeout)^
SELECT set_config('lock_timeout', :timeout, true);

-- name: close_gate(gate_class, number)^
-- Who commits holds the gate shared; the queue for an advisory lock is fair, that for a row is not.
SELECT pg_advisory_xact_lock(:gate_class, :number);

-- name: add_wait(run_id, cause, workload, campaign_id, reason, seconds, held_seconds)^
WITH added AS (
    INSERT INTO workload_wait AS wait
        (run_id, cause, workload, campaign_id, reason, seconds, held_until)
    VALUES (:run_id, :cause, :workload, :campaign_id, :reason, :seconds,
            clock_timestamp() + make_interval(secs => CAST(:held_seconds AS double precision)))
    ON CONFLICT (run_id, cause) DO UPDATE SET
        seconds = wait.seconds + excluded.seconds, reason = excluded.reason,
        held_until = excluded.held_until
    RETURNING wait.seconds
)
SELECT seconds, set_config('synchronous_commit', 'off', true) FROM added;

-- name: try_slots(slot_class, flight_class, limit, weight, is_highest_first)
-- The filter is asked index by index, from the end that is asked for, until enough were taken.
SELECT index
FROM (
    SELECT CASE WHEN :is_highest_first THEN :limit - 1 - place ELSE place END AS index
    FROM generate_series(0, CAST(:limit AS integer) - 1) AS place
) AS candidate
WHERE CASE WHEN pg_try_advisory_lock(:slot_class, index)
           THEN pg_try_advisory_lock(:flight_class, index) END
LIMIT :weight;

-- name: release_slots(slot_class, flight_class, taken)
SELECT pg_advisory_unlock(:flight_class, index), pg_advisory_unlock(:slot_class, index)
FROM unnest(CAST(:taken AS integer[])) AS index;

-- name: list_holders(lock_class, number)
-- Every other session that holds a lock of the class (with that number, where one is named).
SELECT DISTINCT held.pid, coalesce(activity.usename, '?') AS role
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
  AND held.pid <> pg_backend_pid()
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND held.classid::bigint = :lock_class
  AND (CAST(:number AS bigint) IS NULL OR held.objid::bigint = :number)
ORDER BY held.pid;

-- name: end_session(pid)$
-- Waits until it is gone, five seconds at most; false where it was gone already or is not gone yet.
SELECT pg_terminate_backend(:pid, 5000);

-- name: fail_killed(workload, epoch, reason)$
-- What began before the epoch and is not over never will be: its worker may be gone, and tell nobody.
WITH moved AS (
    UPDATE partition_ledger
    SET status = 'failed',
        output = CASE output WHEN 'absent' THEN 'absent' ELSE 'stale' END,
        finished_at = clock_timestamp(),
        reason = :reason
    WHERE workload = :workload AND status = 'running' AND epoch < :epoch
    RETURNING *
), event AS (
    INSERT INTO partition_event (date, region, kind, workload, run_id, campaign_id, attempt, detail)
    SELECT date, region, 'failed', workload, run_id, campaign_id, attempt,
           jsonb_build_object('reason', reason)
    FROM moved
)
SELECT count(*) FROM moved;

-- name: count_holders(lock_class)$
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid::bigint = :lock_class;

-- name: find_pause(workload)^
-- Whoever paused it, and why; later turns of other knobs have reasons of their own.
SELECT reason, changed_by FROM workload_change
WHERE workload = :workload AND verb IN ('pause', 'kill') AND intent = 'paused'
ORDER BY change_id DESC LIMIT 1;

-- name: lock_knobs(workload)$
-- Until the end of the transaction nobody turns a knob; commits go on.
SELECT epoch FROM workload_control WHERE workload = :workload FOR NO KEY UPDATE;

-- name: find_stop(workload)^
-- What stopped the workload last, and in which epoch that left it.
SELECT verb, epoch FROM workload_change
WHERE workload = :workload AND verb IN ('pause', 'kill') ORDER BY change_id DESC LIMIT 1;

-- name: list_changes(workload, limit)
SELECT at, verb, epoch, intent, cap, rate, reason, changed_by FROM workload_change
WHERE workload = :workload ORDER BY change_id DESC LIMIT :limit;

-- name: sum_waits(workload, campaign_id)
-- Seconds by cause of one campaign, or of every run of the workload, and who is held by it now.
SELECT cause, sum(seconds)::float8 AS seconds,
       count(*) FILTER (WHERE held_until > clock_timestamp()) AS held,
       max(reason) FILTER (WHERE held_until > clock_timestamp()) AS reason
FROM workload_wait
WHERE workload = :workload
  AND (CAST(:campaign_id AS text) IS NULL OR campaign_id = :campaign_id)
GROUP BY cause ORDER BY cause;

-- name: list_flights(flight_class)
-- The slots that a workload holds, and by which connection: the fact, whatever the knobs say.
SELECT held.objid::integer AS index, held.pid, activity.application_name AS holder
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND held.classid::bigint = :flight_class
ORDER BY held.objid;

-- name: sum_work(workload, campaign_id)$
-- Seconds at work in partitions that ended, of one campaign or of every run of the workload.
SELECT coalesce(sum(seconds), 0)::float8 FROM partition_event
WHERE workload = :workload
  AND (CAST(:campaign_id AS text) IS NULL OR campaign_id = :campaign_id);
