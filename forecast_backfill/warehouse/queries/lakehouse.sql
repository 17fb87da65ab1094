-- name: newest_in_lakehouse(code_suffix, count)
-- What was written to the lakehouse last: a table that has none of it is another table.
SELECT date, region
FROM partition_ledger
WHERE output <> 'absent' AND right(output_code_version, length(:code_suffix)) = :code_suffix
ORDER BY output_written_at DESC, date, region
LIMIT :count;
