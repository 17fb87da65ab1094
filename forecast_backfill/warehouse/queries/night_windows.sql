-- name: find_window(date)^
SELECT judged.*, (
    SELECT coalesce(jsonb_agg(listed ORDER BY partition_date, region), '[]')
    FROM model_coverage AS listed WHERE listed.date = judged.date
) AS listed
FROM training_window AS judged WHERE date = :date;

-- name: store_window(date, verdict, reasons, window_start, window_end, regions, expected, left_out, seals, window_digest, changed_dates, override_by, override_reason, workload, run_id, campaign_id)!
INSERT INTO training_window
    (date, verdict, reasons, window_start, window_end, regions, expected, left_out, seals,
     window_digest, changed_dates, override_by, override_reason, judged_at, workload, run_id,
     campaign_id)
VALUES (:date, :verdict, :reasons, :window_start, :window_end, :regions, :expected, :left_out,
        :seals, :window_digest, :changed_dates, :override_by, :override_reason,
        clock_timestamp(), :workload, :run_id, :campaign_id);

-- name: clear_window(date)!
DELETE FROM training_window WHERE date = :date;

-- name: store_coverage(date, dates, regions, states, used, reasons)!
INSERT INTO model_coverage (date, partition_date, region, state, is_used, reason)
SELECT :date, partition_date, region, state, is_used, reason
FROM unnest(CAST(:dates AS date[]), CAST(:regions AS text[]), CAST(:states AS text[]),
            CAST(:used AS boolean[]), CAST(:reasons AS text[]))
    AS listed (partition_date, region, state, is_used, reason);

-- name: find_override(date, window_digest)^
SELECT override_by, override_reason FROM window_override
WHERE date = :date AND window_digest = :window_digest;

-- name: store_override(date, window_digest, override_by, override_reason)!
INSERT INTO window_override (date, window_digest, override_by, override_reason)
VALUES (:date, :window_digest, :override_by, :override_reason)
ON CONFLICT (date, window_digest) DO NOTHING;

-- name: read_units(start, end, region, is_current)
-- One row a readable partition, in one statement and so of one moment: a partition without an
-- output is not there at all, one that was written without rows is there without groups.
SELECT ledger.date, ledger.region, ledger.output_data_version AS data_version,
       ledger.output_code_version AS code_version,
       coalesce(sold.groups, '{}') AS groups, coalesce(sold.units, '{}') AS units
FROM partition_ledger AS ledger
LEFT JOIN (
    SELECT date, region,
           array_agg(demand_group ORDER BY demand_group) AS groups,
           array_agg(units ORDER BY demand_group) AS units
    FROM (
        SELECT date, region, demand_group, CAST(sum(units) AS bigint) AS units
        FROM daily_demand
        WHERE date >= :start AND date < :end
          AND (CAST(:region AS text) IS NULL OR region = :region)
        GROUP BY date, region, demand_group
    ) AS grouped
    GROUP BY date, region
) AS sold USING (date, region)
WHERE ledger.date >= :start AND ledger.date < :end
  AND (CAST(:region AS text) IS NULL OR ledger.region = :region)
  AND (ledger.output = 'current' OR (ledger.output = 'stale' AND NOT :is_current))
ORDER BY ledger.date, ledger.region;

-- name: readable_outputs(start, end, region, is_current)
-- The same partitions without their rows, which are in the lakehouse.
SELECT date, region, output_data_version AS data_version, output_code_version AS code_version,
       output_rows AS rows, output_units AS units, output_checksum AS checksum,
       status = 'done' AS is_settled
FROM partition_ledger
WHERE date >= :start AND date < :end
  AND (CAST(:region AS text) IS NULL OR region = :region)
  AND (output = 'current' OR (output = 'stale' AND NOT :is_current))
ORDER BY date, region;
