-- name: queue_notice(key, kind, audience, title, body)!
INSERT INTO notice (key, kind, audience, title, body, due_at)
VALUES (:key, :kind, :audience, :title, :body, clock_timestamp())
ON CONFLICT (key) DO NOTHING;

-- name: claim_notices(now, limit, hold)
-- A claim is due again after a while: a sender that died does not keep the notice.
UPDATE notice SET attempts = attempts + 1, due_at = CAST(:now AS timestamptz) + :hold
WHERE notice_id IN (
    SELECT notice_id FROM notice
    WHERE status = 'pending' AND due_at <= :now
    ORDER BY notice_id LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
RETURNING notice_id, audience, title, body, attempts;

-- name: end_notice(notice_id, status, last_error)!
UPDATE notice SET status = :status, last_error = coalesce(:last_error, last_error),
    due_at = NULL, ended_at = clock_timestamp()
WHERE notice_id = :notice_id AND status = 'pending';

-- name: postpone_notice(notice_id, last_error, due_at)!
UPDATE notice SET last_error = :last_error, due_at = :due_at
WHERE notice_id = :notice_id AND status = 'pending';
