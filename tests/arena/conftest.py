"""Fixtures for the tests of the arena."""

from __future__ import annotations

import pytest

from symphony9_env.arena import benchmark


@pytest.fixture
def short_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play few games: the tests are about the protocol, not about strength."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("greedy", "random"))
