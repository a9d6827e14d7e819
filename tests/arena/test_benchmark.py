"""The benchmark: its tasks, its row, and the games that agents outside the package play or forfeit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from symphony9_env import symphony9_v0
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import TASKS, Benchmark, main
from tests.agents.test_external import LOWEST, write_script


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play few games: the tests are about the protocol, not about strength."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("greedy", "random"))


def evaluate(agent: str, out: Path, timeout: float = 20.0) -> Benchmark:
    made = Benchmark("2p", agent, out, lite=True, timeout=timeout)
    made.play()
    return made


def test_tasks_cover_players_set_ups_ledger_and_discussion() -> None:
    assert {options.num_players for options in TASKS.values()} == {2, 3, 4}
    for count in (2, 3, 4):
        assert TASKS[f"{count}p-first"].variant.scoring == "A"
        assert TASKS[f"{count}p-full"].variant.tracks == "random"
        assert TASKS[f"{count}p-ledger"].ledger
        assert TASKS[f"{count}p-discussion"].variant.discussion


def test_the_row_of_a_named_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--task", "3p", "--agent", "greedy", "--lite", "--out", str(tmp_path / "out")])
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["protocol"] == "symphony9-benchmark/1"
    assert results["score"] == pytest.approx(sum(row["win_rate"] for row in results["against"].values()) / 2)
    assert f"| 3p | greedy | {100 * results['score']:.1f} % |" in capsys.readouterr().out


def test_the_same_deals_for_everybody_and_the_same_result_again(tmp_path: Path) -> None:
    one, other = evaluate("greedy", tmp_path / "a"), evaluate("greedy", tmp_path / "b")
    assert one.outcomes == other.outcomes
    assert [game.seed for _, game in one.games()] == [
        game.seed for _, game in Benchmark("2p", "random", tmp_path / "c", lite=True, timeout=1).games()
    ]


def test_games_side_by_side_are_those_played_one_by_one(tmp_path: Path) -> None:
    named = evaluate("greedy", tmp_path / "a")
    for outcome, (opponent, game) in zip(named.outcomes, named.games(), strict=True):
        env = symphony9_v0.raw_env(num_players=2)
        env.reset(seed=game.seed)
        seat = game.agents.index(0)
        while not env.terminations["player_0"]:
            agent = named.agent if env.deciding_seat == seat else named.opponents[opponent]
            env.step(agent.choose(env))
        ranks = [env.infos[agent]["rank"] for agent in env.possible_agents]
        assert outcome.win_share == (ranks[seat] == 1) / ranks.count(1)
        assert outcome.score == env.infos[f"player_{seat}"]["score"]


def test_a_stopped_evaluation_goes_on(tmp_path: Path) -> None:
    whole = evaluate("greedy", tmp_path / "a")
    lines = (tmp_path / "a" / "games.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a" / "games.jsonl").write_text(lines[0] + lines[1][:10])  # killed in the middle of writing
    assert evaluate("greedy", tmp_path / "a").outcomes == whole.outcomes


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path / "a")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent 'greedy', not 'random'\)"):
        evaluate("random", tmp_path / "a")
    file = tmp_path / "a" / "benchmark.json"
    file.write_text(json.dumps(json.loads(file.read_text())))  # the same settings, formatted otherwise
    evaluate("greedy", tmp_path / "a")


def test_an_agent_can_be_changed_while_no_game_is_finished(tmp_path: Path) -> None:
    Benchmark("2p", "greedy", tmp_path / "a", lite=True, timeout=1)
    assert evaluate("random", tmp_path / "a").settings["agent"] == "random"
    assert json.loads((tmp_path / "a" / "benchmark.json").read_text())["agent"] == "random"


def test_a_process_that_behaves(tmp_path: Path) -> None:
    played = evaluate(write_script(tmp_path, LOWEST), tmp_path / "out")
    assert len(played.outcomes) == 4
    assert not any(outcome.forfeit for outcome in played.outcomes)


@pytest.mark.parametrize(
    ("text", "timeout", "reason"),
    [
        ("import sys\nfor line in sys.stdin: print('gibberish', flush=True)", 20, "gave no legal action in 3 answers"),
        ("import sys\nfor line in sys.stdin: print('{\"action\": 999}', flush=True)", 20, "'999' is no legal action"),
        ("import time\ntime.sleep(1000)", 0.5, "gave no answer within 0.5 seconds"),
        ("import sys\nsys.exit(3)", 20, r"died \(exit status 3\)"),
        ("import sys\nsys.stdin.readline()\nsys.exit(4)", 20, r"died \(exit status 4\)"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100000)", 20, "gave no legal action"),
        ("import sys\nwhile True: print('never mind')", 20, "gave no legal action"),
    ],
    ids=["garbage", "illegal", "hangs", "dies at once", "dies when asked", "floods", "does not listen"],
)
def test_a_process_that_does_not_forfeits_its_games_and_the_evaluation_goes_on(
    tmp_path: Path, text: str, timeout: float, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluate(write_script(tmp_path, text), tmp_path / "out", timeout)
    assert len(played.outcomes) == 4
    for outcome in played.outcomes:
        assert outcome.win_share == 0
        assert outcome.forfeit is not None
        assert re.search(reason, outcome.forfeit)
    assert played.results()["forfeits"] == 4
    assert capsys.readouterr().err.count("forfeited:") == 4


def test_one_bad_game_does_not_spoil_the_others(tmp_path: Path) -> None:
    """It dies in its first game, once; restarted, it plays on."""
    flag = tmp_path / "died"
    dies_once = (
        f"import os, sys\nif not os.path.exists({str(flag)!r}):\n    open({str(flag)!r}, 'w')\n    sys.exit(1)\n"
    )
    played = evaluate(write_script(tmp_path, dies_once + LOWEST), tmp_path / "out")
    assert [outcome.forfeit is not None for outcome in played.outcomes] == [True, False, False, False]


def test_it_is_asked_again_with_the_reason(tmp_path: Path) -> None:
    text = LOWEST.replace(
        "    print(",
        "    if 'error' not in json.loads(line):\n        print('eh?', flush=True)\n        continue\n    print(",
    )
    played = evaluate(write_script(tmp_path, text), tmp_path / "out")
    assert not any(outcome.forfeit for outcome in played.outcomes)


def test_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agents.py").write_text(
        "def lowest(message):\n    return min(message['legal'], key=int)\n"
        "def broken(message):\n    raise RuntimeError('no idea')\nnothing = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert not any(outcome.forfeit for outcome in evaluate("my_agents:lowest", tmp_path / "a").outcomes)
    forfeits = {outcome.forfeit for outcome in evaluate("my_agents:broken", tmp_path / "b").outcomes}
    assert forfeits == {"raised RuntimeError: no idea (at my_agents.py:4)"}


def test_a_class_that_chooses_an_illegal_action_forfeits_its_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_cheat.py").write_text(
        "import numpy as np\nfrom symphony9_env.agents import Agent\n"
        "class Cheat(Agent):\n    def decide(self, positions, rows):\n        return np.full(len(rows), 39)\n"
    )
    monkeypatch.chdir(tmp_path)
    played = evaluate("my_cheat.py:Cheat", tmp_path / "a")
    assert played.results()["forfeits"] == len(played.outcomes) == 4


def test_an_external_agent_sees_the_ledger_in_tasks_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ledger_agents.py").write_text(
        "def decide(message):\n"
        "    boards = message['view']['position']['boards'][: message['num_players']]\n"
        "    assert [board['money'] is None for board in boards].count(True) == MISSING\n"
        "    return message['view']['choices'][0]['action']\n"
    )
    monkeypatch.chdir(tmp_path)
    text = (tmp_path / "ledger_agents.py").read_text()
    for task, missing in (("2p", 1), ("2p-ledger", 0)):
        (tmp_path / "ledger_agents.py").write_text(text.replace("MISSING", str(missing)))
        made = Benchmark(task, "ledger_agents.py:decide", tmp_path / task, lite=True, timeout=5)
        made.play()
        assert made.results()["forfeits"] == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--agent", "planner"], "--agent and --task are needed"),
        (["--agent", "planner", "--task", "5p"], "--task 5p; allowed: 2p"),
        (["--agent", "planer", "--task", "2p"], "planer"),
        (["--agent", "planner", "--task", "2p", "--timeout", "0"], "timeout=0"),
        (["--agent", "stdio:", "--task", "2p"], "no command"),
        (["--agent", "stdio:/no/such/program", "--task", "2p"], "no such program as /no/such/program"),
    ],
)
def test_bad_input(arguments: list[str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        main([*arguments, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    assert capsys.readouterr().out.count("\n") == len(TASKS) + 1
