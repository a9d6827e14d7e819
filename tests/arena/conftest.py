"""Fixtures for the tests of the arena."""

from __future__ import annotations

import pytest

from tests.arena.evaluations import shorten_evaluations


@pytest.fixture
def short_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play few games: the tests are about the protocol, not about strength."""
    shorten_evaluations(monkeypatch)
