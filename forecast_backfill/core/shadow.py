"""A shadow, a new version of `daily_demand` beside the live one: its states and its declaration."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from forecast_backfill.core.errors import ShadowRefused


class ShadowState(StrEnum):
    """Where a shadow is on its way to the readers, and from them."""

    BUILDING = "building"
    VALIDATED = "validated"
    SWAPPED = "swapped"
    REVERTED = "reverted"
    ADOPTED = "adopted"
    RETIRED = "retired"
    DROPPED = "dropped"


S = ShadowState
TRANSITIONS: dict[tuple[ShadowState | None, ShadowState], str] = {
    (None, S.BUILDING): "its table was made; from now on every writer writes both",
    (S.BUILDING, S.VALIDATED): "every partition is there and equal by the mapping, or left out",
    (S.REVERTED, S.VALIDATED): "it was validated again after a revert",
    (S.VALIDATED, S.VALIDATED): "it was validated again",
    (S.VALIDATED, S.BUILDING): "a later validation found a difference",
    (S.VALIDATED, S.SWAPPED): "readers read it; the earlier version is kept and still written",
    (S.SWAPPED, S.REVERTED): "readers read the earlier version again",
    (S.SWAPPED, S.ADOPTED): "the earlier version was dropped; there is no way back",
    (S.ADOPTED, S.RETIRED): "readers read a later shadow, and may come back",
    (S.RETIRED, S.ADOPTED): "the later shadow was reverted",
    (S.BUILDING, S.DROPPED): "it was given up",
    (S.VALIDATED, S.DROPPED): "it was given up",
    (S.REVERTED, S.DROPPED): "it was given up",
    (S.RETIRED, S.DROPPED): "the later shadow was adopted",
}
"""(from, to) → the reason for the arrow; None stands for a shadow that is not there yet."""

READ = frozenset({S.SWAPPED, S.ADOPTED})
"""The states in which readers read the shadow."""

OPEN = frozenset({S.BUILDING, S.VALIDATED, S.SWAPPED, S.REVERTED})
"""The states in which it is under way: at most one shadow is in one of them."""


def sources_of(target: ShadowState) -> tuple[ShadowState, ...]:
    """The states from which a shadow may move to `target`."""
    return tuple(a for a, b in TRANSITIONS if b is target and a is not None)


KEY = {"date": "date", "region": "text", "store_id": "text", "product_id": "text"}
"""The columns that identify a row in either version, with their types."""

TYPES = (
    "smallint", "integer", "bigint", "numeric", "text", "varchar", "boolean", "date", "timestamptz",
    "uuid", "jsonb",
)  # fmt: skip
"""What a column may be. Floats are not: their sums and texts depend on how they were added up."""

MAX_COLUMNS = 200
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_TYPE = re.compile(r"([a-z]+)(?: ?\((\d{1,4})(?:, ?(\d{1,4}))?\))?")
_RESERVED = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_FOREIGN = re.compile(r"""[;$"\0]|--|/\*|[eE&]'""")
_SUBQUERY = re.compile(r"\b(select|with|values|table)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowColumn:
    """A column of the shadow.

    `expression` is SQL over the columns of one live row, written by the operator and trusted as
    such; None where the column has none and stays empty.
    """

    name: str
    type: str
    expression: str | None
    is_required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowDefinition:
    """The columns of a shadow in their order, those of the key first.

    `is_held`: once readers read it, only nightly's writes come into it. A campaign then rebuilds
    the live table unseen, and a revert lets readers go over to all of it at once.
    """

    columns: tuple[ShadowColumn, ...]
    is_held: bool = False

    def as_fields(self) -> dict[str, object]:
        """As it was declared, for storing; `judge_definition` reads it again."""
        return {
            "follows": "nightly" if self.is_held else "all",
            "columns": {
                each.name: {
                    "type": each.type,
                    "not_null": each.is_required,
                    **({} if each.expression is None else {"from": each.expression}),
                }
                for each in self.columns
            },
        }


LIVE_COLUMNS = KEY | {
    "demand_group": "text",
    "units": "bigint",
    "revenue_cents": "bigint",
    "discount_cents": "bigint",
    "baskets": "bigint",
    "list_price_cents": "bigint",
    "on_display": "boolean",
    "on_mailer": "boolean",
    "authority": "smallint",
    "source_version": "bigint",
    "row_hash": "bigint",
}
_MAY_BE_MISSING = frozenset({"list_price_cents", "on_display", "on_mailer"})


def held_definition() -> ShadowDefinition:
    """The live columns as they are, held for readers while a campaign rebuilds in place."""
    return ShadowDefinition(
        columns=tuple(
            ShadowColumn(
                name=name, type=kind, expression=name, is_required=name not in _MAY_BE_MISSING
            )
            for name, kind in LIVE_COLUMNS.items()
        ),
        is_held=True,
    )


def read_definition(text: str) -> ShadowDefinition:
    """The declaration in a TOML file. Raises ShadowRefused with all that is wrong with it."""
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refused([f"it is no TOML: {error}"]) from error
    return judge_definition(fields)


def judge_definition(fields: Mapping[str, object]) -> ShadowDefinition:
    """The declaration from its fields. Raises ShadowRefused with all that is wrong with it."""
    columns = fields.get("columns")
    if not isinstance(columns, Mapping):
        raise _refused(["it has no [columns.NAME] tables"])
    named = cast("Mapping[str, object]", columns)
    unknown = sorted(set(fields) - {"columns", "follows"})
    faults = [f"{name} is no part of a definition" for name in unknown]
    follows = fields.get("follows", "all")
    if follows not in ("all", "nightly"):
        faults.append(f"follows is neither all nor nightly, but {follows!r}")
    faults += [f"the key column {name} is missing" for name in KEY if name not in named]
    if len(named) > MAX_COLUMNS:
        faults.append(f"{len(named)} columns are more than {MAX_COLUMNS}")
    ordered = [*(name for name in KEY if name in named), *(n for n in named if n not in KEY)]
    found = {name: _column(name, named[name], faults) for name in ordered}
    if faults:
        raise _refused(faults)
    return ShadowDefinition(
        columns=tuple(each for each in found.values() if each is not None),
        is_held=follows == "nightly",
    )


def _column(name: str, value: object, faults: list[str]) -> ShadowColumn | None:
    before = len(faults)
    if not _NAME.fullmatch(name) or name in _RESERVED:
        faults.append(f"{name!r} is no name: small letters, digits and _, at most 63, not a "
                      "system column's")  # fmt: skip
        return None
    if not isinstance(value, Mapping):
        faults.append(f"{name} is no table with type, from and not_null")
        return None
    fields = cast("Mapping[str, object]", value)
    faults.extend(_faults_of(name, fields))
    if len(faults) > before:
        return None
    expression = cast("str | None", fields.get("from", name if name in KEY else None))
    return ShadowColumn(
        name=name,
        type=str(fields["type"]).strip().lower(),
        expression=None if expression is None else expression.strip(),
        is_required=name in KEY or fields.get("not_null") is True,
    )


def _faults_of(name: str, fields: Mapping[str, object]) -> Iterator[str]:
    for word in sorted(set(fields) - {"type", "from", "not_null"}):
        yield f"{name}.{word} is no part of a column: type, from, not_null"
    if not isinstance(fields.get("not_null", False), bool):
        yield f"{name}.not_null is neither true nor false"
    yield from _type_faults(name, fields.get("type"))
    expression = fields.get("from")
    if expression is not None:
        yield from _expression_faults(name, expression)
    if name in KEY:
        if expression not in (None, name):
            yield f"{name} belongs to the key and is taken as it is: leave out its from"
        if fields.get("type") != KEY[name]:
            yield f"{name} belongs to the key: its type is {KEY[name]}"
    elif expression is None and fields.get("not_null") is True:
        yield f"{name} is NOT NULL and has no expression (from) to fill it"


def _type_faults(name: str, declared: object) -> Iterator[str]:
    found = _TYPE.fullmatch(declared.strip().lower()) if isinstance(declared, str) else None
    if found is None or found[1] not in TYPES:
        yield f"{name} has the unknown type {declared!r}: {', '.join(TYPES)}"
        return
    allowed = {"numeric": 2, "varchar": 1}.get(found[1], 0)
    given = sum(each is not None for each in found.groups()[1:])
    if given > allowed:
        yield f"{name}: {found[1]} takes {allowed or 'no'} numbers in brackets"


def _expression_faults(name: str, expression: object) -> Iterator[str]:
    if not isinstance(expression, str) or not expression.strip():
        yield f"{name}.from is no SQL expression"
        return
    bare = _QUOTED.sub("''", expression)
    if _FOREIGN.search(bare) or "\0" in expression:
        yield (f"{name}.from is one plain expression: no semicolon, comment, dollar, double quote "
               "or escape string")  # fmt: skip
    if _SUBQUERY.search(bare):
        yield f"{name}.from reads one live row: no subquery"
    if not _is_balanced(bare):
        yield f"{name}.from has brackets without their other half"


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def _refused(faults: list[str]) -> ShadowRefused:
    return ShadowRefused(
        "the definition of the shadow was refused",
        why="; ".join(faults),
        next_command="correct the file, then forecast-backfill shadow start --definition FILE …",
    )
