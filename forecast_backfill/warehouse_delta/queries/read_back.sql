-- DuckDB reads the files that pyarrow has written. Date and region come from the path, as every
-- reader of the table gets them. {hash}, {content_hash} and {canonical} are put in by read_back.py.

-- name: fingerprint
SELECT count(*) AS rows,
       coalesce(sum({hash}), 0) AS checksum,
       coalesce(sum(units), 0) AS units,
       coalesce(sum(revenue_cents), 0) AS revenue_cents,
       count(DISTINCT store_id) AS stores,
       count(DISTINCT product_id) AS products,
       coalesce(sum(row_hash), 0) AS row_hashes,
       min(authority) AS lowest_authority, max(authority) AS authority,
       min(source_version) AS lowest_version, max(source_version) AS source_version
FROM {stored};

-- name: row_digests
SELECT store_id, product_id, {hash} AS hash FROM {stored};

-- name: partition_digests
-- As in PostgreSQL: what it groups by is left out of the hash.
SELECT date, region, count(*) AS rows, sum({content_hash}) AS checksum
FROM {stored} GROUP BY date, region;

-- name: canonical_rows
SELECT {canonical} || canonical_text(source_version) || canonical_text(row_hash) AS canonical
FROM {stored};

-- name: statements
SELECT date, region, authority, source_version, count(*) AS rows
FROM {stored} GROUP BY date, region, authority, source_version;

-- name: keys
SELECT date, region, count(DISTINCT (store_id, product_id)) AS keys
FROM {stored} GROUP BY date, region;

-- name: units
SELECT date, region, demand_group, CAST(sum(units) AS BIGINT) AS units
FROM {stored} GROUP BY date, region, demand_group
ORDER BY date, region, demand_group;
