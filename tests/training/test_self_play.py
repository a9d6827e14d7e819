"""The learner's games: which decisions it learns from, and their advantages."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from symphony9_env.rules.state import States
from tests.training.runs import settings
from training.config import Settings
from training.group import Group
from training.opponent_pool import LEARNER
from training.ppo import SelfPlayPPO
from training.self_play import Encoder, Floats, SelfPlay, _Step

ONLY_LEARNERS: dict[str, Any] = {"latest": 1, "past": 0, "fixed": {}}
ONLY_GREEDY: dict[str, Any] = {"latest": 0, "past": 0, "fixed": {"greedy": 1}}
MIXED: dict[str, Any] = {"latest": 1, "past": 0, "fixed": {"greedy": 1}, "same_kind": 0.2}
WIN_SHARES = {1.0, 0.5, -0.5, -1.0, 0.0, 0.333}


class RandomActor:
    """Chooses legal actions at random; its values are random too, or 0."""

    def __init__(self, scale: float = 1.0) -> None:
        self.rng, self.scale = np.random.default_rng(0), scale

    def act(self, states: States) -> tuple[NDArray[np.int64], Floats, Floats]:
        mask = Encoder(settings()).encode(states, np.arange(len(states))).mask
        noise = self.rng.random(mask.shape)
        values = self.scale * self.rng.normal(size=len(noise))
        return np.where(mask, noise, -1).argmax(1), np.zeros(len(noise), np.float32), values.astype(np.float32)


class Moment(NamedTuple):
    """What happened in one step of all games."""

    player: NDArray[Any]
    members: NDArray[np.int64]
    states: Any
    value: NDArray[np.float64]  # of the position in each game in which the learner decided
    step: _Step


class RecordedSelfPlay(SelfPlay):
    """Keeps what happened in every step."""

    def __init__(self, chosen: Settings) -> None:
        super().__init__(chosen, Group())
        self.moments: list[Moment] = []
        self.deal()

    def _step(self, actor: Any) -> _Step:
        player, members, states = self.batch.player.copy(), self.pool.member_at.copy(), self.batch.states.copy()
        step = super()._step(actor)
        value = np.full(self.num_games, np.nan)
        value[step.rows] = step.decisions[3]
        self.moments.append(Moment(player, members, states, value, step))
        return step


def compute_slowly(moments: list[Moment], gamma: float, gae_lambda: float) -> dict[tuple[int, int], float]:
    """Return the advantages, one sequence of decisions after the other, by step and game."""
    known: dict[tuple[int, int], float] = {}
    num_games, num_players = moments[0].members.shape
    ended = np.array([moment.step.ended for moment in moments])
    for game in range(num_games):
        ends = [*np.flatnonzero(ended[:, game]).tolist(), len(moments)]
        for start, end in zip([-1, *ends], ends, strict=False):
            steps = range(start + 1, min(end + 1, len(moments)))
            for seat in range(num_players):
                own = [
                    step
                    for step in steps
                    if moments[step].player[game] == seat and moments[step].members[game, seat] == LEARNER
                ]
                known |= compute_sequence(moments, own, game, seat, end, (gamma, gae_lambda))
    return known


def compute_sequence(
    moments: list[Moment], own: list[int], game: int, seat: int, end: int, factors: tuple[float, float]
) -> dict[tuple[int, int], float]:
    """Return the advantages of a seat's decisions in one game; it ended in step `end`, if there is such a step."""
    is_over = end < len(moments)
    gamma, gae_lambda = factors
    deltas = []
    for step, following in itertools.pairwise([*own, end + 1 if is_over else None]):
        if step is not None and following is not None:
            reward = sum(moment.step.rewards[game, seat] for moment in moments[step:following])
            next_value = moments[following].value[game] if following in own else 0.0
            deltas.append(reward + gamma * next_value - moments[step].value[game])
    return {
        (step, game): sum((gamma * gae_lambda) ** later * delta for later, delta in enumerate(deltas[number:]))
        for number, step in enumerate(own[: len(deltas)])
    }


