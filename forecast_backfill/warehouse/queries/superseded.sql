-- name: keep_superseded(date, region, workload, campaign_id, run_id, keeps_rows, rows, checksum, authority, source_version, lakehouse)!
-- What stood before the campaign's first write is kept once. What somebody else wrote after that
-- takes its place when the campaign writes again, and so does its own output once it is accepted,
-- though the acceptance was interrupted before it came to the partition. Rows that will be the same
-- bytes again (the same fingerprint under the same version) need no copy, until the campaign writes
-- other ones. Rows that lie in the lakehouse are not here to be kept.
WITH before AS (
    SELECT coalesce(ledger.output, 'absent') AS output,
           coalesce(ledger.output_rows, 0) AS stored_rows,
           coalesce(right(ledger.output_code_version, length(:lakehouse)) = :lakehouse, false)
               AS is_elsewhere,
           (CAST(:rows AS bigint), CAST(:checksum AS numeric))
               IS DISTINCT FROM (ledger.output_rows, ledger.output_checksum) AS is_other,
           coalesce(mark.is_kept, false) AS was_kept,
           mark.rolled_back_at IS NULL AND coalesce(ledger.output_writer = mark.campaign_id, false)
               AND NOT coalesce(mark.superseded_at <= accepted.accepted_at, false) AS is_own,
           coalesce((
               SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(ledger))
               WHERE key ^@ 'output_' OR key = 'is_merged'
           ), '{}') AS record
    FROM (SELECT) AS one
    LEFT JOIN partition_ledger AS ledger ON ledger.date = :date AND ledger.region = :region
    LEFT JOIN superseded_partition AS mark
        ON mark.campaign_id = :campaign_id AND mark.date = :date AND mark.region = :region
    LEFT JOIN campaign_acceptance AS accepted ON accepted.campaign_id = :campaign_id
), need AS (
    SELECT *, :keeps_rows AND output <> 'absent' AND NOT is_elsewhere
              AND NOT (is_own AND was_kept) AND (
        is_other OR EXISTS (
            SELECT FROM daily_demand
            WHERE date = :date AND region = :region
              AND (authority, source_version) IS DISTINCT FROM
                  (CAST(:authority AS smallint), CAST(:source_version AS bigint))
        )
    ) AS keeps
    FROM before
), marked AS (
    INSERT INTO superseded_partition AS mark
        (campaign_id, date, region, workload, run_id, superseded_at, output, record, claims,
         is_kept, kept_rows)
    SELECT :campaign_id, :date, :region, :workload, :run_id, clock_timestamp(), output, record,
           coalesce((
               SELECT jsonb_agg(to_jsonb(claim)) FROM partition_claim AS claim
               WHERE date = :date AND region = :region
           ), '[]'),
           keeps OR output = 'absent', CASE WHEN keeps THEN stored_rows ELSE 0 END
    FROM need WHERE NOT is_own
    ON CONFLICT (campaign_id, date, region) DO UPDATE SET
        workload = excluded.workload, run_id = excluded.run_id,
        superseded_at = excluded.superseded_at, output = excluded.output,
        record = excluded.record, claims = excluded.claims, is_kept = excluded.is_kept,
        kept_rows = excluded.kept_rows, rolled_back_at = NULL
), completed AS (
    UPDATE superseded_partition AS mark SET is_kept = true, kept_rows = need.stored_rows
    FROM need
    WHERE need.is_own AND need.keeps
      AND mark.campaign_id = :campaign_id AND mark.date = :date AND mark.region = :region
), freed AS (
    DELETE FROM daily_demand_superseded
    WHERE (SELECT was_kept AND NOT is_own FROM need)
      AND date = :date AND region = :region AND campaign_id = :campaign_id
)
INSERT INTO daily_demand_superseded
SELECT demand.*, clock_timestamp(), :campaign_id, :run_id
FROM daily_demand AS demand
WHERE (SELECT keeps FROM need) AND date = :date AND region = :region;

-- name: list_superseded(campaign_id, start, end, regions)
-- The partitions that the campaign changed, unless their earlier state is being freed.
SELECT mark.date, mark.region, mark.workload, mark.kept_rows
FROM superseded_partition AS mark
LEFT JOIN campaign_acceptance AS accepted USING (campaign_id)
WHERE mark.campaign_id = :campaign_id
  AND (accepted.accepted_at IS NULL OR mark.superseded_at > accepted.accepted_at)
  AND (CAST(:start AS date) IS NULL OR mark.date >= :start)
  AND (CAST(:end AS date) IS NULL OR mark.date < :end)
  AND (CAST(:regions AS text[]) IS NULL OR mark.region = ANY(:regions))
