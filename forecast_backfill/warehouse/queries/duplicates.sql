-- Doubled rows of any table. The names in braces are put in by warehouse/duplicates.py, quoted:
-- {columns} are those of the partition and the key, {place} the partition's values as an array of
-- texts, {content} the text of all values that are compared, {whole} that of the whole row.

-- name: duplicate_copies()
SELECT {place} AS place, sum(fb_copies)::bigint AS rows, count(*) AS keys,
       count(*) FILTER (WHERE fb_copies > 1) AS doubled,
       min(fb_copies) AS least, max(fb_copies) AS most,
       count(*) FILTER (WHERE fb_contents > 1) AS other_values,
       count(*) FILTER (WHERE fb_newest > 1) AS ties
FROM (
    SELECT {columns}, count(*) AS fb_copies, count(DISTINCT fb_content) AS fb_contents,
           count(DISTINCT fb_content) FILTER (WHERE fb_rank = 1) AS fb_newest
    FROM (
        SELECT {columns}, md5({content}) AS fb_content,
               rank() OVER (PARTITION BY {columns} ORDER BY {version} DESC NULLS LAST) AS fb_rank
        FROM {table}
    ) AS ranked
    GROUP BY {columns}
) AS keyed
GROUP BY {places}
HAVING max(fb_copies) > 1
ORDER BY 1;

-- name: duplicate_writers()
SELECT {place} AS place, fb_transaction AS transaction, fb_writer AS name, count(*) AS rows,
       {committed} AS at, min(fb_written)::text AS first, max(fb_written)::text AS last
FROM (
    SELECT {columns}, xmin::text AS fb_transaction, {writer}::text AS fb_writer,
           {written} AS fb_written, count(*) OVER (PARTITION BY {columns}) AS fb_copies
    FROM {table}
) AS seen
WHERE fb_copies > 1
GROUP BY {places_and} fb_transaction, fb_writer
ORDER BY 1, at, first, fb_transaction::bigint;

-- name: tied_copies(most)
SELECT {key} AS key, count(*) AS copies, max(fb_version) AS version
FROM (
    SELECT {columns}, md5({content}) AS fb_content, {version}::text AS fb_version,
           rank() OVER (PARTITION BY {columns} ORDER BY {version} DESC NULLS LAST) AS fb_rank
    FROM {table}
    WHERE {within}
) AS ranked
WHERE fb_rank = 1
GROUP BY {columns}
HAVING count(DISTINCT fb_content) > 1
ORDER BY 1
LIMIT :most;

-- name: lock_duplicates()!
-- Writers wait, readers do not.
LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;

-- name: surviving_content()^
SELECT count(*) AS rows, coalesce(sum(fb_hash), 0) AS checksum
FROM (
    SELECT DISTINCT ON ({columns}) ('x' || md5({whole}))::bit(60)::bigint AS fb_hash
    FROM {table}
    WHERE {within}
    ORDER BY {columns}, {version} DESC NULLS LAST, tableoid, ctid
) AS newest;

-- name: stored_content()^
SELECT count(*) AS rows,
       coalesce(sum(('x' || md5({whole}))::bit(60)::bigint), 0) AS checksum,
       (SELECT count(*) FROM (
            SELECT FROM {table} WHERE {within} GROUP BY {columns} HAVING count(*) > 1
        ) AS twice) AS doubled,
       {sums} AS sums
FROM {table}
WHERE {within};

-- name: remove_copies(repair_id, table_name)^
WITH ranked AS (
    SELECT tableoid AS fb_table, ctid AS fb_row,
           row_number() OVER (
               PARTITION BY {columns} ORDER BY {version} DESC NULLS LAST, tableoid, ctid
           ) AS fb_nth
    FROM {table}
    WHERE {within}
), gone AS (
    DELETE FROM {table} AS copy USING ranked
    WHERE copy.tableoid = fb_table AND copy.ctid = fb_row AND fb_nth > 1
    RETURNING copy.*
), kept AS (
    INSERT INTO {kept} (repair_id, table_name, row_content)
    SELECT :repair_id, :table_name, to_jsonb(gone.*) FROM gone
    RETURNING row_content
)
SELECT count(*) AS rows, {kept_sums} AS sums FROM kept;

-- name: has_uneven_versions()^
-- Text sorts '10' below '9': only texts of one length can be in the order that is meant.
SELECT min(length({version})) IS DISTINCT FROM max(length({version})) AS is_uneven
FROM {table};

-- name: create_kept()!
-- For a database that is not ours; ours has it by migration.
CREATE TABLE IF NOT EXISTS {kept} (
    removed_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    removed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_by text NOT NULL DEFAULT session_user,
    repair_id text NOT NULL,
    table_name text NOT NULL,
    row_content jsonb NOT NULL CHECK (jsonb_typeof(row_content) = 'object')
);

-- name: describe_columns(table)
SELECT a.attname AS name, t.typname AS type, format_type(a.atttypid, a.atttypmod) AS full_type,
       (a.attidentity <> '' OR a.attgenerated <> ''
        OR coalesce(starts_with(pg_get_expr(d.adbin, d.adrelid), 'nextval('), false)) AS is_made
FROM pg_attribute AS a
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = CAST(:table AS oid) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- name: cascading_keys(table)
SELECT conname AS name, conrelid::regclass::text AS child
FROM pg_constraint
WHERE contype = 'f' AND confrelid = CAST(:table AS oid) AND confdeltype IN ('c', 'n', 'd');

-- name: find_table_as_written(table)^
-- As PostgreSQL reads a name: in lower case where it is not quoted.
SELECT c.oid::bigint AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(:table);

-- name: prepare_for_duplicates(lock_timeout)^
-- A search over a large table takes as long as it takes; a lock does not. A name without a schema
-- may also be one of ours. Rows that a policy hides could be doubled: then a search is an error.
SELECT set_config('row_security', 'off', false),
       set_config('search_path', current_setting('search_path') || ', forecast_backfill', false),
       set_config('lock_timeout', :lock_timeout, false),
       set_config('statement_timeout', '0', false),
       set_config('datestyle', 'ISO, YMD', false),
       set_config('timezone', 'UTC', false);
