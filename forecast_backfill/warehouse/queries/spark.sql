-- name: try_share(share_class, number)^
SELECT pg_try_advisory_lock(:share_class, :number) AS is_taken;

-- name: release_share(share_class, number)^
SELECT pg_advisory_unlock(:share_class, :number) AS is_released;
