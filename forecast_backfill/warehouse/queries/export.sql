-- Read within one snapshot by warehouse/exported.py.

-- name: export_ledger(start, end)
SELECT date, region, status, output, reason, output_code_version AS code_version,
       output_rows AS rows, output_checksum AS checksum, output_units AS units,
       output_revenue_cents AS revenue_cents, output_stores AS stores, output_products AS products
FROM partition_ledger
WHERE date >= :start AND date < :end;

-- name: export_rows(date, region)
-- Columns and order are those of the file.
SELECT store_id, product_id, demand_group, units, revenue_cents, discount_cents, baskets,
       list_price_cents, on_display, on_mailer
FROM daily_demand
WHERE date = :date AND region = :region
ORDER BY store_id, product_id;
