"""Workloads of other libraries: random legal play with observation and mask, as fast as each library usually runs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from speed.aec import make_aec_workload
from speed.rounds import Workload

PGX_BATCH = 1024


def make_pettingzoo_workload(name: str, checked: bool) -> Workload:
    """Return a workload of one of PettingZoo's classic games; `checked` adds the stock wrappers."""
    import importlib

    module = importlib.import_module(f"pettingzoo.classic.{name}")
    return make_aec_workload(module.env() if checked else module.raw_env())


def make_rlcard_workload(name: str) -> Workload:
    """Return a workload of a game of RLCard."""
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


def make_openspiel_workload(name: str) -> Workload:
    """Return a workload of a game of OpenSpiel."""
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
                outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(outcomes, probabilities)[0])
            else:
                np.asarray(state.observation_tensor(state.current_player()), np.float32)
                state.legal_actions_mask()
                state.apply_action(random.choice(state.legal_actions()))
                steps += 1
        return steps

    return play


def make_pgx_workload(name: str, steps: int = 100) -> Workload:
    """Return a workload of a batch of games of pgx; all steps are one compiled call, which is the fastest way."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    advance = jax.vmap(auto_reset(env.step, env.init))

    def one_step(carry: Any, key: Any) -> Any:
        state, checksum = carry
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        key, other = jax.random.split(key)
        actions = jax.random.categorical(key, logits, axis=-1)
        state = advance(state, actions, jax.random.split(other, PGX_BATCH))
        return (state, checksum + state.observation.sum()), None  # keeps the compiler from removing observations

    @jax.jit
    def play_steps(state: Any, key: Any) -> Any:
        keys = jax.random.split(key, steps)
        return jax.lax.scan(one_step, (state, 0.0), keys)[0]

    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), PGX_BATCH))
    key = jax.random.PRNGKey(1)

    def play() -> int:
        nonlocal state, key
        key, now = jax.random.split(key)
        state, checksum = play_steps(state, now)
        jax.block_until_ready(checksum)
        return steps * PGX_BATCH

    return play
