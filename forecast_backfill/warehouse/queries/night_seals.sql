-- name: read_outputs(date)
SELECT region, status, output, output_data_version AS version, reason
FROM partition_ledger WHERE date = :date;

-- name: find_seals(start, end)
SELECT seal.date, region.region, region.state, region.version, region.reason
FROM demand_seal AS seal JOIN demand_seal_region AS region USING (date)
WHERE seal.date >= :start AND seal.date < :end
ORDER BY date, region;

-- name: store_seal(date, data_version, workload, run_id, campaign_id)!
INSERT INTO demand_seal AS seal
    (date, data_version, first_sealed_at, sealed_at, workload, run_id, campaign_id)
VALUES (:date, :data_version, clock_timestamp(), clock_timestamp(), :workload, :run_id,
        :campaign_id)
ON CONFLICT (date) DO UPDATE SET
    data_version = excluded.data_version, sealed_at = excluded.sealed_at,
    workload = excluded.workload, run_id = excluded.run_id, campaign_id = excluded.campaign_id;

-- name: clear_seal_regions(date)!
DELETE FROM demand_seal_region WHERE date = :date;

-- name: store_seal_regions(date, regions, states, versions, reasons)!
INSERT INTO demand_seal_region (date, region, state, version, reason)
SELECT :date, region, state, version, reason
FROM unnest(CAST(:regions AS text[]), CAST(:states AS text[]), CAST(:versions AS text[]),
            CAST(:reasons AS text[])) AS sealed (region, state, version, reason);

-- name: add_seal_change(date, data_version, previous_version, changed_regions, workload, run_id, campaign_id)!
INSERT INTO demand_seal_change
    (date, data_version, previous_version, changed_regions, workload, run_id, campaign_id)
VALUES (:date, :data_version, :previous_version, :changed_regions, :workload, :run_id,
        :campaign_id);
