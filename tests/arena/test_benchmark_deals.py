"""The deals of the benchmark: the salt that they follow from, and verifying a finished evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symphony9_env import symphony9_v0
from symphony9_env.arena.benchmark import main
from symphony9_env.arena.benchmark_games import derive_key, schedule_game
from symphony9_env.arena.benchmark_verification import verify
from tests.agents.test_external import LOWEST, write_script
from tests.arena.evaluations import SALT, evaluate, read_results

pytestmark = pytest.mark.usefixtures("short_evaluations")


# The salt.


def test_a_run_draws_its_own_salt_and_publishes_it(tmp_path: Path) -> None:
    one, other = (evaluate("greedy", tmp_path / name) for name in "ab")
    assert not {outcome.key for outcome in one.outcomes} & {outcome.key for outcome in other.outcomes}
    results = read_results(tmp_path / "a")
    assert results["private"] is True
    assert [outcome.key for outcome in one.outcomes] == [derive_key(str(results["salt"]), game) for game in range(4)]


def test_a_given_salt_gives_the_same_games_and_is_marked(tmp_path: Path) -> None:
    published = str(evaluate("greedy", tmp_path / "a").results()["salt"])
    again = evaluate("greedy", tmp_path / "b", salt=published)
    assert again.outcomes == evaluate("greedy", tmp_path / "a").outcomes
    assert read_results(tmp_path / "b")["private"] is False
    with pytest.raises(ValueError, match=r"holds another evaluation \(private False, not True\)"):
        evaluate("greedy", tmp_path / "b")


def test_no_two_games_have_the_same_deal_and_all_seats_are_played_equally_often() -> None:
    games = [schedule_game(number, derive_key(SALT, number), 4) for number in range(720)]
    assert len({game.seed for game in games}) == 720
    assert [sum(game.agents.index(0) == seat for game in games) for seat in range(4)] == [180] * 4


SPY = """
import json, os, pathlib, sys
seen = ""
for line in sys.stdin:
    folder = pathlib.Path(FOLDER)
    texts = [line, *(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())]
    texts += [str(sys.argv), str(dict(os.environ))]
    parent = pathlib.Path("/proc", str(os.getppid()))
    if parent.exists():
        texts += [(parent / name).read_text(errors="replace") for name in ("cmdline", "environ")]
    with open(SEEN, "a") as file:
        file.write("".join(texts))
    print(json.dumps({"action": int(min(json.loads(line)["legal"], key=int))}), flush=True)
