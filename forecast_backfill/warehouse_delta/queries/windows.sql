-- A window's rows as models read them, with what proves that they are the ledger's.

-- name: proved_units
SELECT date, region, demand_group, CAST(sum(units) AS BIGINT) AS units,
       count(*) AS rows, sum(row_hash) AS row_hashes
FROM {stored} GROUP BY date, region, demand_group
ORDER BY date, region, demand_group;
