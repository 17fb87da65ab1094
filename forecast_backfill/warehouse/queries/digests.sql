-- Digests for core/digest_tree.py. The names in braces are put in by warehouse/digests.py: the table,
-- and the canonical texts of a row, of its key within the partition, and of its content, which is the
-- row without date and region. The stored row_hash is not looked at. The first 60 bits of an md5 are
-- 15 hexadecimal digits.

-- name: hold_snapshot()!
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: hold_limits()^
-- A proof may take long and wait for the other side; dates are written in one way.
SELECT set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true),
       set_config('datestyle', 'ISO, YMD', true);

-- name: prepare_comparison()^
-- Rows that a policy hides would be taken for missing: then reading them is an error.
SELECT set_config('row_security', 'off', true),
       current_setting('server_encoding') AS server_encoding;

-- name: partition_digests(start, end, regions)
-- The pass over all rows. What it groups by is left out of the text: writing that costs a fifth of it.
SELECT date, region, count(*) AS rows, sum(hash) AS checksum
FROM (
    SELECT date, region, ('x' || md5({content}))::bit(60)::bigint AS hash
    FROM {table}
    WHERE date >= :start AND date < :end
      AND (CAST(:regions AS text[]) IS NULL OR region = ANY(CAST(:regions AS text[])))
) AS hashed
GROUP BY date, region;

-- name: bucket_digests(date, region, shift, index, child_shift)
SELECT key_hash >> CAST(:child_shift AS integer) AS index,
       count(*) AS rows, sum(hash) AS checksum
FROM (
    SELECT ('x' || md5({key}))::bit(60)::bigint AS key_hash,
           ('x' || md5({row}))::bit(60)::bigint AS hash
    FROM {table}
    WHERE date = :date AND region = :region
) AS hashed
WHERE key_hash >> CAST(:shift AS integer) = :index
GROUP BY 1;

-- name: bucket_rows(date, region, shift, index)
SELECT store_id, product_id, hash
FROM (
    SELECT store_id::text AS store_id, product_id::text AS product_id,
           ('x' || md5({key}))::bit(60)::bigint AS key_hash,
           ('x' || md5({row}))::bit(60)::bigint AS hash
    FROM {table}
    WHERE date = :date AND region = :region
) AS hashed
WHERE key_hash >> CAST(:shift AS integer) = :index;

-- name: keyless_rows()$
SELECT count(*) FROM {table}
WHERE date IS NULL OR region IS NULL OR store_id IS NULL OR product_id IS NULL;

-- name: canonical_rows(date, region)
-- Every stored value of a row as one text, but the authority, which is the writer's.
SELECT store_id, product_id,
       {row} || canonical_text(source_version) || canonical_text(row_hash) AS canonical
FROM {table}
WHERE date = :date AND region = :region;

-- name: sample_done(start, end, regions, seed, count)
-- The order is a shuffle that the seed decides.
SELECT date, region
FROM partition_ledger
WHERE status = 'done' AND output = 'current' AND date >= :start AND date < :end
  AND region = ANY(:regions)
ORDER BY md5(CAST(:seed AS text) || date::text || region), date, region
LIMIT :count;

-- name: find_column_types(table)
SELECT a.attname AS name, t.typname AS type, a.attnotnull AS is_required
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = CAST(:table AS oid) AND a.attnum > 0 AND NOT a.attisdropped;

-- name: find_table(schema, name)^
-- Without a schema it is looked for where an unqualified name is.
SELECT c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(
    CASE WHEN CAST(:schema AS text) IS NULL THEN quote_ident(:name)
         ELSE quote_ident(:schema) || '.' || quote_ident(:name) END
);

-- name: add_proof(date, region, is_same, rows, proved_by, reason)!
INSERT INTO recompute_proof (date, region, is_same, rows, proved_by, reason)
VALUES (:date, :region, :is_same, :rows, :proved_by, :reason);
