-- name: leaf_table()^
SELECT (SELECT pg_get_partkeydef(oid) FROM pg_class
        WHERE oid = to_regclass('daily_demand') AND relkind = 'p') AS partition_key;

-- name: leaf_has_rows()^
SELECT EXISTS (SELECT FROM daily_demand) AS has_rows;

-- name: leaf_exists(name)^
SELECT EXISTS (
    SELECT FROM pg_class
    WHERE relname = :name AND relnamespace = 'forecast_backfill'::regnamespace
) AS is_there;

-- name: leaf_views()
SELECT DISTINCT (SELECT nspname FROM pg_namespace WHERE oid = view.relnamespace) AS schema,
       view.relname AS name,
       coalesce('WITH (' || array_to_string(view.reloptions, ', ') || ')', '') AS options,
       pg_get_viewdef(view.oid) AS definition, obj_description(view.oid, 'pg_class') AS comment,
       pg_get_userbyid(view.relowner) AS owner
FROM pg_depend AS dependence
JOIN pg_rewrite AS rule ON rule.oid = dependence.objid
JOIN pg_class AS view ON view.oid = rule.ev_class AND view.relkind = 'v'
WHERE dependence.classid = 'pg_rewrite'::regclass
  AND dependence.refobjid = to_regclass('daily_demand');

-- name: leaf_make#
CREATE TABLE daily_demand_in_leaves (
    LIKE daily_demand INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS
) PARTITION BY LIST (date);
DROP TABLE daily_demand;
ALTER TABLE daily_demand_in_leaves RENAME TO daily_demand;
ALTER TABLE daily_demand ADD CONSTRAINT daily_demand_is_unique_by_grain
    PRIMARY KEY (date, region, store_id, product_id);
COMMENT ON TABLE daily_demand IS
    'Demand of one product in one store on one business date; a partition is one (date, region).';
COMMENT ON CONSTRAINT daily_demand_is_unique_by_grain ON daily_demand IS
    'A partition cannot be doubled, whatever a writer does.';

-- name: leaf_lock_timeout()^
SELECT current_setting('lock_timeout') AS value;

-- name: leaf_set_lock_timeout(value)^
SELECT set_config('lock_timeout', :value, true);
