"""Properties of every game: conservation, masks, copies, rewards, spaces."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from symphony9_env.actions import NAMES
from symphony9_env.components import FURNITURE_VALUES
from symphony9_env.envs.aec import RawEnv
from symphony9_env.rules.state import game_at
from symphony9_env.views.seat import SeatView
from tests.properties.strategies import environments, moves, positions, rngs
from tests.scenarios import scores, see


def purse(view: SeatView) -> list[int]:
    return [board.money for board in sorted(view.boards, key=lambda b: b.name) if board.money is not None]


def cubes(view: SeatView) -> NDArray[np.int64]:
    """(boards, musicians), boards in the order of their names: the bot first."""
    boards = sorted(view.boards, key=lambda board: board.name)
    return np.array([np.add(board.earlier_cubes, board.new_cubes) for board in boards])


def on_tracks(view: SeatView) -> list[int]:
    return [musician.cubes_left for musician in view.musicians]


def expected_money(before: SeatView, player: int, action: str, after: SeatView) -> list[int]:
    """Everybody's money after a move, from what was public about it."""
    money = purse(before)
    if action.startswith("sell"):
        money[player] += int(action[-1])
    elif before.decision in ("buy_4", "buy_8") and action != "pass":
        money[player] -= int(before.decision[-1])
    boards = sorted((board for board in after.boards if board.name != "bot"), key=lambda board: board.name)
    success = after.outcome in ("low", "medium", "high")
    hands_opened = before.decision == "bid" and after.decision != "bid"
    if hands_opened and success:
        for seat, board in enumerate(boards):
            assert board.last_contribution is not None
            total, furniture = board.last_contribution
            money[seat] -= total - (furniture or 0)
    if income_was_paid(before, after):
        rate = {name: income for name, _, _, income in after.classes}[str(after.outcome)]
        held = cubes(before)[-len(boards) :]
        performing = [musician.name in after.performing for musician in after.musicians]
        most = max(board.last_contribution[0] for board in boards if board.last_contribution)
        for seat, board in enumerate(boards):
            money[seat] += rate * int(held[seat][performing].sum())
            assert board.last_contribution is not None
            money[seat] += 5 * (after.outcome == "medium" and board.last_contribution[0] == most)
    return money


def income_was_paid(before: SeatView, after: SeatView) -> bool:
    return after.performers > before.performers


