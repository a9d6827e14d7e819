"""Events: every effect of a move is reported once and rightly, and a seat sees only what it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symphony9_env.components import CLASSES, FURNITURE_VALUES, MUSICIANS, STARTING_MONEY
from symphony9_env.envs.aec import RawEnv
from symphony9_env.events import Event, EventBuffer, opening_events, see
from symphony9_env.rules.events import KINDS, MAX_EVENTS
from symphony9_env.rules.game import play, play_with_events
from symphony9_env.rules.state import DECISIONS, NONE, OUTCOMES, game_at
from tests.properties.strategies import environments, moves, positions, rngs
from tests.scenarios import at_concert, bids, deal, set_state
from tests.scenarios import play as play_names

# The fields that events of each kind have, besides `kind` and `phase`; `furniture` of a hand only if there is some.
FIELDS = {
    "round_started": {"board", "amount"},
    "cube_taken": {"player", "board", "musician", "amount"},
    "passed": {"player", "board"},
    "furniture_sold": {"player", "board", "amount", "furniture"},
    "amount_announced": {"player", "board", "amount"},
    "hand_closed": {"player", "board", "amount", "furniture"},
    "cube_kept": {"player", "board", "musician"},
    "cube_discarded": {"player", "board", "musician"},
    "composition_awarded": {"board", "musician", "amount"},
    "budget_revealed": {"amount"},
    "hand_opened": {"board", "amount", "furniture"},
    "concert_resolved": {"amount", "outcome"},
    "musician_performed": {"musician"},
    "bonus_awarded": {"board", "amount"},
    "penalty_imposed": {"board", "amount"},
    "income_paid": {"board", "musician", "amount"},
    "cube_returned": {"board", "musician"},
    "musician_died": {"musician"},
    "last_sales_started": set[str](),
    "game_ended": set[str](),
}


def play_with_buffer(env: RawEnv, rng: np.random.Generator) -> Iterator[list[Event]]:
    """Play random legal moves to the end and yield the events of each, those of the deal first."""
    env.event_buffer = EventBuffer()
    yield opening_events(env.states)
    for move in moves(env, rng):
        env.step(move)
        yield env.event_buffer.read()


class Books:
    """A game rebuilt from its set-up and its events alone."""

    def __init__(self, env: RawEnv) -> None:
        setup = env.record()["setup"]
        self.num_players = env.options.num_players
        self.money = [STARTING_MONEY] * self.num_players
        self.furniture = [set(FURNITURE_VALUES) for _ in range(self.num_players)]
        self.cubes = [Counter(names) for names in setup["starting_cubes"]]
        self.on_tracks = Counter({name: sum(cubes for _, cubes in track) for name, track in setup["tracks"].items()})
        self.compositions: list[Counter[str]] = [Counter() for _ in setup["starting_cubes"]]
        self.dead: set[str] = set()
        self.start, self.round, self.token = -1, 0, 0
        self.closed: dict[int, tuple[int | None, int | None]] = {}
        self.opened: dict[int, tuple[int, int | None]] = {}
        self.performers: list[str] = []
        self.concert: tuple[int | None, str | None] = (None, None)  # the total and the outcome of the last one
        self.owed: Counter[int] = Counter()  # cubes to discard, by seat
        self.kept: dict[int, str] = {}
        self.is_over = False

    def enter(self, event: Event) -> None:
        if event.board is not None and event.musician is not None:
            self._enter_cube(event, event.board, event.musician)
        elif event.kind in ("round_started", "last_sales_started", "game_ended", "musician_died"):
            self._enter_course(event)
        else:
            self._enter_concert(event)

    def _enter_cube(self, event: Event, board: int, musician: str) -> None:
        amount = event.amount or 0
        if event.kind == "cube_taken":
            assert event.player is not None
            self.money[event.player] -= amount
            self.on_tracks[musician] -= 1
            self.cubes[board][musician] += 1
        elif event.kind == "composition_awarded":
            assert amount == self.cubes[board][musician] // 2
            self.compositions[board][musician] += 1
            self.cubes[board][musician] -= amount
        elif event.kind == "income_paid":
            assert amount % self.cubes[board][musician] == 0
            self.money[board] += amount
        elif event.kind == "cube_kept":
            self.kept[board] = musician
        else:
            self.cubes[board][musician] -= 1
            if event.kind == "cube_discarded":
                self.owed[board] -= 1
            else:
                assert event.kind == "cube_returned"
                assert musician in self.performers
                assert self.kept.get(board) != musician

    def _enter_course(self, event: Event) -> None:
        if event.kind == "musician_died":
            assert event.musician not in self.dead
            assert self.on_tracks[str(event.musician)] == 0
            self.dead.add(str(event.musician))
            return
        assert not any(self.owed.values())
        self.kept = {}
        if event.kind == "round_started":
            assert event.board is not None
            assert event.amount == self.round + 1
            self.round, self.start = event.amount, event.board
        elif event.kind == "last_sales_started":
            assert self.round == 6
        else:
            self.is_over = True

    def _enter_concert(self, event: Event) -> None:
        board, amount = event.board, event.amount
        if event.kind == "budget_revealed":
            assert amount is not None
            self.token = amount
        elif event.kind == "furniture_sold":
            assert event.player is not None
            assert amount == event.furniture
            self._give_furniture(event.player, event.furniture)
            self.money[event.player] += amount or 0
        elif event.kind == "hand_closed":
            assert event.player is not None
            self.closed[event.player] = (amount, event.furniture)
        elif event.kind == "hand_opened":
            assert board is not None
            assert amount is not None
            assert board == self.num_players or self.closed.pop(board) == (amount, event.furniture)
            self.opened[board] = (amount, event.furniture)
        elif event.kind == "concert_resolved":
            self._resolve_concert(event)
        elif event.kind == "musician_performed":
            self.performers.append(str(event.musician))
        elif event.kind == "bonus_awarded":
            assert board is not None
            self.money[board] += amount or 0
        elif event.kind == "penalty_imposed":
            assert board is not None
            self.owed[board] = amount or 0

    def _resolve_concert(self, event: Event) -> None:
        assert not self.closed
        assert event.amount == self.token + sum(amount for amount, _ in self.opened.values())
        self.performers, self.concert = [], (event.amount, event.outcome)
        if event.outcome in CLASSES:
            for player in range(self.num_players):
                amount, furniture = self.opened[player]
                self.money[player] -= amount - (furniture or 0)
                self._give_furniture(player, furniture)

    def _give_furniture(self, player: int, value: int | None) -> None:
        if value is not None:
            self.furniture[player].remove(value)

    def check(self, env: RawEnv) -> None:
        """Compare with the true state."""
        game, players = game_at(env.states), range(self.num_players)
        assert self.money == game.money[: self.num_players].tolist()
        for player in players:
            held = [value for token, value in enumerate(FURNITURE_VALUES) if game.furniture[player, token]]
            assert sorted(self.furniture[player]) == held
            total, token = int(game.hand[player]), int(game.hand_token[player])
            hand = None if total == NONE else (total, None if token == NONE else FURNITURE_VALUES[token])
            assert self.closed.get(player) == hand
        for row, name in enumerate(MUSICIANS[: game.num_musicians]):
            assert self.on_tracks[name] == game.cubes_left[row]
            assert (name in self.dead) == game.dead[row]
            for board, cubes in enumerate(self.cubes):
                assert cubes[name] == game.earlier_cubes[board, row] + game.new_cubes[board, row]
                assert self.compositions[board][name] == game.compositions[board, row]
        assert (self.round, self.start) == (game.round_index + 1, game.start)
        assert self.is_over == all(env.terminations.values())
        if game.outcome != NONE:
            assert self.performers == [name for row, name in enumerate(MUSICIANS) if game.performing[row]]
            assert self.concert == (game.total, OUTCOMES[game.outcome])


@settings(max_examples=60, deadline=None)
@given(environments(), rngs())
def test_money_cubes_and_tiles_rebuilt_from_events_equal_the_state(env: RawEnv, rng: np.random.Generator) -> None:
    books = Books(env)
    for events in play_with_buffer(env, rng):
        for event in events:
            books.enter(event)
        books.check(env)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_every_kind_of_event_occurs_with_the_fields_it_promises(num_players: int) -> None:
    seen: Counter[str] = Counter()
    with_furniture = set()
    for seed in range(12):
        env = RawEnv(num_players=num_players, discussion=True)
        env.reset(seed=seed)
        mover = NONE
        for events in play_with_buffer(env, np.random.default_rng(seed)):
            for event in events:
                seen[event.kind] += 1
                fields = {name for name in event.as_json() if name not in ("kind", "phase")}
                optional = {"furniture"} if event.kind in ("hand_closed", "hand_opened") else set()
                assert FIELDS[event.kind] - optional <= fields <= FIELDS[event.kind]
                assert event.phase in DECISIONS
                assert event.outcome is None or event.outcome in OUTCOMES
                assert event.player is None or event.player == mover
                if event.furniture is not None:
                    with_furniture.add(event.kind)
            mover = env.deciding_seat
    assert set(seen) == set(KINDS) == set(FIELDS)
    assert with_furniture == {"furniture_sold", "hand_closed", "hand_opened"}


def test_a_move_s_first_event_is_the_move_itself() -> None:
    env = deal(2, discussion=True)
    env.event_buffer = EventBuffer()

    def first_event_of(name: str) -> Event:
        assert env.event_buffer is not None
        play_names(env, name)
        return env.event_buffer.read()[0]

    assert first_event_of("sell 6") == Event("furniture_sold", "take", 0, 0, amount=6, furniture=6)
    assert first_event_of("take bach") == Event("cube_taken", "take", 0, 0, "bach", 0)
    play_names(env, *["take bach"] * 3)
    assert first_event_of("take mozart") == Event("cube_taken", "take_for_bot", 0, 2, "mozart", 0)
    play_names(env, *["take bach"] * 3)
    assert first_event_of("take haydn") == Event("cube_taken", "buy_4", 0, 0, "haydn", 4)
    assert first_event_of("pass") == Event("passed", "buy_4", 1, 1)
    play_names(env, "pass", "pass")
    assert first_event_of("announce 3") == Event("amount_announced", "announce", 0, 0, amount=3)
    play_names(env, "pass")
    assert first_event_of("bid 7 with 4") == Event("hand_closed", "bid", 0, 0, amount=7, furniture=4)


def test_a_bonus_is_reported_when_it_is_won_and_the_medium_one_when_it_is_paid() -> None:
    env = at_concert(cubes={1: {"schubert": 1, "haydn": 2}}, budget=[0, 0, 2, 2, 2, 2])
    env.event_buffer = EventBuffer()
    bids(env, 1, 5, 1, 1)  # low class: Schubert performs, and player_1 may keep the cube
    assert [event for event in env.event_buffer.read() if event.board == 1][1:] == [
        Event("bonus_awarded", "bid", board=1, amount=0)
    ]
    play_names(env, "keep schubert")
    assert env.event_buffer.read()[:2] == [
        Event("cube_kept", "keep", 1, 1, "schubert"),
        Event("income_paid", "keep", board=1, musician="schubert", amount=3),
    ]
    env = at_concert(cubes={1: {"haydn": 2}}, budget=[0, 0, 2, 2, 2, 2])
    env.event_buffer = EventBuffer()
    bids(env, 3, 5, 3, 2)  # medium class: Haydn performs
    assert [event for event in env.event_buffer.read() if event.board == 1][1:] == [
        Event("income_paid", "keep", board=1, musician="haydn", amount=8),
        Event("cube_returned", "keep", board=1, musician="haydn"),
        Event("bonus_awarded", "keep", board=1, amount=5),
    ]


@pytest.mark.parametrize(("amounts", "cubes_left"), [((1, 5, 1, 1), 5), ((4, 6, 4, 3), 0)], ids=["low", "high"])
def test_a_bonus_without_effect_is_not_reported(amounts: tuple[int, ...], cubes_left: int) -> None:
    """Nobody is asked: the winner of a low bonus has no cube to keep, that of a high one finds none to take."""
    env = at_concert(budget=[0, 0, 2, 2, 2, 2])
    set_state(env, cubes_left=[cubes_left] * 6)
    env.event_buffer = EventBuffer()
    bids(env, *amounts)
    events = env.event_buffer.read()
    assert any(event.kind == "musician_performed" for event in events)
    assert env.decision not in ("keep", "bonus")
    assert not [event for event in events if event.kind == "bonus_awarded"]


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_whoever_is_asked_about_a_bonus_was_awarded_it(env: RawEnv, rng: np.random.Generator) -> None:
    entitled: list[int | None] = []
    for events in play_with_buffer(env, rng):
        entitled += [event.board for event in events if event.kind == "bonus_awarded" and not event.amount]
        if env.decision in ("keep", "bonus"):
            assert env.deciding_seat in entitled
        else:
            entitled = []


def test_a_penalty_says_how_many_cubes_are_to_be_discarded() -> None:
    env = at_concert(cubes={0: {"bach": 3}, 1: {"handel": 1}}, budget=[0] * 2 + [2] * 4)
    set_state(env, round_index=3)
    env.event_buffer = EventBuffer()
    bids(env, 0, 0, 0, 1)
    imposed = {event.board: event.amount for event in env.event_buffer.read() if event.kind == "penalty_imposed"}
    assert imposed == {0: 2, 1: 1, 2: 0}


# The buffer.


def test_the_largest_number_of_events_fits_the_buffer_exactly() -> None:
    """The move that the comment on MAX_EVENTS describes."""
    every = dict.fromkeys(MUSICIANS, 1)
    env = at_concert(cubes=dict.fromkeys(range(4), every), budget=[2, 2, 2, 2, 0, 0])
    set_state(env, round_index=5, cubes_left=[0] * 6, furniture=[[0, 0, 0]] * 4)
    env.event_buffer = EventBuffer()
    bids(env, 3, 3, 3, 3)
    events = env.event_buffer.read()
    assert events[-1].kind == "game_ended"
    assert len(events) == MAX_EVENTS == len(env.event_buffer.array) - 1


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_no_move_sets_off_more_events_than_the_buffer_holds(env: RawEnv, rng: np.random.Generator) -> None:
    assert max(len(events) for events in play_with_buffer(env, rng)) <= MAX_EVENTS


def test_a_buffer_that_is_not_read_holds_the_events_of_the_last_move() -> None:
    env = RawEnv(num_players=2)
    env.event_buffer = EventBuffer()
    env.reset(seed=3)
    for move in moves(env, np.random.default_rng(3)):
        env.step(move)
    assert env.event_buffer.read()[-1].kind == "game_ended"
    assert env.event_buffer.read() == []
    env.step(None)
    env.reset(seed=3)
    assert env.event_buffer.read() == []


@settings(max_examples=40, deadline=None)
@given(environments(), rngs())
def test_games_with_and_without_a_buffer_are_identical(env: RawEnv, rng: np.random.Generator) -> None:
    plain, reported = env.states.copy(), env.states.copy()
    buffer = EventBuffer()
    for move in moves(env, rng):
        env.step(move)
        play(plain, 0, move)
        play_with_events(reported, 0, move, buffer.array)
        assert env.states.tobytes() == plain.tobytes() == reported.tobytes()


# Who may see what.


def events_of(env: RawEnv) -> list[Event]:
    """Return all events of the game so far, by playing it again."""
    again = RawEnv(num_players=env.options.num_players, discussion=env.options.variant.discussion)
    again.event_buffer = EventBuffer()
    again.reset(options={"setup": env.record()["setup"]})
    events = opening_events(again.states)
    for move in env.moves():
        again.step(move)
        events += again.event_buffer.read()
    return events


@settings(max_examples=60, deadline=None)
@given(positions(), st.integers(0, 1), rngs())
def test_games_that_a_seat_can_not_tell_apart_have_the_same_events_for_it(
    env: RawEnv, seat: int, rng: np.random.Generator
) -> None:
    twin = env.resample(seat, rng)
    assert see(events_of(twin), seat) == see(events_of(env), seat)
    if not (env.states["hand"][0] != NONE).any():
        assert events_of(twin) == events_of(env)


def test_another_s_closed_hand_has_no_contents_until_the_hands_open() -> None:
    env = at_concert(budget=[0, 0, 2, 2, 2, 2])
    env.event_buffer = EventBuffer()
    bids(env, "7 with 4")
    (closed,) = env.event_buffer.read()
    assert see([closed], 0) == [closed]
    for seat in (1, 2, 3, None):
        (seen,) = see([closed], seat)
        assert (seen.kind, seen.player) == ("hand_closed", 0)
        assert seen.amount is seen.furniture is None
    bids(env, 0, 0, 0)
    assert Event("hand_opened", "bid", board=0, amount=7, furniture=4) in see(env.event_buffer.read(), 3)
