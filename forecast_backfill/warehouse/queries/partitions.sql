-- name: take_lease(name, key)^
-- The name is set first, so that who waits for the lease can be seen in pg_stat_activity.
SELECT set_config('application_name', :name, true), pg_advisory_xact_lock(:key);

-- name: hold_epoch(workload)^
SELECT epoch FROM workload_control WHERE workload = :workload FOR SHARE;

-- name: keep_superseded(date, region, campaign_id, run_id)!
INSERT INTO daily_demand_superseded
SELECT *, clock_timestamp(), :campaign_id, :run_id
FROM daily_demand
WHERE date = :date AND region = :region;

-- name: delete_partition(date, region)!
DELETE FROM daily_demand WHERE date = :date AND region = :region;

-- name: fingerprint_partition(date, region, prefix)^
-- The canonical text of core/fingerprint.py. Date and region are the same in every row here, so
-- their part of it is a parameter. The stored row_hash is not looked at. Grouping counts distinct
-- codes at half the price of count(DISTINCT), which sorts them.
SELECT count(*) AS rows,
       coalesce(sum(('x' || substr(md5(
           :prefix
           || length(store_id) || ':' || store_id
           || length(product_id) || ':' || product_id
           || length(demand_group) || ':' || demand_group
           || octet_length(units::text) || ':' || units
           || octet_length(revenue_cents::text) || ':' || revenue_cents
           || octet_length(discount_cents::text) || ':' || discount_cents
           || octet_length(baskets::text) || ':' || baskets
           || coalesce(octet_length(list_price_cents::text) || ':' || list_price_cents, '-')
           || CASE WHEN on_display IS NULL THEN '-' WHEN on_display THEN '1:1' ELSE '1:0' END
           || CASE WHEN on_mailer IS NULL THEN '-' WHEN on_mailer THEN '1:1' ELSE '1:0' END
       ), 1, 15))::bit(60)::bigint), 0) AS checksum,
       coalesce(sum(units), 0) AS units,
       coalesce(sum(revenue_cents), 0) AS revenue_cents,
       (SELECT count(*) FROM (
           SELECT FROM daily_demand WHERE date = :date AND region = :region GROUP BY store_id
       ) AS store) AS stores,
       (SELECT count(*) FROM (
           SELECT FROM daily_demand WHERE date = :date AND region = :region GROUP BY product_id
       ) AS product) AS products
FROM daily_demand
WHERE date = :date AND region = :region;
