-- name: risk_fences()
-- What holds off a race of two writers, or a clobber of fresher rows: whether it is there, valid and
-- switched on.
SELECT fence.risk, fence.name, EXISTS (
    SELECT FROM pg_constraint AS found
    WHERE found.conname = fence.name AND found.convalidated
      AND found.conrelid = to_regclass(fence.on_table)
) OR EXISTS (
    SELECT FROM pg_trigger AS found
    WHERE found.tgname = fence.name AND found.tgenabled <> 'D'
      AND found.tgrelid = to_regclass(fence.on_table)
) AS is_there
FROM (VALUES
    ('race', 'daily_demand_is_unique_by_grain', 'daily_demand'),
    ('race', 'partition_ledger_has_one_row_a_partition', 'partition_ledger'),
    ('race', 'workload_control_has_one_row_a_workload', 'workload_control'),
    ('race', 'partition_event_is_append_only', 'partition_event'),
    ('clobber', 'daily_demand_authority_is_known', 'daily_demand'),
    ('clobber', 'partition_claim_has_a_version', 'partition_claim')
) AS fence (risk, name, on_table);

-- name: risk_facts(code_version)^
-- A proof is of the present code where the partition was last written by it, and before the proof.
SELECT control.epoch, pace.level AS pace,
       (SELECT count(*) FROM partition_ledger WHERE is_merged) AS overlap_writes,
       proof.proofs, proof.differing, proof.last_at
FROM workload_control AS control
LEFT JOIN workload_pace AS pace USING (workload)
CROSS JOIN (
    SELECT count(*) AS proofs, count(*) FILTER (WHERE NOT proof.is_same) AS differing,
           max(proof.at) AS last_at
    FROM recompute_proof AS proof
    JOIN partition_ledger AS ledger USING (date, region)
    WHERE ledger.output_code_version = :code_version AND proof.at >= ledger.output_written_at
) AS proof
WHERE control.workload = 'backfill';
