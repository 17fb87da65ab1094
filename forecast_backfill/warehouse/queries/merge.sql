-- name: try_lease(name, key)^
-- As take_lease, without a place in the queue.
SELECT set_config('application_name', :name, true), pg_try_advisory_xact_lock(:key) AS is_taken,
       extract(epoch FROM current_setting('lock_timeout')::interval)::float8 AS patience_seconds;

-- name: merge_rows(date, region, prefix)
-- The stored rows as the oracle of core/merge.py needs them; the hash is of the stored columns, the
-- stored row_hash is not looked at.
SELECT store_id, product_id, authority, source_version, units, revenue_cents,
       demand_row_hash(
           :prefix, store_id, product_id, demand_group, units, revenue_cents, discount_cents,
           baskets, list_price_cents, on_display, on_mailer
       ) AS row_hash
FROM daily_demand
WHERE date = :date AND region = :region;

-- name: merge_statements(date, region, prefix)
-- How many rows each version has, and the sum of their hashes.
SELECT authority, source_version, count(*) AS rows, sum(demand_row_hash(
           :prefix, store_id, product_id, demand_group, units, revenue_cents, discount_cents,
           baskets, list_price_cents, on_display, on_mailer
       )) AS checksum
FROM daily_demand
WHERE date = :date AND region = :region
GROUP BY authority, source_version;

-- name: merge_open()!
-- Lives as long as the connection, empty after each transaction; a crash takes it along.
CREATE TEMPORARY TABLE IF NOT EXISTS merge_claim
    (LIKE daily_demand, PRIMARY KEY (store_id, product_id)) ON COMMIT DELETE ROWS;

-- name: merge_delete(date, region, authority, source_version, ties)!
-- A stored key that the claim does not have goes where the claim is the higher statement.
DELETE FROM daily_demand AS d
WHERE date = :date AND region = :region
  AND NOT EXISTS (
      SELECT FROM merge_claim AS c
      WHERE c.store_id = d.store_id AND c.product_id = d.product_id
  )
  AND ((d.source_version, d.authority) < (:source_version, :authority)
       OR ((d.source_version, d.authority) = (:source_version, :authority) AND :ties = 'claim'));

-- name: merge_upsert(date, region, ties, may_insert)^
-- The guard stands in the update itself: whatever happens between, no row is overwritten by a lower
-- version. A row that is the same already is left, so that a repetition writes nothing.
WITH written AS (
    INSERT INTO daily_demand AS d
    SELECT c.* FROM merge_claim AS c
    WHERE :may_insert OR EXISTS (
        SELECT FROM daily_demand AS o
        WHERE o.date = :date AND o.region = :region
          AND o.store_id = c.store_id AND o.product_id = c.product_id
    )
    ON CONFLICT (date, region, store_id, product_id) DO UPDATE SET
        demand_group = excluded.demand_group,
        units = excluded.units,
        revenue_cents = excluded.revenue_cents,
        discount_cents = excluded.discount_cents,
        baskets = excluded.baskets,
        list_price_cents = excluded.list_price_cents,
        on_display = excluded.on_display,
        on_mailer = excluded.on_mailer,
        authority = excluded.authority,
        source_version = excluded.source_version,
        row_hash = excluded.row_hash
    WHERE (excluded.source_version, excluded.authority) > (d.source_version, d.authority)
       OR ((excluded.source_version, excluded.authority) = (d.source_version, d.authority)
           AND CASE :ties
                   WHEN 'claim' THEN excluded.row_hash <> d.row_hash
                   WHEN 'row_hash' THEN excluded.row_hash > d.row_hash
                   ELSE false
               END)
    RETURNING 1
)
SELECT count(*) AS rows FROM written;