"""


def test_while_it_plays_an_agent_finds_neither_the_salt_nor_the_key_or_seed_of_its_game(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    text = SPY.replace("FOLDER", repr(str(tmp_path / "out"))).replace("SEEN", repr(str(seen)))
    played = evaluate(write_script(tmp_path, text), tmp_path / "out")
    found = seen.read_text()
    assert '"legal"' in found  # it did write what it saw
    last = played.outcomes[-1]
    for secret in (played.results()["salt"], last.key, str(schedule_game(last.game, last.key, 2).seed)):
        assert secret not in found


def test_after_a_stop_the_other_games_get_a_new_salt(tmp_path: Path) -> None:
    whole = evaluate("greedy", tmp_path / "a")
    lines = (tmp_path / "a" / "games.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "games.jsonl").write_text(lines[0] + lines[1][:10])  # killed in the middle of writing
    continued = evaluate("greedy", tmp_path / "a")
    assert continued.outcomes[0] == whole.outcomes[0]
    assert {outcome.key for outcome in continued.outcomes[1:]}.isdisjoint(outcome.key for outcome in whole.outcomes)
    assert read_results(tmp_path / "a")["salt"] is None
    assert "4 games" in verify(tmp_path / "a")


def test_a_stopped_evaluation_with_a_given_salt_goes_on(tmp_path: Path) -> None:
    whole = evaluate("greedy", tmp_path / "a", salt=SALT)
    lines = (tmp_path / "a" / "games.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "games.jsonl").write_text(lines[0])
    assert evaluate("greedy", tmp_path / "a", salt=SALT).outcomes == whole.outcomes


# Verifying.


def test_a_finished_evaluation_can_be_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    main(["--task", "2p", "--lite", "--agent", write_script(tmp_path, LOWEST), "--out", str(out)])
    main(["--verify", str(out)])
    assert "verified: 4 games played again from the published salt" in capsys.readouterr().out


def test_forfeited_games_can_be_verified(tmp_path: Path) -> None:
    text = LOWEST.replace("for line", "import os\nfor number, line").replace("sys.stdin:", "enumerate(sys.stdin):")
    text += "    if number == 5: os._exit(1)\n"
    assert evaluate(write_script(tmp_path, text), tmp_path / "out").results()["forfeits"] == 4
    assert "4 games" in verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"win_share": 0.25}, "score is .*; expected"),
        ({"score": 99.0}, "game 1: its score is 99.0; played again, "),
        ({"key": "0" * 32}, "game 1: its (key|moves) is"),
        ({"moves": []}, "game 1: its "),
        ({"seat": 0}, "game 1: its seat is 0; played again, 1"),
        ({"opponent": "random"}, "line 2 is not game 1"),
        ({"opponent": []}, "line 2 is not game 1"),
        ({"moves": [1, 300]}, "line 2 is not game 1"),
        ({"moves": "0"}, "line 2 is not game 1"),
        ({"game": 7}, "line 2 is not game 1"),
        ({"key": "xyz"}, "line 2 is not game 1"),
        ({"more": 1}, "line 2 is not game 1"),
        ({"win_share": 2.0}, "line 2 is not game 1"),
        ({"win_share": float("nan")}, "line 2 is not game 1"),
        ({"score": float("inf")}, "line 2 is not game 1"),
    ],
)
def test_a_changed_game_is_found(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    evaluate("greedy", tmp_path, salt=SALT)
    file = tmp_path / "games.jsonl"
    lines = file.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    file.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ValueError, match=reason):
        verify(tmp_path)


def test_a_games_file_that_is_no_text_is_refused_with_its_name(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path, salt=SALT)
    (tmp_path / "games.jsonl").write_bytes(b"\x91\n")
    with pytest.raises(ValueError, match=r"games\.jsonl can't be read"):
        verify(tmp_path)
    with pytest.raises(ValueError, match=r"games\.jsonl can't be read"):
        evaluate("greedy", tmp_path, salt=SALT)


@pytest.mark.parametrize(
    "change",
    [
        *({"task": []}, {"task": {}}, {"task": 4}, {"games": 2.0}, {"games": []}, {"salt": 5}, {"salt": []}),
        *({"salt": "xyz"}, {"against": 5}, {"against": {"greedy": {}}}, {"score": None}, {"opponents": "x" * 100_000}),
    ],
)
def test_changed_results_are_refused_in_one_short_line(tmp_path: Path, change: dict[str, object]) -> None:
    evaluate("greedy", tmp_path, salt=SALT)
    (tmp_path / "results.json").write_text(json.dumps({**read_results(tmp_path), **change}))
    with pytest.raises(ValueError, match=r"results\.json") as refused:
        verify(tmp_path)
    assert len(str(refused.value)) < 1000
    if "salt" not in change and change != {"games": 2.0}:  # that is the same number
        with pytest.raises(ValueError, match=r"results\.json: .*; expected"):
            evaluate("greedy", tmp_path, salt=SALT)


def test_the_name_in_changed_results_is_not_shown(tmp_path: Path) -> None:
    """It could control a terminal."""
    evaluate("greedy", tmp_path, salt=SALT)
    (tmp_path / "results.json").write_text(json.dumps({**read_results(tmp_path), "agent": "\x1b[2J"}))
    with pytest.raises(ValueError, match=r"agent is '\\x1b\[2J'; expected 'greedy'"):
        evaluate("greedy", tmp_path, salt=SALT)


def test_another_move_of_an_opponent_is_found(tmp_path: Path) -> None:
    """The agent's moves are taken as they are, the opponent's are computed."""
    evaluate("random", tmp_path, salt=SALT)
    file = tmp_path / "games.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    env = symphony9_v0.raw_env(num_players=2)
    env.reset(seed=schedule_game(0, lines[0]["key"], 2).seed)
    for number, move in enumerate(lines[0]["moves"]):
        legal = env.observe(env.agent_selection)["action_mask"].nonzero()[0].tolist()
        if env.deciding_seat != lines[0]["seat"] and len(legal) > 1:
            lines[0]["moves"][number] = next(other for other in legal if other != move)
            break
        env.step(move)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(ValueError, match="game 0: its moves is"):
        verify(tmp_path)


def test_a_folder_without_an_evaluation_can_not_be_verified(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results\.json can't be read"):
        main(["--verify", str(tmp_path)])
