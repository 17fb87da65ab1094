-- name: last_night()^
-- A date that nightly has sealed, even where a campaign has sealed it again.
SELECT greatest(
    (SELECT max(date) FROM demand_seal WHERE workload = 'nightly'),
    (SELECT max(date) FROM demand_seal_change WHERE workload = 'nightly')
) AS date;

-- name: date_states(regions, horizon_days)
-- Content is what a seal would say of a date now; what is missing is left out on both sides.
WITH ledger AS (
    SELECT date,
           array_agg(region) FILTER (WHERE status IN ('done', 'quarantined', 'mismatched'))
               AS decided,
           md5(string_agg(region || '=' || state || ':' || coalesce(version, ''), ','
                          ORDER BY region) FILTER (WHERE state <> 'missing')) AS content
    FROM (
        SELECT date, region, status, output_data_version AS version,
               CASE WHEN output = 'current' THEN 'in'
                    WHEN output = 'stale' THEN 'stale'
                    WHEN status = 'quarantined' THEN 'quarantined'
                    ELSE 'missing' END AS state
        FROM partition_ledger
        WHERE region = ANY(:regions)
    ) AS outputs
    GROUP BY date
), sealed AS (
    SELECT date,
           md5(string_agg(region || '=' || state || ':' || coalesce(version, ''), ','
                          ORDER BY region) FILTER (WHERE state <> 'missing')) AS content
    FROM demand_seal_region
    WHERE region = ANY(:regions)
    GROUP BY date
), judged AS (
    SELECT date, verdict, window_digest, seals,
           (SELECT coalesce(jsonb_object_agg(to_char(seal.date, 'YYYY-MM-DD'), seal.data_version),
                            '{}')
            FROM demand_seal AS seal
            WHERE seal.date >= judged.window_start AND seal.date < judged.window_end) AS seals_now
    FROM training_window AS judged
), measured AS (
    SELECT date, max(known_days) AS days FROM forecast_accuracy GROUP BY date
)
SELECT date,
       coalesce(ledger.decided, '{}') AS decided,
       ledger.content,
       seal.date IS NOT NULL AS is_sealed,
       sealed.content IS NOT DISTINCT FROM ledger.content AS is_seal_current,
       coalesce(seal.workload = 'nightly', false) OR EXISTS (
           SELECT FROM demand_seal_change AS change
           WHERE change.date = seal.date AND change.workload = 'nightly'
       ) AS is_night,
       judged.date IS NOT NULL AS is_judged,
       judged.seals = judged.seals_now AS is_window_current,
       md5(judged.seals_now::text) AS window_seals,
       coalesce(judged.verdict IN ('accepted', 'degraded'), false) AS is_trainable,
       model.version AS model,
       coalesce(model.window_digest = judged.window_digest, false) AS is_model_of_window,
       publication.date IS NOT NULL AS is_published,
       publication.first_published_at IS NOT NULL AS has_own_forecast,
       publication.model_version AS published_model,
       (SELECT count(*) FROM (SELECT date AS sealed_date FROM demand_seal) AS known
        WHERE sealed_date > date AND sealed_date <= date + CAST(:horizon_days AS integer))
           AS known_days,
       coalesce(measured.days, 0) AS measured_days
FROM ledger
FULL JOIN demand_seal AS seal USING (date)
LEFT JOIN sealed USING (date)
FULL JOIN judged USING (date)
LEFT JOIN demand_model AS model USING (date)
LEFT JOIN forecast_publication AS publication USING (date)
LEFT JOIN measured USING (date)
ORDER BY date;
