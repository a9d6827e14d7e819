"""Random legal play in other libraries, each as its users would run it fast: observation and mask at every step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from speed.aec import aec_player
from speed.rounds import Play

PGX_BATCH = 1024


def pettingzoo_game(name: str, checked: bool) -> Play:
    import importlib

    module = importlib.import_module(f"pettingzoo.classic.{name}")
    return aec_player(module.env() if checked else module.raw_env())


def rlcard_game(name: str) -> Play:
    import rlcard

    env = rlcard.make(name)
    state, _ = env.reset()

    def play() -> int:
        nonlocal state
        for _ in range(500):
            if env.is_over():
                state, _ = env.reset()
            state["obs"]
            state, _ = env.step(random.choice(list(state["legal_actions"])))
        return 500

    return play


def open_spiel_game(name: str) -> Play:
    import pyspiel

    game = pyspiel.load_game(name)
    state = game.new_initial_state()

    def play() -> int:
        nonlocal state
        steps = 0
        while steps < 500:
            if state.is_terminal():
                state = game.new_initial_state()
            elif state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(outcomes, chances)[0])
            else:
                np.asarray(state.observation_tensor(state.current_player()), np.float32)
                state.legal_actions_mask()
                state.apply_action(random.choice(state.legal_actions()))
                steps += 1
        return steps

    return play


def pgx_game(name: str, steps: int = 100) -> Play:
    """A whole stretch of steps in one compiled call: the fastest way there is."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    advance = jax.vmap(auto_reset(env.step, env.init))

    def one_step(carry: Any, key: Any) -> Any:
        state, seen = carry
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        key, other = jax.random.split(key)
        actions = jax.random.categorical(key, logits, axis=-1)
        state = advance(state, actions, jax.random.split(other, PGX_BATCH))
        return (state, seen + state.observation.sum()), None  # so that no observation is optimised away

    @jax.jit
    def stretch(state: Any, key: Any) -> Any:
        keys = jax.random.split(key, steps)
        return jax.lax.scan(one_step, (state, 0.0), keys)[0]

    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), PGX_BATCH))
    key = jax.random.PRNGKey(1)

    def play() -> int:
        nonlocal state, key
        key, now = jax.random.split(key)
        state, seen = stretch(state, now)
        jax.block_until_ready(seen)
        return steps * PGX_BATCH

    return play
