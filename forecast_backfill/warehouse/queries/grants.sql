-- name: grants_of(relation, columns_of)
-- What others than its owner may do with a relation; a column counts where `columns_of` has it too.
SELECT CASE WHEN given.grantee <> 0 THEN pg_get_userbyid(given.grantee) END AS grantee,
       given.privilege_type AS privilege, given.is_grantable, given.column_name AS column
FROM (
    SELECT relowner, NULL AS column_name, acl.*
    FROM pg_class, aclexplode(relacl) AS acl
    WHERE oid = to_regclass(:relation)
    UNION ALL
    SELECT relowner, attname::text, acl.*
    FROM pg_class JOIN pg_attribute ON attrelid = oid AND NOT attisdropped,
         aclexplode(attacl) AS acl
    WHERE oid = to_regclass(:relation) AND attname IN (
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass(:columns_of) AND NOT attisdropped
    )
) AS given
WHERE given.grantee <> given.relowner
ORDER BY 4 NULLS FIRST, 1, 2;
