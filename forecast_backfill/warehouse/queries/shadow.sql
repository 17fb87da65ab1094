-- name: shadow_lock_written(shadow_ids)
-- Against a drop until the transaction ends; who swaps is not in the way.
SELECT shadow_id, state, definition FROM shadow
WHERE shadow_id = ANY(:shadow_ids) AND state <> 'dropped'
ORDER BY shadow_id
FOR KEY SHARE;

-- name: shadow_data_version(date, region)^
SELECT output_data_version AS data_version FROM partition_ledger
WHERE date = :date AND region = :region;

-- name: shadow_record(shadow_id, date, region, status, rows, data_version, reason, run_id)!
INSERT INTO shadow_partition AS part
    (shadow_id, date, region, status, rows, data_version, reason, run_id)
VALUES (:shadow_id, :date, :region, :status, :rows, :data_version, :reason, :run_id)
ON CONFLICT ON CONSTRAINT shadow_partition_has_one_row_a_partition DO UPDATE
SET status = excluded.status, rows = excluded.rows, data_version = excluded.data_version,
    reason = excluded.reason, run_id = excluded.run_id, written_at = excluded.written_at;

-- name: shadow_made_from(shadow_id, date, region)^
SELECT data_version FROM shadow_partition
WHERE shadow_id = :shadow_id AND date = :date AND region = :region AND status = 'equal';

-- name: shadow_hold_back(shadow_id, date, region, data_version)!
UPDATE shadow_partition SET data_version = :data_version
WHERE shadow_id = :shadow_id AND date = :date AND region = :region
  AND data_version IS DISTINCT FROM :data_version;

-- name: shadow_mark_differing(shadow_id, date, region, reason, seen, run_id)!
-- Only where nobody has written the partition since it was compared.
INSERT INTO shadow_partition AS part (shadow_id, date, region, status, rows, reason, run_id)
VALUES (:shadow_id, :date, :region, 'differs', 0, :reason, :run_id)
ON CONFLICT ON CONSTRAINT shadow_partition_has_one_row_a_partition DO UPDATE
SET status = 'differs', reason = excluded.reason
WHERE part.written_at = CAST(:seen AS timestamptz);

-- name: shadow_due(shadow_id)
-- What the shadow does not hold as the ledger has it: absent, of other rows, refused or differing.
SELECT coalesce(ledger.date, part.date) AS date, coalesce(ledger.region, part.region) AS region,
       coalesce(ledger.output_rows, 0) AS rows, ledger.status, ledger.output,
       coalesce(part.reason, CASE WHEN part.shadow_id IS NULL THEN 'it was not written yet'
                             ELSE 'the live rows are others by now' END) AS reason,
       waived.reason AS left_out
FROM partition_ledger AS ledger
FULL JOIN (SELECT * FROM shadow_partition WHERE shadow_id = :shadow_id) AS part
    USING (date, region)
LEFT JOIN shadow_left_out AS waived
    ON waived.shadow_id = :shadow_id AND waived.date = coalesce(ledger.date, part.date)
    AND waived.region = coalesce(ledger.region, part.region)
WHERE CASE WHEN coalesce(ledger.output, 'absent') = 'absent'
      THEN part.status <> 'equal' OR part.data_version IS NOT NULL
      ELSE part.status IS DISTINCT FROM 'equal'
           OR part.data_version IS DISTINCT FROM ledger.output_data_version END
ORDER BY 1, 2;

-- name: shadow_refused_nightly()
-- What readers should find of nightly's and do not: the shadow that they read has refused it.
SELECT shadow.shadow_id, shadow.state, part.date, part.region, part.reason
FROM shadow
JOIN shadow_partition AS part ON part.shadow_id = shadow.shadow_id AND part.status = 'failed'
JOIN partition_ledger AS ledger ON ledger.date = part.date AND ledger.region = part.region
WHERE shadow.state IN ('swapped', 'adopted') AND ledger.workload = 'nightly'
  AND NOT EXISTS (
      SELECT FROM shadow_left_out AS waived
      WHERE waived.shadow_id = shadow.shadow_id
        AND waived.date = part.date AND waived.region = part.region
  )
