-- name: take_lease(name, key)^
-- The name is set first, so that who waits for the lease can be seen in pg_stat_activity.
SELECT set_config('application_name', :name, true), pg_advisory_xact_lock(:key);

-- name: hold_epoch(workload, gate_class, number)^
-- The gate comes before the row: a kill that waits for it is not overtaken by later commits.
SELECT epoch
FROM (SELECT pg_advisory_xact_lock_shared(:gate_class, :number) IS NULL AS is_open OFFSET 0) AS gate,
     workload_control
WHERE workload = :workload AND gate.is_open IS NOT NULL
FOR KEY SHARE OF workload_control;

-- name: delete_partition(date, region)!
DELETE FROM daily_demand WHERE date = :date AND region = :region;

-- name: has_row_hashes(date, region, rows, checksum, authority, source_version)$
-- Whether all rows carry the version, and their hashes come to the checksum.
SELECT count(*) = :rows AND coalesce(sum(row_hash), 0) = :checksum
       AND coalesce(bool_and(authority = :authority AND source_version = :source_version), true)
FROM daily_demand
WHERE date = :date AND region = :region;

-- name: fingerprint_partition(date, region, prefix)^
-- The canonical text of core/fingerprint.py. Date and region are the same in every row here, so
-- their part of it is a parameter. The stored row_hash is not looked at. Grouping counts products
-- at half the price of count(DISTINCT), which sorts them. Stores are few and lead in the key: it is
-- searched for the next one, past all entries of the last, of which half may be of deleted rows.
WITH RECURSIVE store AS (
    SELECT min(store_id) AS store_id FROM daily_demand
    WHERE date = :date AND region = :region
    UNION ALL
    SELECT (SELECT min(next.store_id) FROM daily_demand AS next
            WHERE next.date = :date AND next.region = :region AND next.store_id > store.store_id)
    FROM store WHERE store.store_id IS NOT NULL
)
SELECT coalesce(sum(rows), 0) AS rows,
       coalesce(sum(checksum), 0) AS checksum,
       coalesce(sum(units), 0) AS units,
       coalesce(sum(revenue_cents), 0) AS revenue_cents,
       (SELECT count(store_id) FROM store) AS stores,
       count(*) AS products
FROM (
    SELECT count(*) AS rows,
           -- The first 60 bits, which are 15 hexadecimal digits.
           sum(('x' || md5(
               :prefix
               || canonical_text(store_id)
               || canonical_text(product_id)
               || canonical_text(demand_group)
               || canonical_text(units)
               || canonical_text(revenue_cents)
               || canonical_text(discount_cents)
               || canonical_text(baskets)
               || canonical_text(list_price_cents)
               || canonical_text(on_display)
               || canonical_text(on_mailer)
           ))::bit(60)::bigint) AS checksum,
           sum(units) AS units,
           sum(revenue_cents) AS revenue_cents
    FROM daily_demand
    WHERE date = :date AND region = :region
    GROUP BY product_id
) AS product;