-- name: merge_complete(date, region, is_guest, holds, sources, workload, run_id, campaign_id, epoch, source_digest, code_version, dimension_version, rows, checksum, units, revenue_cents, stores, products, data_version, authority, source_version, revision, claim_rows, claim_checksum, lines, exclusions, seconds, detail)^
-- A guest leaves an attempt of another run alone: that one is still running, and merges in its turn.
-- A claim that does not hold describes no output: what is stored was stated by somebody else.
WITH earlier AS (
    -- What stood there before the first merge was stated too, by whoever wrote it.
    INSERT INTO partition_claim
    SELECT date, region, output_authority, output_source_version, output_revision,
           output_source_digest, output_code_version, output_dimension_version,
           output_rows, output_checksum, coalesce(event.workload, ledger.workload),
           coalesce(event.run_id, ledger.run_id), event.campaign_id, output_written_at
    FROM partition_ledger AS ledger
    LEFT JOIN LATERAL (
        SELECT workload, run_id, campaign_id FROM partition_event
        WHERE date = ledger.date AND region = ledger.region AND kind = 'written'
        ORDER BY event_id DESC LIMIT 1
    ) AS event ON true
    WHERE date = :date AND region = :region
      AND NOT is_merged AND output <> 'absent' AND output_authority <> :authority
    ON CONFLICT DO NOTHING
), claimed AS (
    INSERT INTO partition_claim AS claim
    VALUES (:date, :region, :authority, :source_version, :revision,
            :source_digest, :code_version, :dimension_version, :claim_rows, :claim_checksum,
            :workload, :run_id, :campaign_id, clock_timestamp())
    ON CONFLICT (date, region, authority) DO UPDATE SET
        source_version = excluded.source_version, revision = excluded.revision,
        source_digest = excluded.source_digest, code_version = excluded.code_version,
        dimension_version = excluded.dimension_version, rows = excluded.rows,
        checksum = excluded.checksum, workload = excluded.workload, run_id = excluded.run_id,
        campaign_id = excluded.campaign_id, claimed_at = excluded.claimed_at
    WHERE (excluded.source_version, excluded.revision) >= (claim.source_version, claim.revision)
), moved AS (
    INSERT INTO partition_ledger AS ledger
        (date, region, status, output, attempt, workload, run_id, campaign_id, epoch,
         started_at, finished_at, is_merged, output_writer, output_revision,
         output_source_digest, output_code_version, output_dimension_version, output_rows,
         output_checksum, output_units, output_revenue_cents, output_stores, output_products,
         output_data_version, output_authority, output_source_version, output_written_at,
         output_lines, output_exclusions)
    SELECT :date, :region, 'done', 'current', 1, :workload, :run_id, :campaign_id, :epoch,
           clock_timestamp(), clock_timestamp(), true, coalesce(:campaign_id, :run_id), :revision,
           :source_digest, :code_version, :dimension_version, :rows,
           :checksum, :units, :revenue_cents, :stores, :products,
           :data_version, :authority, :source_version, clock_timestamp(), :lines, :exclusions
    WHERE :is_guest OR EXISTS (
        SELECT FROM partition_ledger WHERE date = :date AND region = :region
    )
    ON CONFLICT (date, region) DO UPDATE SET
        (status, finished_at, reason, attempt, workload, run_id, campaign_id, epoch) = (
            SELECT 'done', excluded.finished_at, NULL::text,
                   ledger.attempt + CASE WHEN :is_guest THEN 1 ELSE 0 END, excluded.workload,
                   excluded.run_id, excluded.campaign_id, excluded.epoch
            WHERE NOT :is_guest OR (:holds AND ledger.status <> 'running')
            UNION ALL
            SELECT ledger.status, ledger.finished_at, ledger.reason, ledger.attempt,
                   ledger.workload, ledger.run_id, ledger.campaign_id, ledger.epoch
            WHERE :is_guest AND NOT (:holds AND ledger.status <> 'running')
        ),
        output = CASE WHEN :holds OR NOT :is_guest THEN 'current' ELSE ledger.output END,
        is_merged = true,
        output_writer = excluded.output_writer,
        output_rows = excluded.output_rows,
        output_checksum = excluded.output_checksum,
        output_units = excluded.output_units,
        output_revenue_cents = excluded.output_revenue_cents,
        output_stores = excluded.output_stores,
        output_products = excluded.output_products,
        output_data_version = excluded.output_data_version,
        output_written_at = excluded.output_written_at,
        (output_source_digest, output_code_version, output_dimension_version, output_authority,
         output_source_version, output_revision, output_lines, output_exclusions) = (
            SELECT excluded.output_source_digest, excluded.output_code_version,
                   excluded.output_dimension_version, excluded.output_authority,
                   excluded.output_source_version, excluded.output_revision,
                   excluded.output_lines, excluded.output_exclusions
            WHERE :holds
            UNION ALL
            SELECT ledger.output_source_digest, ledger.output_code_version,
                   ledger.output_dimension_version, ledger.output_authority,
                   ledger.output_source_version, ledger.output_revision,
                   ledger.output_lines, ledger.output_exclusions
            WHERE NOT :holds
        )
    WHERE :is_guest OR (ledger.status = ANY(:sources) AND ledger.run_id = :run_id)
    RETURNING *
), closed AS (
    UPDATE quarantine SET resolved_at = clock_timestamp()
    WHERE date = :date AND region = :region AND resolved_at IS NULL
      AND EXISTS (SELECT FROM moved WHERE status = 'done')
), event AS (
    INSERT INTO partition_event
        (date, region, kind, workload, run_id, campaign_id, attempt, seconds, rows, detail)
    SELECT date, region, 'written', :workload, :run_id, :campaign_id, attempt,
           CAST(:seconds AS double precision), output_rows, :detail
    FROM moved
)
SELECT attempt, output_source_digest, output_code_version, output_dimension_version FROM moved;

-- name: merge_find_claim(date, region, authority)^
SELECT source_digest, code_version, dimension_version FROM partition_claim
WHERE date = :date AND region = :region AND authority = :authority;

-- name: merge_forget(date, region)!
-- The owner has replaced the partition whole: what was stated of it before counts no more.
DELETE FROM partition_claim WHERE date = :date AND region = :region;

-- name: merge_hold_epoch(workload, gate_class, number, date, region)^
-- As hold_epoch, and what stands in the partition, read after its lease was taken.
SELECT workload_control.epoch, is_merged, output_authority, output_source_version,
       (SELECT array_agg(shadow_id) FROM shadow WHERE state <> 'dropped') AS shadows,
       output_revision, output_source_digest, output_code_version, output_dimension_version,
       output_checksum
FROM (SELECT pg_advisory_xact_lock_shared(:gate_class, :number) IS NULL AS is_open OFFSET 0) AS gate,
     workload_control
LEFT JOIN partition_ledger AS ledger ON ledger.date = :date AND ledger.region = :region
WHERE workload_control.workload = :workload AND gate.is_open IS NOT NULL
FOR KEY SHARE OF workload_control;
