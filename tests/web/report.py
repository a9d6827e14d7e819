"""Measurements that tests report at the end of a run. They are not checked, because machines differ."""

from __future__ import annotations

LINES: list[str] = []


def report(line: str) -> None:
    """Add a line to the end of the test run's output."""
    LINES.append(line)
