-- name: fresh_forecasts(date, model_version)
SELECT region, forecast_version FROM forecast_partition
WHERE date = :date AND model_version = :model_version;

-- name: previous_publication(date)
-- What the date itself shows of its own comes first, else what the last one before it shows.
SELECT DISTINCT ON (region) region, source_date, forecast_version
FROM forecast_publication_region
WHERE (date = :date AND source_date = :date)
   OR date = (SELECT max(date) FROM forecast_publication WHERE date < :date)
ORDER BY region, date DESC;

-- name: switch_publication(date, status, model_version, reasons, absent, data_version, is_own, workload, run_id, campaign_id)!
INSERT INTO forecast_publication AS publication
    (date, status, model_version, reasons, absent, data_version, first_published_at, switched_at,
     workload, run_id, campaign_id)
VALUES (:date, :status, :model_version, :reasons, :absent, :data_version,
        CASE WHEN :is_own THEN clock_timestamp() END, clock_timestamp(), :workload, :run_id,
        :campaign_id)
ON CONFLICT (date) DO UPDATE SET
    status = excluded.status, model_version = excluded.model_version, reasons = excluded.reasons,
    absent = excluded.absent, data_version = excluded.data_version,
    first_published_at = coalesce(publication.first_published_at, excluded.first_published_at),
    switched_at = excluded.switched_at, workload = excluded.workload, run_id = excluded.run_id,
    campaign_id = excluded.campaign_id;

-- name: clear_published_regions(date)!
DELETE FROM forecast_publication_region WHERE date = :date;

-- name: store_published_regions(date, regions, source_dates, versions)!
INSERT INTO forecast_publication_region (date, region, source_date, forecast_version)
SELECT :date, region, source_date, forecast_version
FROM unnest(CAST(:regions AS text[]), CAST(:source_dates AS date[]), CAST(:versions AS text[]))
    AS shown (region, source_date, forecast_version);

-- name: drop_replaced_forecasts(date, model_version)!
-- What the switch has put out of use: other models' forecasts of the date that nothing shows.
DELETE FROM forecast_partition AS older
WHERE date = :date AND model_version <> :model_version
  AND NOT EXISTS (
      SELECT FROM forecast_publication_region AS shown
      WHERE shown.source_date = older.date AND shown.region = older.region
        AND shown.forecast_version = older.forecast_version
  );

-- name: find_publication(date)
SELECT publication.status, publication.model_version, publication.reasons, publication.absent,
       shown.region, shown.source_date, shown.forecast_version
FROM forecast_publication AS publication
LEFT JOIN forecast_publication_region AS shown ON shown.date = publication.date
WHERE publication.date = :date
ORDER BY shown.region;

-- name: night_progress(date)^
SELECT (SELECT first_sealed_at FROM demand_seal WHERE date = :date) AS sealed_at,
       (SELECT first_published_at FROM forecast_publication WHERE date = :date) AS published_at,
       (SELECT status FROM forecast_publication WHERE date = :date) AS status;

-- name: clear_accuracy(date, region)!
DELETE FROM forecast_accuracy WHERE date = :date AND region = :region;

-- name: store_accuracy(date, region, horizon, target_date, forecast_version, known_days, horizon_days, actual_milliunits, forecast_milliunits, wape, naive_wape, bias, rmsse, run_id)*!
INSERT INTO forecast_accuracy
    (date, region, horizon, target_date, forecast_version, known_days, horizon_days,
     actual_milliunits, forecast_milliunits, wape, naive_wape, bias, rmsse, measured_at, run_id)
VALUES (:date, :region, :horizon, :target_date, :forecast_version, :known_days, :horizon_days,
        :actual_milliunits, :forecast_milliunits, :wape, :naive_wape, :bias, :rmsse,
        clock_timestamp(), :run_id);

-- name: find_accuracy(date, region)
SELECT horizon, target_date, forecast_version, known_days, horizon_days, actual_milliunits,
       forecast_milliunits, wape, naive_wape, bias, rmsse
FROM forecast_accuracy WHERE date = :date AND region = :region ORDER BY horizon;
