-- name: share_publication(key)^
SELECT pg_advisory_xact_lock_shared(:key);

-- name: find_forecast(date, region, forecast_version)^
SELECT rows, checksum, milliunits, model_version FROM forecast_partition
WHERE date = :date AND region = :region AND forecast_version = :forecast_version;

-- name: drop_forecast_version(date, region, forecast_version)!
DELETE FROM demand_forecast
WHERE date = :date AND region = :region AND forecast_version = :forecast_version;

-- name: drop_unpublished(date, region, forecast_version)!
DELETE FROM forecast_partition AS older
WHERE date = :date AND region = :region AND forecast_version <> :forecast_version
  AND NOT EXISTS (
      SELECT FROM forecast_publication_region AS shown
      WHERE shown.source_date = older.date AND shown.region = older.region
        AND shown.forecast_version = older.forecast_version
  );

-- name: fingerprint_forecast(date, region, forecast_version, prefix)^
-- The canonical text of core/fingerprint.py over the columns of core/forecast.py.
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           :prefix
           || length(demand_group) || ':' || demand_group
           || '10:' || to_char(target_date, 'YYYY-MM-DD')
           || octet_length(milliunits::text) || ':' || milliunits
       ), 1, 15))::bit(60)::bigint), 0) AS checksum,
       coalesce(sum(milliunits), 0) AS milliunits
FROM demand_forecast
WHERE date = :date AND region = :region AND forecast_version = :forecast_version;

-- name: complete_forecast(date, region, forecast_version, model_version, rows, checksum, milliunits, workload, run_id, campaign_id, epoch)!
INSERT INTO forecast_partition
    (date, region, forecast_version, model_version, rows, checksum, milliunits, written_at,
     workload, run_id, campaign_id, epoch)
VALUES (:date, :region, :forecast_version, :model_version, :rows, :checksum, :milliunits,
        clock_timestamp(), :workload, :run_id, :campaign_id, :epoch)
ON CONFLICT (date, region, forecast_version) DO UPDATE SET
    model_version = excluded.model_version, written_at = excluded.written_at,
    workload = excluded.workload, run_id = excluded.run_id, campaign_id = excluded.campaign_id,
    epoch = excluded.epoch;

-- name: latest_forecast(date, region)
WITH latest AS (
    SELECT partition.forecast_version
    FROM forecast_partition AS partition
    LEFT JOIN forecast_publication_region AS shown
        ON shown.date = partition.date AND shown.region = partition.region
        AND shown.source_date = partition.date
        AND shown.forecast_version = partition.forecast_version
    WHERE partition.date = :date AND partition.region = :region
    ORDER BY (shown.region IS NOT NULL) DESC, partition.written_at DESC
    LIMIT 1
)
SELECT forecast_version, demand_group, target_date, milliunits
FROM demand_forecast JOIN latest USING (forecast_version)
WHERE date = :date AND region = :region
ORDER BY demand_group, target_date;
