-- What keeps the truth provable: rows removed as duplicates, and proofs of determinism.

CREATE TABLE duplicate_removed (
    removed_id bigint GENERATED ALWAYS AS IDENTITY,
    removed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_by text NOT NULL DEFAULT session_user,
    repair_id text NOT NULL,
    table_name text NOT NULL,
    row_content jsonb NOT NULL,
    CONSTRAINT duplicate_removed_is_numbered PRIMARY KEY (removed_id),
    CONSTRAINT duplicate_removed_keeps_a_row CHECK (jsonb_typeof(row_content) = 'object')
);
COMMENT ON TABLE duplicate_removed IS
    'Rows that repair duplicates removed, whole, by repair and table; added and never changed.';
COMMENT ON CONSTRAINT duplicate_removed_is_numbered ON duplicate_removed IS
    'Each removed row can be named.';
COMMENT ON CONSTRAINT duplicate_removed_keeps_a_row ON duplicate_removed IS
    'What is kept is a whole row, from column to value.';
CREATE INDEX duplicate_removed_by_repair ON duplicate_removed (repair_id);
CREATE TRIGGER duplicate_removed_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON duplicate_removed
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_record();
COMMENT ON TRIGGER duplicate_removed_is_append_only ON duplicate_removed IS
    'What was removed can be looked up for good.';

CREATE TABLE recompute_proof (
    proof_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    is_same boolean NOT NULL,
    rows bigint NOT NULL,
    proved_by text NOT NULL,
    reason text,
    CONSTRAINT recompute_proof_is_numbered PRIMARY KEY (proof_id),
    CONSTRAINT recompute_proof_counts_rows CHECK (rows >= 0),
    CONSTRAINT recompute_proof_difference_has_a_reason CHECK (is_same = (reason IS NULL))
);
COMMENT ON TABLE recompute_proof IS
    'Partitions that were recomputed from their sources and compared byte by byte.';
COMMENT ON CONSTRAINT recompute_proof_is_numbered ON recompute_proof IS
    'The later proof has the higher number.';
COMMENT ON CONSTRAINT recompute_proof_counts_rows ON recompute_proof IS
    'Stored rows that were compared.';
COMMENT ON CONSTRAINT recompute_proof_difference_has_a_reason ON recompute_proof IS
    'A difference is explained, and only a difference is.';
CREATE INDEX recompute_proof_by_time ON recompute_proof (at);
CREATE TRIGGER recompute_proof_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON recompute_proof
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_record();
COMMENT ON TRIGGER recompute_proof_is_append_only ON recompute_proof IS
    'A proof cannot be made up later.';