def expected_colours(before: SeatView, action: str, after: SeatView) -> NDArray[np.int64]:
    """Cubes of each colour on tracks and boards together after a move."""
    total: NDArray[np.int64] = np.array(on_tracks(before)) + cubes(before).sum(axis=0)
    names = [musician.name for musician in before.musicians]
    if action.startswith("discard"):
        total[names.index(action.split()[1])] -= 1
    if before.decision == "buy_8" and after.decision != "buy_8":
        taken = [action == f"take {name}" for name in names]
        for old, new in zip(before.boards, after.boards, strict=True):
            held = np.add(old.earlier_cubes, old.new_cubes) + np.array(taken) * (old.name == before.to_decide)
            total -= np.subtract(new.compositions, old.compositions) * (held // 2)
    if income_was_paid(before, after):
        performing = np.array([name in after.performing for name in names])
        total -= ((cubes(before) > 0) & performing).sum(axis=0)
        kept = [board.kept for board in before.boards] + ([action.split()[1]] if action.startswith("keep") else [])
        for name in kept:
            if name is not None:
                total[names.index(name)] += 1
    return total


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_cubes_and_money_are_conserved(env: RawEnv, rng: np.random.Generator) -> None:
    """Every coin and cube that moves is accounted for by what happened in public."""
    for move in moves(env, rng):
        before, player = see(env, 0, ledger=True), env.deciding_seat
        env.step(move)
        after = see(env, 0, ledger=True)
        assert purse(after) == expected_money(before, player, NAMES[move], after)
        colours = np.array(on_tracks(after)) + cubes(after).sum(axis=0)
        assert colours.tolist() == expected_colours(before, NAMES[move], after).tolist()
        assert min(purse(after)) >= 0
        assert cubes(after).min() >= 0
        assert min(on_tracks(after)) >= 0
    held = game_at(env.states).furniture[: env.options.num_players].sum()
    assert 0 <= held <= len(FURNITURE_VALUES) * env.options.num_players


@settings(max_examples=60, deadline=None)
@given(positions())
def test_every_unmasked_action_is_accepted_and_every_masked_one_refused(env: RawEnv) -> None:
    over = all(env.terminations.values())
    assert bool(env.action_mask.any()) != over
    for action in range(len(env.action_mask)):
        trial = copy.deepcopy(env)
        if env.action_mask[action]:
            trial.step(action)
            assert trial.record()["actions"] == [*env.record()["actions"], [env.agent_selection, NAMES[action]]]
        else:
            before = trial.states.tobytes()
            with pytest.raises(ValueError, match="the game is over" if over else "illegal"):
                trial.step(action)
            assert trial.states.tobytes() == before


@settings(max_examples=40, deadline=None)
@given(positions(), rngs())
def test_a_copy_never_changes_and_plays_on_identically(env: RawEnv, rng: np.random.Generator) -> None:
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    still = copy.deepcopy(env)
    before = (still.states.tobytes(), still.record(), still.state().tobytes())
    for move in moves(env, rng):
        env.step(move)
        for twin in copies:
            twin.step(move)
            assert twin.agent_selection == env.agent_selection
            assert twin.rewards == env.rewards
            assert twin.infos == env.infos
            for agent in env.possible_agents:
                ours, theirs = env.observe(agent), twin.observe(agent)
                assert np.array_equal(ours["observation"], theirs["observation"])
                assert np.array_equal(ours["action_mask"], theirs["action_mask"])
    assert (still.states.tobytes(), still.record(), still.state().tobytes()) == before
    assert all(twin.record() == env.record() for twin in copies)


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_spaces_contain_every_observation_and_only_the_deciding_seat_has_a_mask(
    env: RawEnv, rng: np.random.Generator
) -> None:
    for move in moves(env, rng):
        assert env.state_space.contains(env.state())
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert seen["action_mask"].any() == (agent == env.agent_selection)
        env.step(move)
    assert all(not env.observe(agent)["action_mask"].any() for agent in env.possible_agents)


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_rewards_are_what_the_options_promise(env: RawEnv, rng: np.random.Generator) -> None:
    points = scores(env)
    assert points == [15.0] * env.options.num_players
    earned = dict.fromkeys(env.possible_agents, 0.0)
    for move in moves(env, rng):
        env.step(move)
        now = scores(env)
        over = all(env.terminations.values())
        for seat, agent in enumerate(env.possible_agents):
            shaped = now[seat] - points[seat] if env.options.shaping else 0.0
            final = end_reward(env, now, seat) if over else 0.0
            assert env.rewards[agent] == pytest.approx(shaped + final)
            earned[agent] += env.rewards[agent]
        points = now
    for seat, agent in enumerate(env.possible_agents):
        info = env.infos[agent]
        assert info["score"] == pytest.approx(points[seat])
        assert sum(info["breakdown"].values()) == pytest.approx(info["score"])
        shaped = points[seat] - 15 if env.options.shaping else 0
        assert earned[agent] == pytest.approx(shaped + end_reward(env, points, seat))


def end_reward(env: RawEnv, points: list[float], seat: int) -> float:
    if env.options.reward == "score":
        return points[seat]
    if env.options.reward == "margin":
        others = points[:seat] + points[seat + 1 :]
        return points[seat] - sum(others) / len(others)
    tiles = game_at(env.states).compositions.sum(axis=1)
    standing = [(round(6 * value), int(tiles[player])) for player, value in enumerate(points)]
    winners = [player for player, value in enumerate(standing) if value == max(standing)]
    if len(winners) == len(points):
        return 0.0
    return 1 / len(winners) if seat in winners else -1 / (len(points) - len(winners))
