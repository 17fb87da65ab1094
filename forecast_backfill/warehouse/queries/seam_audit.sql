-- name: seam_snapshot()!
-- Ledger and rows as of one moment: a writer between the two would look like a fault.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: seam_is_keyed()^
-- Whether a valid unique index of the table forbids a second row a key.
SELECT EXISTS (
    SELECT FROM pg_index AS i
    WHERE i.indrelid = to_regclass('daily_demand') AND i.indisunique AND i.indisvalid
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (
          SELECT array_agg(a.attname::text ORDER BY a.attname)
          FROM pg_attribute AS a
          WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey::smallint[])
      ) <@ ARRAY['date', 'product_id', 'region', 'store_id']
) AS is_keyed;

-- name: seam_rows(start, end, regions)
SELECT date, region, authority, source_version, count(*) AS rows
FROM daily_demand
WHERE date >= :start AND date < :end AND region = ANY(:regions)
GROUP BY date, region, authority, source_version;

-- name: seam_keys(start, end, regions)
SELECT date, region, count(*) AS keys
FROM (
    SELECT DISTINCT date, region, store_id, product_id
    FROM daily_demand
    WHERE date >= :start AND date < :end AND region = ANY(:regions)
) AS key
GROUP BY date, region;

-- name: seam_ledger(start, end, regions)
SELECT date, region, status, output, coalesce(output_rows, 0) AS rows, output_authority,
       output_source_version, output_revision, is_merged, reason
FROM partition_ledger
WHERE date >= :start AND date < :end AND region = ANY(:regions);

-- name: seam_claims(start, end, regions)
SELECT date, region, authority, source_version, revision
FROM partition_claim
WHERE date >= :start AND date < :end AND region = ANY(:regions);
