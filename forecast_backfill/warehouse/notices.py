"""The outbox of notices in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from forecast_backfill.core.notice import Audience, Notice, NoticeStatus
from forecast_backfill.ports.night_values import QueuedNotice
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

HOLD = timedelta(minutes=2)
"""How long a claimed notice is left to its sender; longer than any target takes to answer."""


class PostgresNotices:
    """Notices that wait to be sent, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def queue(self, notice: Notice) -> bool:
        """Whether it was new: the same subject is told once only."""
        with self._session.use() as connection:
            added: int = statements().queue_notice(
                connection,
                key=notice.key,
                kind=notice.kind,
                audience=notice.audience,
                title=notice.title.replace("\0", "␀"),
                body=notice.body.replace("\0", "␀"),
            )
        return added == 1

    def claim(self, *, now: datetime, limit: int) -> Sequence[QueuedNotice]:
        """Take notices that are due; nobody else gets them for a while."""
        with self._session.use() as connection:
            rows = list(statements().claim_notices(connection, now=now, limit=limit, hold=HOLD))
        claimed = [
            QueuedNotice(
                notice_id=row["notice_id"],
                audience=Audience(row["audience"]),
                title=row["title"],
                body=row["body"],
                attempts=row["attempts"],
            )
            for row in rows
        ]
        return sorted(claimed, key=lambda each: each.notice_id)

    def sent(self, notice: QueuedNotice) -> None:
        """It has reached its audience."""
        self._end(notice, NoticeStatus.SENT, None)

    def unaddressed(self, notice: QueuedNotice) -> None:
        """Its audience has no target; it stays readable in the table."""
        self._end(notice, NoticeStatus.UNADDRESSED, None)

    def failed(self, notice: QueuedNotice, *, reason: str, again_at: datetime | None) -> None:
        """Try again at that time; None gives it up."""
        if again_at is None:
            self._end(notice, NoticeStatus.ABANDONED, reason)
            return
        with self._session.use() as connection:
            statements().postpone_notice(
                connection, notice_id=notice.notice_id, last_error=reason, due_at=again_at
            )

    def _end(self, notice: QueuedNotice, status: NoticeStatus, error: str | None) -> None:
        with self._session.use() as connection:
            statements().end_notice(
                connection, notice_id=notice.notice_id, status=status, last_error=error
            )