@pytest.mark.parametrize("opponents", [ONLY_LEARNERS, ONLY_GREEDY, MIXED], ids=["learners", "greedy", "mixed"])
@pytest.mark.parametrize("num_decisions", [1, 7, 600])
def test_advantages_follow_the_decisions_of_each_seat_that_the_learner_plays(
    opponents: dict[str, Any], num_decisions: int
) -> None:
    ppo = {"n_envs": 6, "n_steps": 16, "batch_size": 64, "gamma": 0.97, "gae_lambda": 0.9}
    games = RecordedSelfPlay(settings(ppo=ppo, opponents=opponents))
    games.set_shaping(0.1)
    rollout = games.collect(RandomActor(), num_decisions)
    moments = games.moments
    expected = compute_slowly(moments, 0.97, 0.9)
    places = sorted(expected)[:num_decisions]
    assert len(expected) >= num_decisions
    assert len(compute_slowly(moments[:-1], 0.97, 0.9)) < num_decisions  # no step was played for nothing
    assert [len(part) for part in rollout] == [num_decisions] * 5
    np.testing.assert_allclose(rollout.advantage, [expected[place] for place in places], atol=1e-4)
    np.testing.assert_array_equal(rollout.value, [moments[step].value[game] for step, game in places])
    for number, (step, game) in enumerate(places):
        assert rollout.states[number] == moments[step].states[game]
        moment = moments[step]
        assert moment.members[game, moment.player[game]] == LEARNER
    if num_decisions > 100:
        assert any(moment.step.ended.any() for moment in moments)
        np.testing.assert_allclose(rollout.returns, rollout.advantage + rollout.value)


def test_all_seats_of_the_learner_contribute_and_no_others() -> None:
    for opponents, expected in ((ONLY_LEARNERS, {3}), (ONLY_GREEDY, {1}), (MIXED, {2, 3})):
        games = RecordedSelfPlay(settings(opponents=opponents))
        seats = {int(count) for count in (games.pool.member_at == LEARNER).sum(1)}
        assert seats == expected
        games.collect(RandomActor(), 400)
        seen = {(row, seat) for moment in games.moments[:20] for row, seat in zip(*moment.step[:2], strict=True)}
        first = games.moments[0].members
        assert seen == {(row, seat) for row, seat in zip(*np.nonzero(first == LEARNER), strict=True)}


@pytest.mark.parametrize("shaping", [0.0, 0.5])
def test_the_rewards_of_a_game_are_the_win_and_shaped_points(shaping: float) -> None:
    """With values of 0 and factors of 1, the advantage of a decision is what the seat receives after it."""
    ppo = {"n_envs": 8, "n_steps": 16, "batch_size": 64, "gamma": 1, "gae_lambda": 1}
    games = RecordedSelfPlay(settings(ppo=ppo, opponents=ONLY_LEARNERS))
    games.set_shaping(shaping)
    rollout = games.collect(RandomActor(scale=0), 1500)
    received: dict[tuple[int, int, int], list[float]] = {}  # by game, number of the game on its row, and seat
    number = np.zeros(games.num_games, int)
    expected = sorted(compute_slowly(games.moments, 1, 1))[:1500]
    advantages = dict(zip(expected, rollout.advantage.tolist(), strict=True))
    finished = set()
    for time, moment in enumerate(games.moments):
        for row, seat in zip(moment.step.rows.tolist(), moment.step.seats.tolist(), strict=True):
            if (time, row) in advantages:
                received.setdefault((row, number[row], seat), []).append(advantages[time, row])
        finished |= {(row, number[row]) for row in np.flatnonzero(moment.step.ended).tolist()}
        number[moment.step.ended] += 1
    first = {key: values[0] for key, values in received.items() if key[:2] in finished}
    assert len(first) > 20
    if shaping == 0:
        assert {round(value, 3) for value in first.values()} <= WIN_SHARES
        assert all(np.ptp(values) == 0 for key, values in received.items() if key in first)
        for row, game in {key[:2] for key in first}:
            shares = [first.get((row, game, seat)) for seat in range(3)]
            if None not in shares:
                assert sum(share or 0 for share in shares) == pytest.approx(0)
    else:
        assert 20 < np.mean(list(first.values())) / shaping < 80  # a game's points


@pytest.mark.parametrize("coefficient", [0.0, 0.5])
def test_shaping_is_computed_only_while_its_coefficient_is_not_zero(coefficient: float) -> None:
    """The points behind shaping are updated in a step with shaping, and left alone in a step without."""
    games = RecordedSelfPlay(settings())
    games.set_shaping(coefficient)
    points = games.batch._buffers.points.copy()
    for _ in range(3):  # too few steps for a game to end
        games._step(RandomActor())
        assert not games.batch.terminated.any()
    assert np.array_equal(games.batch._buffers.points, points) == (coefficient == 0)


