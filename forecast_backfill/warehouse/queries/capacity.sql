-- name: keep_night_records(run_ids, steps, nights, shapes, slots, started, ended)!
INSERT INTO night_record AS kept (run_id, step, night, shape, slots, started_at, ended_at)
SELECT * FROM unnest(
    CAST(:run_ids AS text[]), CAST(:steps AS text[]), CAST(:nights AS date[]),
    CAST(:shapes AS text[]), CAST(:slots AS integer[]), CAST(:started AS timestamptz[]),
    CAST(:ended AS timestamptz[])
)
ON CONFLICT (run_id, step) DO UPDATE SET
    night = excluded.night, shape = excluded.shape, slots = excluded.slots,
    started_at = excluded.started_at, ended_at = excluded.ended_at
WHERE kept.ended_at IS DISTINCT FROM excluded.ended_at OR kept.slots <> excluded.slots;

-- name: last_night_records(before, nights)
-- The last nights that have any record, not the last dates.
SELECT night, run_id, step, shape, slots, started_at, ended_at
FROM night_record
WHERE night IN (
    SELECT DISTINCT night FROM night_record WHERE night < :before ORDER BY night DESC LIMIT :nights
)
ORDER BY night, started_at, run_id, step;

-- name: store_measure(measured_by, source, nights, slots, headroom, peak, peak_at, cap, by_shape, together, profile, reason)^
INSERT INTO capacity_measure
    (measured_by, source, nights, slots, headroom, peak, peak_at, cap, by_shape, together, profile,
     reason)
VALUES (:measured_by, :source, :nights, :slots, :headroom, :peak, :peak_at, :cap, :by_shape,
        :together, :profile, :reason)
RETURNING measured_at;

-- name: latest_measure()^
SELECT * FROM capacity_measure ORDER BY measure_id DESC LIMIT 1;

-- name: is_night_over(date)^
-- Published with forecasts of its own, or refused; a publication keeps its first date for good.
SELECT EXISTS (
    SELECT FROM forecast_publication WHERE date = :date AND first_published_at IS NOT NULL
) OR EXISTS (
    SELECT FROM training_window
    WHERE date = :date AND verdict IN ('refused', 'needs_override')
) AS is_over;

-- name: task_seconds(latest)^
SELECT count(*) AS tasks, avg(seconds) AS average,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95,
       percentile_cont(CAST(ARRAY[0.025, 0.075, 0.125, 0.175, 0.225, 0.275, 0.325, 0.375, 0.425,
           0.475, 0.525, 0.575, 0.625, 0.675, 0.725, 0.775, 0.825, 0.875, 0.925, 0.975]
           AS double precision[])) WITHIN GROUP (ORDER BY seconds) AS quantiles
FROM (
    SELECT seconds FROM partition_event
    WHERE kind = 'written' AND seconds > 0
    ORDER BY event_id DESC LIMIT :latest
) AS recent;
