-- name: list_quarantines(campaign_id, only_open)
SELECT quarantine_id, date, region, source_digest, fault_total, fault_counts, faults, summary,
       workload, run_id, campaign_id, quarantined_at, resolved_at
FROM quarantine
WHERE (CAST(:campaign_id AS text) IS NULL OR campaign_id = :campaign_id)
  AND (resolved_at IS NULL OR NOT :only_open)
ORDER BY date, region, quarantine_id;

-- name: find_quarantine(date, region)^
-- The open one, else the one that was opened last.
SELECT quarantine_id, date, region, source_digest, fault_total, fault_counts, faults, summary,
       workload, run_id, campaign_id, quarantined_at, resolved_at
FROM quarantine
WHERE date = :date AND region = :region
ORDER BY resolved_at IS NULL DESC, quarantine_id DESC
LIMIT 1;