@pytest.mark.parametrize("network", [{"hidden": [8, 8, 8]}, {"hidden": [8, 8, 8], "critic": "state", "critic_size": 8}])
def test_log_probabilities_and_values_are_those_of_the_actions_taken(network: dict[str, Any]) -> None:
    chosen = settings(network=network)
    model, games = SelfPlayPPO(chosen, Group()), SelfPlay(chosen, Group())
    with torch.no_grad():
        for values in model.policy.parameters():
            values.add_(0.3 * torch.randn_like(values))
    games.deal()
    rollout = games.collect(model.make_actor(), 300)
    inputs = model.encode(rollout.states, np.arange(300))
    with torch.no_grad():
        evaluation = model.policy.evaluate_positions(*inputs)
    assert inputs[1][np.arange(300), rollout.action].all()  # legal
    log_probs = evaluation.log_probs.gather(1, torch.from_numpy(rollout.action)[:, None])[:, 0]
    np.testing.assert_allclose(rollout.log_prob, log_probs, atol=1e-5)
    np.testing.assert_allclose(rollout.value, evaluation.baseline, atol=1e-5)
    assert np.std(rollout.log_prob) > 0.1
    assert np.abs(rollout.value - evaluation.value.numpy()).max() > 0.1 or model.policy.critic is None


def test_actions_are_drawn_with_the_probabilities_of_the_policy() -> None:
    chosen = settings()
    model, games = SelfPlayPPO(chosen, Group()), SelfPlay(chosen, Group())
    with torch.no_grad():
        for values in model.policy.parameters():
            values.add_(0.3 * torch.randn_like(values))
    games.deal()
    one, drawn = games.batch.states[:1], []
    for number in range(5_000):
        model._n_updates = number  # after each update, other actions are drawn in the same position
        drawn.append(model.make_actor().act(one))
    actions, log_prob, _ = (np.concatenate(part) for part in zip(*drawn, strict=True))
    with torch.no_grad():
        evaluation = model.policy.evaluate_positions(*model.encode(one, np.zeros(1, np.int64)))
    probabilities = evaluation.log_probs[0].exp().numpy()
    counts = np.bincount(actions, minlength=len(probabilities))
    assert (np.abs(counts - 5_000 * probabilities) <= 4.5 * np.sqrt(5_000 * probabilities)).all()
    np.testing.assert_allclose(np.exp(log_prob), probabilities[actions], rtol=1e-4)


def test_a_single_game_in_which_the_learner_waits_for_its_turn() -> None:
    games = RecordedSelfPlay(settings(ppo={"n_envs": 1, "n_steps": 16, "batch_size": 16}, opponents=ONLY_GREEDY))
    model = SelfPlayPPO(games.settings, Group())
    assert len(games.collect(model.make_actor(), 40).action) == 40
    assert {len(moment.step.rows) for moment in games.moments} == {0, 1}


def test_games_that_are_restored_go_on_as_they_would_have() -> None:
    chosen = settings(opponents=MIXED)
    games, restored = RecordedSelfPlay(chosen), RecordedSelfPlay(chosen)
    games.collect(RandomActor(), 500)
    restored.load_state_dict(games.state_dict())
    one, other = games.collect(RandomActor(), 500), restored.collect(RandomActor(), 500)
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one._fields)


def test_workers_play_different_games() -> None:
    group = Group()
    group.rank, group.size = 1, 2
    chosen = settings(ppo={"n_envs": 15, "n_steps": 16, "batch_size": 64})
    one, other = SelfPlay(chosen, Group()), SelfPlay(chosen, group)
    assert (one.num_games, other.num_games) == (15, 8)
    for games in (one, other):
        games.deal()
    assert not set(one.batch.seeds.tolist()) & set(other.batch.seeds.tolist())
    first = set(one.batch.seeds.tolist())
    one.deal(steps=256)  # as after resuming with another number of workers
    assert not set(one.batch.seeds.tolist()) & first


def test_a_coalition_has_all_seats_but_one_and_adds_up_its_rewards() -> None:
    chosen = settings(opponents={**ONLY_GREEDY, "coalition": True})
    games = RecordedSelfPlay(chosen)
    games.collect(RandomActor(), 2000)
    num_ended = 0
    for moment in games.moments:
        is_learner = moment.members == LEARNER
        assert (is_learner.sum(1) == is_learner.shape[1] - 1).all()
        for game in np.flatnonzero(moment.step.ended):
            own = moment.step.rewards[game][is_learner[game]]
            target = moment.step.rewards[game][~is_learner[game]]
            assert own == pytest.approx(-target.item())  # the rewards of all seats add up to 0
            num_ended += 1
    assert num_ended > 0
    assert len({tuple(members) for members in games.moments[0].members.tolist()}) > 1  # the opponent's seat is random
