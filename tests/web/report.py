"""Figures that the tests measure and tell at their end, without a verdict: machines differ."""

from __future__ import annotations

LINES: list[str] = []


def report(line: str) -> None:
    LINES.append(line)
