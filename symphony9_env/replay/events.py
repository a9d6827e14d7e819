"""Replay a record together with the events of its moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from symphony9_env import records
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events
from symphony9_env.options import OptionValues


def replay_with_events(
    record: Mapping[str, Any], **options: Unpack[OptionValues]
) -> Iterator[tuple[RawEnv, list[Event]]]:
    """Play a record again: yield the environment and the events, first as dealt, then after each action.

    It is the same environment each time. Afterwards it keeps its event buffer, ready to be played on.
    """
    envs = records.replay(record, **options)
    env = next(envs)
    buffer = env.event_buffer = EventBuffer()
    yield env, opening_events(env.states)
    for _ in envs:
        yield env, buffer.read()
