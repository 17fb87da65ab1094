"""Headless Chromium: the text that a page shows once it has settled."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1200",
)
SETTLED_MILLISECONDS = 20_000


def chromium() -> str | None:
    """The browser, or None where this machine has none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def visit(url: str, *, screenshot: Path | None = None) -> str:
    """The document of `url` as HTML after its scripts have run; a picture of it where asked."""
    browser = chromium()
    assert browser is not None
    asked = ["--dump-dom"] if screenshot is None else [f"--screenshot={screenshot}"]
    with tempfile.TemporaryDirectory() as profile:
        shown = subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={profile}",
                f"--virtual-time-budget={SETTLED_MILLISECONDS}",
                *asked,
                url,
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    return shown.stdout


def text_of(document: str) -> str:
    """The words of an HTML document in their order, with single spaces between them."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", document, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