ORDER BY shadow.shadow_id, part.date, part.region;

-- name: shadow_list()
SELECT shadow.*, event.at, event.done_by, event.reason, event.step,
       (SELECT count(*) FROM shadow_partition AS part
        WHERE part.shadow_id = shadow.shadow_id AND part.status = 'equal') AS equal,
       (SELECT count(*) FROM shadow_partition AS part
        WHERE part.shadow_id = shadow.shadow_id AND part.status <> 'equal') AS troubled
FROM shadow
JOIN LATERAL (
    SELECT * FROM shadow_event AS each WHERE each.shadow_id = shadow.shadow_id
    ORDER BY event_id DESC LIMIT 1
) AS event ON true
ORDER BY shadow_id;

-- name: shadow_lock(shadow_id)^
SELECT state, earlier FROM shadow WHERE shadow_id = :shadow_id FOR NO KEY UPDATE;

-- name: shadow_lock_for_drop(shadow_id)^
-- Waits until whoever is writing it has committed.
SELECT state, earlier FROM shadow WHERE shadow_id = :shadow_id FOR UPDATE;

-- name: shadow_insert(definition)^
INSERT INTO shadow (shadow_id, state, definition)
SELECT coalesce(max(shadow_id), 0) + 1, 'building', :definition FROM shadow
RETURNING shadow_id;

-- name: shadow_move(shadow_id, state, sources, earlier)!
UPDATE shadow SET state = :state, earlier = coalesce(:earlier, earlier),
                  changed_at = clock_timestamp()
WHERE shadow_id = :shadow_id AND state = ANY(:sources);

-- name: shadow_adopted()^
SELECT max(shadow_id) AS shadow_id FROM shadow WHERE state = 'adopted';

-- name: shadow_note(shadow_id, step, done_by, reason, detail)!
INSERT INTO shadow_event (shadow_id, step, state, done_by, reason, detail)
SELECT shadow_id, :step, state, :done_by, :reason, :detail FROM shadow WHERE shadow_id = :shadow_id;

-- name: shadow_leave_out(shadow_id, date, region, reason, left_out_by)!
INSERT INTO shadow_left_out (shadow_id, date, region, reason, left_out_by)
VALUES (:shadow_id, :date, :region, :reason, :left_out_by)
ON CONFLICT ON CONSTRAINT shadow_left_out_has_one_row_a_partition DO UPDATE
SET reason = excluded.reason, left_out_by = excluded.left_out_by,
    left_out_at = excluded.left_out_at;

-- name: shadow_forget(shadow_id)!
DELETE FROM shadow_partition WHERE shadow_id = :shadow_id;

-- name: shadow_dates()
SELECT date FROM daily_demand UNION SELECT date FROM partition_ledger WHERE output <> 'absent'
UNION SELECT date FROM shadow_partition
ORDER BY date;

-- name: shadow_regions_of(day)
SELECT region FROM daily_demand WHERE date = :day UNION
SELECT region FROM shadow_partition WHERE date = :day
ORDER BY region;

-- name: shadow_readers(views)
-- Who holds any of them now, those who have held it longest first.
SELECT DISTINCT activity.pid, activity.usename, activity.application_name,
       extract(epoch FROM clock_timestamp() - activity.xact_start)::float8 AS seconds
FROM pg_locks AS lock
JOIN pg_stat_activity AS activity USING (pid)
WHERE lock.relation = ANY(ARRAY(SELECT to_regclass(name) FROM unnest(CAST(:views AS text[])) AS name))
  AND lock.granted AND activity.pid <> pg_backend_pid()
ORDER BY seconds DESC NULLS LAST
LIMIT 3;

-- name: shadow_definition(shadow_id)^
SELECT definition FROM shadow WHERE shadow_id = :shadow_id;

-- name: shadow_seen(shadow_id, date, region)^
SELECT (SELECT written_at FROM shadow_partition
        WHERE shadow_id = :shadow_id AND date = :date AND region = :region) AS seen,
       (SELECT reason FROM shadow_left_out
        WHERE shadow_id = :shadow_id AND date = :date AND region = :region) AS left_out;
