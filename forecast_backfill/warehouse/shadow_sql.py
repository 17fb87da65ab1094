"""The statements of a shadow that depend on its declaration, composed of checked parts."""

from __future__ import annotations

from psycopg import sql

from forecast_backfill.core.shadow import KEY, ShadowColumn, ShadowDefinition

LIVE = sql.Identifier("daily_demand")
READERS = "daily_demand_for_readers"
PLACE = sql.SQL("date = %(date)s AND region = %(region)s")
_STORAGE = (
    "autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 20000, "
    "autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05"
)


def table_name(shadow_id: int) -> str:
    """The table of a shadow."""
    return f"daily_demand_shadow_{shadow_id}"


def version_name(shadow_id: int) -> str:
    """The view of a version while it is not the one that is read; 0 is daily_demand."""
    return f"daily_demand_version_{shadow_id}"


def table_of(shadow_id: int) -> sql.Identifier:
    """The table of a shadow, quoted."""
    return sql.Identifier(table_name(shadow_id))


def create_table(shadow_id: int, definition: ShadowDefinition) -> sql.Composed:
    """Make the table, its key, and the view of its version."""
    columns = sql.SQL(", ").join(_declared(each) for each in definition.columns)
    key = sql.SQL(", ").join(map(sql.Identifier, KEY))
    parts = {
        "table": table_of(shadow_id),
        "view": sql.Identifier(version_name(shadow_id)),
        "unique": sql.Identifier(f"{table_name(shadow_id)}_is_unique_by_grain"),
        "columns": columns,
        "names": names_of(definition),
        "key": key,
        "storage": sql.SQL(_STORAGE),
    }
    return sql.SQL(
        "CREATE TABLE {table} ({columns}, CONSTRAINT {unique} PRIMARY KEY ({key}))"
        " WITH ({storage});"
        "COMMENT ON TABLE {table} IS 'A version of daily_demand; see the table shadow.';"
        "COMMENT ON CONSTRAINT {unique} ON {table} IS 'A partition cannot be doubled.';"
        "CREATE VIEW {view} AS SELECT {names} FROM {table};"
        "COMMENT ON VIEW {view} IS 'The version under its own name while readers read another.'"
    ).format(**parts)


def _declared(column: ShadowColumn) -> sql.Composed:
    return sql.SQL("{} {}{}{}").format(
        sql.Identifier(column.name),
        sql.SQL(column.type),
        sql.SQL(' COLLATE "C"' if column.type.startswith(("text", "varchar")) else ""),
        sql.SQL(" NOT NULL" if column.is_required else ""),
    )


def names_of(definition: ShadowDefinition) -> sql.Composed:
    """The columns by name."""
    return sql.SQL(", ").join(sql.Identifier(each.name) for each in definition.columns)


def probe(column: ShadowColumn) -> sql.Composed:
    """Plans the column's expression where neither aggregate nor window nor set may stand."""
    return sql.SQL("EXPLAIN SELECT FROM {} WHERE {} AND {} IS NOT NULL").format(
        LIVE, PLACE, _mapped(column)
    )


def probe_all(shadow_id: int, definition: ShadowDefinition) -> sql.Composed:
    """Plans what fills a partition."""
    return sql.SQL("EXPLAIN {}").format(_insert(shadow_id, definition, LIVE))


def fill(shadow_id: int, definition: ShadowDefinition, source: sql.Identifier) -> sql.Composed:
    """Write a partition by the mapping; rows and sum of hashes, as stored and as the mapping says.

    What is counted as stored is what the table took, after its own types.
    """
    written, mapped = (hash_of(definition), mapped_row(definition))
    return sql.SQL(
        "WITH written AS ({} RETURNING {}), mapped AS (SELECT {} FROM {} WHERE {}) "
        "SELECT stored.rows, stored.checksum, live.rows AS live_rows, "
        "live.checksum AS live_checksum FROM "
        "(SELECT count(*) AS rows, coalesce(sum({}), 0) AS checksum FROM written) AS stored, "
        "(SELECT count(*) AS rows, coalesce(sum({}), 0) AS checksum FROM mapped) AS live"
    ).format(
        _insert(shadow_id, definition, source),
        names_of(definition),
        mapped,
        source,
        PLACE,
        written,
        written,
    )


def _insert(shadow_id: int, definition: ShadowDefinition, source: sql.Identifier) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {}").format(
        table_of(shadow_id),
        names_of(definition),
        sql.SQL(", ").join(_expression(each) for each in definition.columns),
        source,
        PLACE,
    )


def delete(shadow_id: int) -> sql.Composed:
    """Delete a partition of the shadow."""
    return sql.SQL("DELETE FROM {} WHERE {}").format(table_of(shadow_id), PLACE)


def compare(
    shadow_id: int,
    definition: ShadowDefinition,
    *,
    by_region: bool,
    source: sql.Identifier = LIVE,
) -> sql.Composed:
    """Both sides of every partition of a date, or of one region of it, in one statement."""
    place = PLACE if by_region else sql.SQL("date = %(date)s")
    side = (
        "SELECT region, count(*) AS rows, sum({hash}) AS checksum FROM "
        "(SELECT {columns} FROM {table} WHERE {place}) AS side GROUP BY region"
    )
    parts = {"hash": hash_of(definition), "place": place}
    live = sql.SQL(side).format(columns=mapped_row(definition), table=source, **parts)
    shadow = sql.SQL(side).format(columns=names_of(definition), table=table_of(shadow_id), **parts)
    return sql.SQL(
        "WITH live AS ({}), shadow AS ({}), part AS (SELECT region, written_at FROM "
        "shadow_partition WHERE shadow_id = %(shadow_id)s AND {place}) "
        "SELECT region, coalesce(live.rows, 0) AS live_rows, "
        "coalesce(live.checksum, 0) AS live_checksum, coalesce(shadow.rows, 0) AS rows, "
        "coalesce(shadow.checksum, 0) AS checksum, part.written_at AS seen, "
        "(SELECT reason FROM shadow_left_out AS waived WHERE waived.shadow_id = %(shadow_id)s "
        "AND waived.date = %(date)s AND waived.region = both_sides.region) AS left_out "
        "FROM (SELECT region FROM live UNION SELECT region FROM shadow "
        "UNION SELECT region FROM part) AS both_sides "
        "LEFT JOIN live USING (region) LEFT JOIN shadow USING (region) "
        "LEFT JOIN part USING (region) ORDER BY region"
    ).format(live, shadow, place=place)


def hash_of(definition: ShadowDefinition) -> sql.Composed:
    """The first 60 bits of the md5 of the row's canonical text, column by column."""
    text = sql.SQL(" || ").join(
        sql.SQL("canonical_text({}::text)").format(sql.Identifier(each.name))
        for each in definition.columns
    )
    return sql.SQL("('x' || md5({}))::bit(60)::bigint").format(text)


def mapped_row(definition: ShadowDefinition) -> sql.Composed:
    """What the mapping makes of a live row, in the types of the shadow."""
    return sql.SQL(", ").join(
        sql.SQL("{} AS {}").format(_mapped(each), sql.Identifier(each.name))
        for each in definition.columns
    )


def _mapped(column: ShadowColumn) -> sql.Composed:
    return sql.SQL("CAST({} AS {})").format(_expression(column), sql.SQL(column.type))


def _expression(column: ShadowColumn) -> sql.Composed:
    if column.expression is None:
        return sql.Composed([sql.SQL("NULL")])
    # These are statements with parameters, in which a percent sign is written twice.
    text = column.expression.replace("%", "%%")
    return sql.Composed([sql.SQL("("), sql.SQL(text), sql.SQL(")")])
