"""From the bytes of a landed file to UTF-8 text without a byte-order mark, or to faults."""

from __future__ import annotations

import codecs
import zlib

from forecast_backfill.core.source import Fault, FaultCode, FaultCollector
from forecast_backfill.ports import LandedFile

_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def unpack(file: LandedFile, faults: FaultCollector) -> bytes | None:
    """The text of the file as UTF-8 bytes; None where a fault was added."""
    content = _gunzip(file, faults) if file.name.endswith(".gz") else file.content
    if content is None:
        return None
    if not content:
        reason = "the file unpacks to nothing, not even a header"
        faults.add(Fault(code=FaultCode.FILE_ZERO_BYTES, file=file.name, reason=reason))
        return None
    if content.startswith(_WIDE_MARKS):
        _refuse_encoding(file.name, content, 0, "a UTF-16 or UTF-32 byte-order mark", faults)
        return None
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            _refuse_encoding(file.name, content, error.start, f"not UTF-8: {error.reason}", faults)
            return None
    if b"\0" in content:
        _refuse_nul(file.name, content, faults)
        return None
    return content.removeprefix(codecs.BOM_UTF8)


def line_at(content: bytes, position: int) -> int:
    """The physical line, counted from 1, of the byte at `position`."""
    return content.count(b"\n", 0, position) + 1


def _gunzip(file: LandedFile, faults: FaultCollector) -> bytes | None:
    parts: list[bytes] = []
    rest = file.content
    while rest:
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(rest))
        except zlib.error as error:
            # Zero bytes after a member are padding (tape blocks), as in gzip itself.
            if parts and not rest.strip(b"\0"):
                break
            reason = f"the gzip stream is corrupt: {error}"
            faults.add(Fault(code=FaultCode.GZIP_CORRUPT, file=file.name, reason=reason))
            return None
        if not member.eof:
            lines = sum(part.count(b"\n") for part in parts)
            reason = f"the gzip stream ends early, after {lines} whole lines"
            faults.add(Fault(code=FaultCode.GZIP_TRUNCATED, file=file.name, reason=reason))
            return None
        rest = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _refuse_encoding(
    name: str, content: bytes, position: int, why: str, faults: FaultCollector
) -> None:
    faults.add(
        Fault(
            code=FaultCode.ENCODING_UNKNOWN,
            file=name,
            line=line_at(content, position),
            value=" ".join(f"{byte:02x}" for byte in content[position : position + 4]),
            reason=f"{why} at byte {position}; UTF-8 is due",
        )
    )


def _refuse_nul(name: str, content: bytes, faults: FaultCollector) -> None:
    position = content.index(b"\0")
    faults.add(
        Fault(
            code=FaultCode.NUL_BYTE,
            file=name,
            line=line_at(content, position),
            value="00",
            reason=f"a NUL byte at byte {position}",
        ),
        also=content.count(b"\0") - 1,
    )
