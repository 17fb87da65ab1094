-- name: lock_dimension(dimension)^
SELECT pg_advisory_xact_lock(hashtextextended('forecast_backfill dimension ' || :dimension, 0));

-- name: loaded_digest(dimension, part)$
SELECT digest FROM dimension_load WHERE dimension = :dimension AND part = :part;

-- name: record_dimension_load(dimension, part, digest, rows, checksum)!
INSERT INTO dimension_load (dimension, part, digest, rows, checksum, loaded_at)
VALUES (:dimension, :part, :digest, :rows, :checksum, clock_timestamp())
ON CONFLICT (dimension, part) DO UPDATE
SET digest = excluded.digest,
    rows = excluded.rows,
    checksum = excluded.checksum,
    loaded_at = excluded.loaded_at;

-- name: delete_product(part)!
DELETE FROM product WHERE :part = '';

-- name: delete_store_region(part)!
DELETE FROM store_region WHERE :part = '';

-- name: delete_shelf_price(part)!
DELETE FROM shelf_price WHERE :part = '';

-- name: delete_promotion(part)!
DELETE FROM promotion WHERE week = :part::date;

-- name: fingerprint_product(part)^
-- These four write the canonical text of core/fingerprint.py for the columns of core/dimension.py.
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           length(product_id) || ':' || product_id
           || length(department) || ':' || department
           || length(category) || ':' || category
           || length(demand_group) || ':' || demand_group
           || length(exclusion) || ':' || exclusion
       ), 1, 15))::bit(60)::bigint), 0) AS checksum
FROM product
WHERE :part = '';

-- name: fingerprint_store_region(part)^
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           length(store_id) || ':' || store_id
           || length(region) || ':' || region
           || coalesce('10:' || to_char(valid_from, 'YYYY-MM-DD'), '-')
           || coalesce('10:' || to_char(valid_to, 'YYYY-MM-DD'), '-')
       ), 1, 15))::bit(60)::bigint), 0) AS checksum
FROM store_region
WHERE :part = '';

-- name: fingerprint_shelf_price(part)^
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           length(product_id) || ':' || product_id
           || length(price_cents::text) || ':' || price_cents
           || coalesce('10:' || to_char(valid_from, 'YYYY-MM-DD'), '-')
           || coalesce('10:' || to_char(valid_to, 'YYYY-MM-DD'), '-')
           || length(recorded::text) || ':' || recorded
       ), 1, 15))::bit(60)::bigint), 0) AS checksum
FROM shelf_price
CROSS JOIN LATERAL (SELECT (extract(epoch FROM recorded_at) * 1000000)::bigint) AS _ (recorded)
WHERE :part = '';

-- name: fingerprint_promotion(part)^
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           '10:' || to_char(week, 'YYYY-MM-DD')
           || length(region) || ':' || region
           || length(demand_group) || ':' || demand_group
           || length(stores::text) || ':' || stores
           || length(products::text) || ':' || products
           || length(facts::text) || ':' || facts
           || length(on_display::text) || ':' || on_display
           || length(on_mailer::text) || ':' || on_mailer
           || length(recorded::text) || ':' || recorded
       ), 1, 15))::bit(60)::bigint), 0) AS checksum
FROM promotion
CROSS JOIN LATERAL (SELECT (extract(epoch FROM recorded_at) * 1000000)::bigint) AS _ (recorded)
WHERE week = :part::date;

-- name: demand_at_shelf_price(date, region)
SELECT * FROM daily_demand_at_shelf_price
WHERE date = :date AND region = :region
ORDER BY store_id, product_id;

-- name: known_shelf_prices(day, known_by)
-- A later version ends an earlier one only once it is recorded: until then the earlier one holds.
SELECT DISTINCT ON (product_id) product_id, price_cents
FROM shelf_price
WHERE (valid_from IS NULL OR valid_from <= :day)
  AND recorded_at < (:known_by::date + 1)::timestamp AT TIME ZONE 'UTC'
ORDER BY product_id, valid_from DESC NULLS LAST;

-- name: store_regions_on(day)
SELECT store_id, region
FROM store_region
WHERE (valid_from IS NULL OR valid_from <= :day) AND (valid_to IS NULL OR :day < valid_to)
ORDER BY store_id;

-- name: known_promotions(start, end, regions, known_by)
SELECT region, demand_group, week, stores, products, on_display, on_mailer
FROM promotion
WHERE week > :start::date - 7
  AND week < :end::date
  AND region = ANY (:regions)
  AND demand_group <> ''
  AND recorded_at < (:known_by::date + 1)::timestamp AT TIME ZONE 'UTC'
ORDER BY region, demand_group, week;
