-- name: find_partition(date, region)^
SELECT status, output, attempt,
       output_source_digest, output_code_version, output_dimension_version,
       output_rows, output_checksum, output_units, output_revenue_cents,
       output_stores, output_products, output_authority, is_merged,
       EXISTS (
           SELECT FROM shadow
           LEFT JOIN shadow_partition AS part ON part.shadow_id = shadow.shadow_id
               AND part.date = :date AND part.region = :region
           WHERE shadow.state <> 'dropped' AND output <> 'absent'
             AND NOT (shadow.state IN ('swapped', 'adopted')
                      AND shadow.definition ->> 'follows' = 'nightly')
             AND (part.status IS DISTINCT FROM 'equal'
                  OR part.data_version IS DISTINCT FROM output_data_version)
       ) AS is_shadow_due
FROM partition_ledger
WHERE date = :date AND region = :region;

-- name: start_partition(date, region, workload, run_id, campaign_id, epoch, sources)^
-- The commit does not wait for the disk: a start that a crash of the server forgets is only tried
-- again. The commit of rows waits, and what waits takes all earlier commits to the disk with it.
WITH moved AS (
    INSERT INTO partition_ledger AS ledger
        (date, region, status, attempt, workload, run_id, campaign_id, epoch, started_at)
    VALUES (:date, :region, 'running', 1, :workload, :run_id, :campaign_id, :epoch,
            clock_timestamp())
    ON CONFLICT (date, region) DO UPDATE SET
        status = 'running', attempt = ledger.attempt + 1, workload = excluded.workload,
        run_id = excluded.run_id, campaign_id = excluded.campaign_id, epoch = excluded.epoch,
        started_at = excluded.started_at, finished_at = NULL, reason = NULL
    WHERE ledger.status = ANY(:sources)
    RETURNING *
), event AS (
    INSERT INTO partition_event (date, region, kind, workload, run_id, campaign_id, attempt)
    SELECT date, region, 'started', workload, run_id, campaign_id, attempt FROM moved
)
SELECT status, output, attempt,
       output_source_digest, output_code_version, output_dimension_version,
       output_rows, output_checksum, output_units, output_revenue_cents,
       output_stores, output_products, output_authority, is_merged,
       set_config('synchronous_commit', 'off', true)
FROM moved;

-- name: add_event(date, region, kind, workload, run_id, campaign_id, detail)^
-- Does not wait for the disk: an event without a change of state may be lost with the server.
WITH event AS (
    INSERT INTO partition_event (date, region, kind, workload, run_id, campaign_id, detail)
    VALUES (:date, :region, :kind, :workload, :run_id, :campaign_id, :detail)
    RETURNING event_id
)
SELECT event_id, set_config('synchronous_commit', 'off', true) FROM event;

-- name: end_partition(date, region, kind, status, run_id, sources, reason, seconds, detail)^
WITH moved AS (
    UPDATE partition_ledger
    SET status = :status,
        output = CASE output WHEN 'absent' THEN 'absent' ELSE 'stale' END,
        finished_at = clock_timestamp(),
        reason = :reason
    WHERE date = :date AND region = :region
      AND status = ANY(:sources) AND run_id = :run_id
    RETURNING *
), event AS (
    INSERT INTO partition_event
        (date, region, kind, workload, run_id, campaign_id, attempt, seconds, detail)
    SELECT date, region, :kind, workload, run_id, campaign_id, attempt,
           CAST(:seconds AS double precision), :detail
    FROM moved
)
SELECT attempt FROM moved;

-- name: open_quarantine(date, region, source_digest, fault_total, fault_counts, faults, summary, workload, run_id, campaign_id)!
INSERT INTO quarantine
    (date, region, source_digest, fault_total, fault_counts, faults, summary, workload, run_id,
     campaign_id, quarantined_at)
VALUES
    (:date, :region, :source_digest, :fault_total, :fault_counts, :faults, :summary, :workload,
     :run_id, :campaign_id, clock_timestamp())
ON CONFLICT (date, region) WHERE resolved_at IS NULL DO UPDATE SET
    source_digest = excluded.source_digest,
    fault_total = excluded.fault_total,
    fault_counts = excluded.fault_counts,
    faults = excluded.faults,
    summary = excluded.summary,
    workload = excluded.workload,
    run_id = excluded.run_id,
    campaign_id = excluded.campaign_id,
    quarantined_at = excluded.quarantined_at;

-- name: complete_partition(date, region, run_id, sources, source_digest, code_version, dimension_version, rows, checksum, units, revenue_cents, stores, products, data_version, authority, source_version, lines, exclusions, seconds, detail)^
WITH moved AS (
    UPDATE partition_ledger
    SET status = 'done', output = 'current', finished_at = clock_timestamp(), reason = NULL,
        output_source_digest = :source_digest,
        output_code_version = :code_version,
        output_dimension_version = :dimension_version,
        output_rows = :rows,
        output_checksum = :checksum,
        output_units = :units,
        output_revenue_cents = :revenue_cents,
        output_stores = :stores,
        output_products = :products,
        output_data_version = :data_version,
        output_authority = :authority,
        output_source_version = :source_version,
        output_written_at = clock_timestamp(),
        output_lines = :lines,
        output_exclusions = :exclusions,
        output_writer = coalesce(campaign_id, run_id),
        output_revision = 0,
        is_merged = false
    WHERE date = :date AND region = :region
      AND status = ANY(:sources) AND run_id = :run_id
    RETURNING *
), closed AS (
    UPDATE quarantine SET resolved_at = clock_timestamp()
    WHERE date = :date AND region = :region AND resolved_at IS NULL
      AND EXISTS (SELECT FROM moved)
), event AS (
    INSERT INTO partition_event
        (date, region, kind, workload, run_id, campaign_id, attempt, seconds, rows, detail)
    SELECT date, region, 'written', workload, run_id, campaign_id, attempt,
           CAST(:seconds AS double precision), output_rows, :detail
    FROM moved
)
SELECT attempt FROM moved;
