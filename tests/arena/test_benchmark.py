"""The benchmark: its tasks, its row, its folder and its command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.arena.benchmark import TASKS, Benchmark, main
from symphony9_env.arena.benchmark_games import GameOutcome, schedule_game
from tests.arena.evaluations import SALT, evaluate, read_results
from tests.power_cut import record_syncs

pytestmark = pytest.mark.usefixtures("short_evaluations")


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
    assert results["protocol"] == "symphony9-benchmark/3"
    assert results["score"] == pytest.approx(sum(row["win_rate"] for row in results["against"].values()) / 2)
    assert f"| 3p | greedy | {100 * results['score']:.1f} % |" in capsys.readouterr().out


def test_games_are_those_of_the_environment_with_the_same_seeds(tmp_path: Path) -> None:
    for outcome in evaluate("greedy", tmp_path / "a").outcomes:
        game = schedule_game(outcome.game, outcome.key, 2)
        env = symphony9_v0.raw_env(num_players=2)
        env.reset(seed=game.seed)
        seat = game.agents.index(0)
        for move in outcome.moves:
            if env.deciding_seat == seat:
                assert move == agents.make("greedy", seed=0).choose(env)
            env.step(move)
        ranks = [env.infos[agent]["rank"] for agent in env.possible_agents]
        assert outcome.win_share == (ranks[seat] == 1) / ranks.count(1)
        assert outcome.score == env.infos[f"player_{seat}"]["score"]


# The folder.


def test_a_second_evaluation_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        Benchmark("2p", "greedy", tmp_path, lite=True, timeout=1),
        pytest.raises(ValueError, match="another benchmark is using this folder"),
    ):
        Benchmark("2p", "greedy", tmp_path, lite=True, timeout=1)
    evaluate("greedy", tmp_path)  # the lock is released


def test_a_finished_evaluation_says_that_nothing_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--task", "2p", "--lite", "--agent", "greedy", "--out", str(tmp_path)]
    main(arguments)
    first = capsys.readouterr()
    main(arguments)
    second = capsys.readouterr()
    assert second.out == first.out
    assert "already finished, nothing was played: the agent is unchanged;" in second.err
    assert "already" not in first.err


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="power cuts are simulated with /proc")
def test_games_that_were_counted_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[Path, int]] = []
    (tmp_path / "disk").mkdir()
    with record_syncs(tmp_path / "disk") as disk:
        add = Benchmark._add

        def add_and_cut(self: Benchmark, outcomes: list[GameOutcome]) -> None:
            add(self, outcomes)
            counted.append((disk.restore(tmp_path / f"cut-{len(counted)}"), len(self.outcomes)))

        monkeypatch.setattr(Benchmark, "_add", add_and_cut)
        evaluate("greedy", tmp_path / "disk" / "out", salt=SALT)
        counted.append((disk.restore(tmp_path / "end"), 4))
    monkeypatch.setattr(Benchmark, "_add", add)
    assert [number for _, number in counted[:4]] == [1, 2, 3, 4]
    for folder, number in counted:
        with Benchmark("2p", "greedy", folder / "out", lite=True, timeout=20, salt=SALT) as again:
            assert len(again.outcomes) == number
    assert read_results(tmp_path / "end" / "out")["salt"] == SALT


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path / "a")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent 'greedy', not 'random'\)"):
        evaluate("random", tmp_path / "a")
    file = tmp_path / "a" / "benchmark.json"
    file.write_text(json.dumps(json.loads(file.read_text())))  # the same settings, formatted otherwise
    evaluate("greedy", tmp_path / "a")


def test_an_agent_can_be_changed_while_no_game_is_finished(tmp_path: Path) -> None:
    Benchmark("2p", "greedy", tmp_path / "a", lite=True, timeout=1).close()
    assert evaluate("random", tmp_path / "a").settings["agent"] == "random"
    assert json.loads((tmp_path / "a" / "benchmark.json").read_text())["agent"] == "random"


# The command line.


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--agent", "planner"], "--agent and --task are needed"),
        (["--agent", "planner", "--task", "5p"], "--task 5p; allowed: 2p"),
        (["--agent", "planer", "--task", "2p"], "planer"),
        (["--agent", "planner", "--task", "2p", "--timeout", "0"], "timeout=0"),
        (["--agent", "stdio:", "--task", "2p"], "no command"),
        (["--agent", "greedy", "--task", "2p", "--salt", "0x1"], "--salt 0x1; allowed: 1 to 64 bytes"),
        (["--agent", "no_such_module:decide", "--task", "2p"], "No module named 'no_such_module'"),
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