ORDER BY mark.date, mark.region;

-- name: find_superseded(campaign_id, date, region)^
-- Locked, so that it is not freed while it is put back.
SELECT mark.output, mark.record, mark.claims, mark.is_kept, mark.kept_rows,
       mark.rolled_back_at IS NOT NULL AS is_back,
       accepted.accepted_at IS NOT NULL AND mark.superseded_at <= accepted.accepted_at
           AS is_accepted,
       ledger.status, ledger.output_writer, ledger.output_rows, ledger.run_id,
       ledger.epoch < control.epoch AS is_epoch_over,
       coalesce(ledger.is_merged, false) AS is_merged
FROM superseded_partition AS mark
LEFT JOIN campaign_acceptance AS accepted USING (campaign_id)
LEFT JOIN partition_ledger AS ledger ON ledger.date = mark.date AND ledger.region = mark.region
LEFT JOIN workload_control AS control ON control.workload = ledger.workload
WHERE mark.campaign_id = :campaign_id AND mark.date = :date AND mark.region = :region
FOR UPDATE OF mark;

-- name: restore_rows(campaign_id, date, region)!
WITH kept AS (
    DELETE FROM daily_demand_superseded
    WHERE date = :date AND region = :region AND campaign_id = :campaign_id
    RETURNING *
)
INSERT INTO daily_demand
    (date, region, store_id, product_id, demand_group, units, revenue_cents, discount_cents,
     baskets, list_price_cents, on_display, on_mailer, authority, source_version, row_hash)
SELECT date, region, store_id, product_id, demand_group, units, revenue_cents, discount_cents,
       baskets, list_price_cents, on_display, on_mailer, authority, source_version, row_hash
FROM kept;

-- name: restore_claims(campaign_id, date, region)!
WITH gone AS (
    DELETE FROM partition_claim AS claim
    WHERE date = :date AND region = :region
      AND NOT EXISTS (
          SELECT FROM superseded_partition AS mark,
                      jsonb_populate_recordset(NULL::partition_claim, mark.claims) AS kept
          WHERE mark.campaign_id = :campaign_id AND mark.date = :date AND mark.region = :region
            AND kept.authority = claim.authority
      )
)
INSERT INTO partition_claim AS claim
SELECT kept.*
FROM superseded_partition AS mark,
     jsonb_populate_recordset(NULL::partition_claim, mark.claims) AS kept
WHERE mark.campaign_id = :campaign_id AND mark.date = :date AND mark.region = :region
ON CONFLICT (date, region, authority) DO UPDATE SET
    source_version = excluded.source_version, revision = excluded.revision,
    source_digest = excluded.source_digest, code_version = excluded.code_version,
    dimension_version = excluded.dimension_version, rows = excluded.rows,
    checksum = excluded.checksum, workload = excluded.workload, run_id = excluded.run_id,
    campaign_id = excluded.campaign_id, claimed_at = excluded.claimed_at;

-- name: roll_back_partition(campaign_id, date, region, workload, run_id, epoch, status, output, sources, reason, seconds, detail)^
WITH back AS (
    UPDATE superseded_partition SET rolled_back_at = clock_timestamp(), is_kept = true, kept_rows = 0
    WHERE campaign_id = :campaign_id AND date = :date AND region = :region
    RETURNING *
), earlier AS (
    SELECT kept.*
    FROM back, jsonb_populate_record(NULL::partition_ledger, back.record) AS kept
), moved AS (
    UPDATE partition_ledger AS ledger
    SET status = :status, output = :output, finished_at = clock_timestamp(),
        reason = CASE WHEN :status = 'done' THEN NULL
                      WHEN ledger.status = :status AND ledger.status <> 'rolled_back'
                      THEN ledger.reason
                      ELSE :reason END,
        workload = :workload, run_id = :run_id, campaign_id = :campaign_id, epoch = :epoch,
        output_source_digest = earlier.output_source_digest,
        output_code_version = earlier.output_code_version,
        output_dimension_version = earlier.output_dimension_version,
        output_rows = earlier.output_rows,
        output_checksum = earlier.output_checksum,
        output_units = earlier.output_units,
        output_revenue_cents = earlier.output_revenue_cents,
        output_stores = earlier.output_stores,
        output_products = earlier.output_products,
        output_data_version = earlier.output_data_version,
        output_authority = earlier.output_authority,
        output_source_version = earlier.output_source_version,
        output_written_at = earlier.output_written_at,
        output_lines = earlier.output_lines,
        output_exclusions = earlier.output_exclusions,
        output_writer = earlier.output_writer,
        output_revision = coalesce(earlier.output_revision, 0),
        is_merged = coalesce(earlier.is_merged, false)
    FROM earlier
    WHERE ledger.date = :date AND ledger.region = :region
      AND ledger.status = ANY(:sources) AND ledger.output_writer = :campaign_id
    RETURNING ledger.*
), event AS (
    INSERT INTO partition_event
        (date, region, kind, workload, run_id, campaign_id, attempt, seconds, rows, detail)
    SELECT date, region, 'rolled_back', workload, run_id, campaign_id, attempt,
           CAST(:seconds AS double precision), coalesce(output_rows, 0), :detail
    FROM moved
)
SELECT attempt FROM moved;

