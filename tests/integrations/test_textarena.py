"""TextArena: the game as talk."""

from __future__ import annotations

from typing import Any

import pytest

from symphony9_env import agents, records, symphony9_v0
from symphony9_env.actions import NAMES
from symphony9_env.envs.single import SingleSeatEnv
from symphony9_env.events import EventBuffer, opening_events, see
from symphony9_env.views.game_log import log_lines

ta = pytest.importorskip("textarena")

from symphony9_env.integrations.textarena import ENV_ID  # noqa: E402


def make(**options: Any) -> Any:
    return ta.make(ENV_ID, **options)


def play(env: Any, num_players: int, seed: int, words: str = "") -> list[tuple[int, str, int]]:
    """A whole game of scripted text players; returns who read what and chose what."""
    env.reset(num_players=num_players, seed=seed)
    planner, done, seen = agents.make("planner", seed=1), False, []
    while not done:
        player, text = env.get_observation()
        assert player == env.env.game.seat
        action = planner.choose(env.env.game.env)
        seen.append((player, text, action))
        done, _ = env.step(f"Let me think. [{NAMES[action]}{words if action >= 40 else ''}]")
    return seen


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_scripted_text_players_play_the_same_game_as_in_the_environment(num_players: int) -> None:
    env = make()
    seen = play(env, num_players, seed=11)
    rewards, info = env.close()
    raw = symphony9_v0.raw_env(num_players=num_players)
    raw.reset(seed=11)
    for player, _, action in seen:
        assert raw.deciding_seat == player
        raw.step(action)
    assert env.env.record() == raw.record()
    assert rewards == dict(enumerate(raw.rewards.values()))
    assert "win" in info[0]["reason"]
    assert not any(info[seat]["invalid_move"] for seat in range(num_players))


def test_a_seat_reads_the_rules_the_log_and_its_own_view_but_no_closed_hand() -> None:
    seen = play(make(), 4, seed=3)
    assert all("4 patrons sponsor musicians" in text for _, text, _ in seen)
    assert all(f"You are player_{player}." in text and "Legal actions:" in text for player, text, _ in seen)
    moves = [line for _, text, _ in seen for line in text.splitlines() if line.startswith("player_") and ": " in line]
    assert any(line.endswith(": closes a hand") for line in moves)
    assert not any(": bid" in line for line in moves)
    assert any("Last concert:" in text for _, text, _ in seen)


@pytest.mark.parametrize("num_players", [2, 4])
def test_a_seat_reads_the_log_of_what_it_may_see(num_players: int) -> None:
    env = make()
    seen = play(env, num_players, seed=3)
    log = replay_log(env.env.record(), seat=seen[-1][0])
    text = seen[-1][1]
    assert all(line in text for line in log)
    assert "Round 6" in log
    assert any(" class concert by " in line or "the concert fails" in line for line in log)
    assert any(line.startswith("bot: gave $") for line in log) == (num_players == 2)


def replay_log(record: Any, seat: int) -> list[str]:
    """Return the lines of a game's log before its last move, as a seat may see them."""
    buffer, lines = EventBuffer(), []
    for number, env in enumerate(records.replay(record)):
        env.event_buffer = buffer
        events = see(buffer.read() if number else opening_events(env.states), seat)
        if number < len(record["actions"]):
            lines += [(line["seat"], line["text"]) for line in log_lines(events)]
    names = [*(f"player_{number}: " for number in range(record["num_players"])), "bot: "]
    return [text if who is None else names[who] + text for who, text in lines]


def test_announcements_are_talk_and_their_words_are_heard() -> None:
    seen = play(make(discussion=True), 3, seed=5, words=": who joins me?")
    heard = [text for _, text, _ in seen if 'and says: "who joins me?"' in text]
    assert heard
    assert all("Let me think" not in text for _, text, _ in seen)


def test_an_illegal_reply_is_asked_again_and_then_loses_the_game() -> None:
    env = make(error_allowance=2)
    env.reset(num_players=3, seed=7)
    seat = env.env.game.seat
    for _ in range(2):
        done, _ = env.step("[fly to the moon]")
        assert not done
        player, text = env.get_observation()
        assert player == seat
        assert "'fly to the moon' is no legal action" in text
    before = env.env.record()
    done, _ = env.step("")
    assert done
    rewards, info = env.close()
    assert rewards == {player: -1.0 if player == seat else 0.0 for player in range(3)}
    assert info[seat]["invalid_move"]
    assert env.env.record() == before


def test_a_legal_reply_makes_up_for_errors() -> None:
    env = make(error_allowance=1)
    env.reset(num_players=2, seed=7)
    for _ in range(5):
        assert env.step("what?") == (False, {})
        done, _ = env.step(f"[{env.env.game.env.action_mask.argmax()}]")
        assert not done


def test_wrong_options_are_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="tracks='x'"):
        make(tracks="x")
    with pytest.raises(TypeError, match="did you mean 'discussion'"):
        make(discusion=True)
    with pytest.raises(ValueError, match="num_players=7"):
        make().reset(num_players=7)


def test_one_model_plays_alone_against_agents() -> None:
    env = make(opponents="greedy", seat=1, table_size=3)
    env.reset(num_players=1, seed=9)
    single = SingleSeatEnv(num_players=3, opponents="greedy", seat=1)
    _, info = single.reset(seed=9)
    done = False
    while not done:
        player, text = env.get_observation()
        assert player == 0
        assert "You are player_1." in text
        action = int(info["action_mask"].argmax())
        _, reward, _, _, info = single.step(action)
        done, _ = env.step(f"[{action}]")
    rewards, told = env.close()
    assert rewards == {0: reward}
    assert env.env.record() == single.record()
    assert "win" in told[0]["reason"]


def test_the_board_is_displayed() -> None:
    env = ta.wrappers.SimpleRenderWrapper(make(), player_names={0: "Ann", 1: "Bob"}, render_mode="board")
    env.reset(num_players=2, seed=7)
    assert "Legal actions:" in env.env.get_board_str()
    env.step("[0]")
    env.close()