-- name: summarize_superseded()^
-- Rows that were kept of late are found without a look at all of them.
SELECT brin_summarize_new_values('daily_demand_superseded_by_partition') AS ranges;

-- name: accept_campaign(campaign_id, accepted_by, reason)^
-- Again only where the campaign has written since it was accepted.
WITH latest AS (
    SELECT max(superseded_at) AS at FROM superseded_partition WHERE campaign_id = :campaign_id
), accepted AS (
    INSERT INTO campaign_acceptance AS known (campaign_id, accepted_at, accepted_by, reason)
    SELECT :campaign_id, clock_timestamp(), :accepted_by, :reason FROM latest
    WHERE latest.at IS NOT NULL
    ON CONFLICT (campaign_id) DO UPDATE SET
        accepted_at = excluded.accepted_at, accepted_by = excluded.accepted_by,
        reason = excluded.reason
    WHERE known.accepted_at < (SELECT at FROM latest)
    RETURNING accepted_at, accepted_by
)
SELECT accepted_at, accepted_by FROM accepted
UNION ALL
SELECT accepted_at, accepted_by FROM campaign_acceptance WHERE campaign_id = :campaign_id
LIMIT 1;

-- name: free_superseded(campaign_id, most_rows, most_partitions)^
-- A bounded part of what an accepted campaign has replaced; nothing when all is freed.
WITH chosen AS (
    SELECT date, region FROM superseded_partition
    WHERE campaign_id = :campaign_id
      AND superseded_at <= (
          SELECT accepted_at FROM campaign_acceptance WHERE campaign_id = :campaign_id
      )
      AND (date, region) IN (
          SELECT date, region FROM (
              SELECT date, region,
                     sum(kept_rows) OVER (ORDER BY date, region) - kept_rows AS before
              FROM superseded_partition
              WHERE campaign_id = :campaign_id
                AND superseded_at <= (
                    SELECT accepted_at FROM campaign_acceptance WHERE campaign_id = :campaign_id
                )
          ) AS summed
          WHERE before < :most_rows ORDER BY date, region LIMIT :most_partitions
      )
    FOR UPDATE
), kept AS (
    DELETE FROM daily_demand_superseded AS demand USING chosen
    WHERE demand.campaign_id = :campaign_id
      AND demand.date = chosen.date AND demand.region = chosen.region
    RETURNING 1
), gone AS (
    DELETE FROM superseded_partition AS mark USING chosen
    WHERE mark.campaign_id = :campaign_id
      AND mark.date = chosen.date AND mark.region = chosen.region
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS partitions, (SELECT count(*) FROM kept) AS rows;

-- name: free_unmarked(before, most_rows)^
-- Rows that no campaign can put back: they were kept before their partitions were recorded.
WITH gone AS (
    DELETE FROM daily_demand_superseded WHERE ctid = ANY(ARRAY(
        SELECT demand.ctid FROM daily_demand_superseded AS demand
        WHERE demand.superseded_at < :before
          AND NOT EXISTS (
              SELECT FROM superseded_partition AS mark
              WHERE mark.campaign_id = coalesce(demand.campaign_id, demand.run_id)
                AND mark.date = demand.date AND mark.region = demand.region
          )
        LIMIT :most_rows
    ))
    RETURNING 1
)
SELECT count(*) AS rows FROM gone;

-- name: lift_statement_timeout()^
SELECT set_config('statement_timeout', '0', false);

-- name: superseded_bytes()^
SELECT pg_total_relation_size('daily_demand_superseded')
       + pg_total_relation_size('superseded_partition') AS bytes;

-- name: superseded_campaigns()
SELECT campaign_id, min(workload) AS workload, count(*) AS partitions,
       count(rolled_back_at) AS rolled_back, sum(kept_rows)::bigint AS rows,
       max(superseded_at) AS last_at
FROM superseded_partition
GROUP BY campaign_id ORDER BY last_at;
