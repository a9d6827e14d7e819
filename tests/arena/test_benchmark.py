"""The benchmark: its tasks, its row, and the games that agents outside the package play or forfeit."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from symphony9_env import agents, symphony9_v0
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark import TASKS, Benchmark, main
from symphony9_env.arena.benchmark_games import GameOutcome, derive_key, schedule_game
from tests.agents.test_external import LOWEST, write_script
from tests.power_cut import record_syncs

SALT = "00ff"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play few games: the tests are about the protocol, not about strength."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("greedy", "random"))


def evaluate(agent: str, out: Path, timeout: float = 20.0, salt: str | None = None) -> Benchmark:
    with Benchmark("2p", agent, out, lite=True, timeout=timeout, salt=salt) as made:
        made.run()
    return made


def read_results(folder: Path) -> dict[str, object]:
    results: dict[str, object] = json.loads((folder / "results.json").read_text())
    return results


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
    assert results["protocol"] == "symphony9-benchmark/2"
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
    assert "4 games" in benchmark.verify(tmp_path / "a")


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
    assert "4 games" in benchmark.verify(tmp_path / "out")


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
        benchmark.verify(tmp_path)


def test_a_games_file_that_is_no_text_is_refused_with_its_name(tmp_path: Path) -> None:
    evaluate("greedy", tmp_path, salt=SALT)
    (tmp_path / "games.jsonl").write_bytes(b"\x91\n")
    with pytest.raises(ValueError, match=r"games\.jsonl can't be read"):
        benchmark.verify(tmp_path)
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
        benchmark.verify(tmp_path)
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
        benchmark.verify(tmp_path)


def test_a_folder_without_an_evaluation_can_not_be_verified(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results\.json can't be read"):
        main(["--verify", str(tmp_path)])


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


# Agents outside the package.


def test_a_process_that_behaves(tmp_path: Path) -> None:
    played = evaluate(write_script(tmp_path, LOWEST), tmp_path / "out")
    assert len(played.outcomes) == 4
    assert not any(outcome.forfeit for outcome in played.outcomes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys\nfor line in sys.stdin: print('gibberish', flush=True)", "gave no legal action in 3 answers"),
        ("import sys\nfor line in sys.stdin: print('{\"action\": 999}', flush=True)", "'999' is no legal action"),
        ("import sys\nwhile True: print('never mind')", "gave no legal action"),
    ],
    ids=["garbage", "illegal", "does not listen"],
)
def test_a_process_that_plays_badly_forfeits_its_games_and_the_evaluation_goes_on(
    tmp_path: Path, text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluate(write_script(tmp_path, text), tmp_path / "out")
    assert len(played.outcomes) == 4
    for outcome in played.outcomes:
        assert outcome.win_share == 0
        assert outcome.forfeit is not None
        assert re.search(reason, outcome.forfeit)
    assert played.results()["forfeits"] == 4
    assert capsys.readouterr().err.count("forfeited:") == 4


@pytest.mark.parametrize(
    ("text", "timeout", "reason"),
    [
        ("import time\ntime.sleep(1000)", 0.5, "gave no answer within 0.5 seconds"),
        ("import sys\nsys.exit('no model')", 20, r"died \(exit status 1\): no model"),
        ("import sys\nsys.stdin.readline()\nsys.exit(4)", 20, r"died \(exit status 4\)"),
        ("import sys\nwhile True: sys.stdout.write('x' * 100000)", 20, "without the end of a line"),
    ],
    ids=["hangs", "dies at once", "dies when asked", "floods"],
)
def test_a_process_that_never_answers_stops_the_evaluation_and_nothing_is_stored(
    tmp_path: Path, text: str, timeout: float, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason + ".*; stopped, because it gave no legal answer in 3 games in a row"):
        evaluate(write_script(tmp_path, text), tmp_path / "out", timeout)
    assert not (tmp_path / "out" / "games.jsonl").exists()
    assert not (tmp_path / "out" / "results.json").exists()


def test_a_script_that_does_not_exist_is_no_forfeit(tmp_path: Path) -> None:
    missing = f'stdio:"{sys.executable}" "{tmp_path / "missing.py"}"'
    with pytest.raises(ValueError, match=r"missing\.py.*No such file.*; stopped"):
        evaluate(missing, tmp_path / "out")
    (tmp_path / "missing.py").write_text(LOWEST)
    assert evaluate(missing, tmp_path / "out").results()["forfeits"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="makes a file executable")
def test_a_program_that_can_not_be_started_is_an_error_before_any_game(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x00 no program")
    program.chmod(0o755)
    with pytest.raises(ValueError, match="can't be started"):
        evaluate(f"stdio:{program}", tmp_path / "out")
    assert not (tmp_path / "out" / "games.jsonl").exists()


def test_a_program_that_stops_working_later_stops_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plays one game and dies in the second. Started again, it dies at once."""
    monkeypatch.setattr(benchmark, "LITE_GAMES", 3)
    dies = LOWEST.replace("for line", "import os\nfor line").replace(
        "    print(", "    if os.path.exists('FLAG'): os._exit(7)\n    print("
    )
    flag = tmp_path / "flag"
    agent = write_script(tmp_path, dies.replace("FLAG", str(flag)))
    with Benchmark("2p", agent, tmp_path / "out", lite=True, timeout=20) as made:
        add = made._add

        def add_and_break(outcomes: list[GameOutcome]) -> None:
            add(outcomes)
            flag.touch()

        made._add = add_and_break  # type: ignore[method-assign]
        with pytest.raises(ValueError, match=r"died \(exit status 7\); stopped"):
            made.play()
    assert [outcome.forfeit for outcome in made.outcomes] == [None, "died (exit status 7)"]


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
    with pytest.raises(ValueError, match=r"raised RuntimeError: no idea \(at my_agents\.py:4\); stopped"):
        evaluate("my_agents:broken", tmp_path / "b")
    with pytest.raises(ValueError, match="agent 'my_agents:nothing': is 3; needed: a function"):
        evaluate("my_agents:nothing", tmp_path / "c")


SNOOPING = """
import gc, os, sys, threading
import numpy as np
from symphony9_env.rules.state import GAME

def find_games():
    return [one for one in gc.get_objects() if isinstance(one, np.ndarray) and one.dtype == GAME and one.shape != (2,)]

def decide(message):
    print("this goes to the log")
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    with open("found", "w") as file:
        print(os.getpid(), len(find_games()), "play_game" in names, sep="\\n", file=file)
    return min(message["legal"], key=int)
"""


def test_a_function_runs_in_a_process_without_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("snooping.py").write_text(SNOOPING)
    played = evaluate("snooping.py:decide", tmp_path / "out")
    assert played.results()["forfeits"] == 0
    assert played.results()["trusted"] is False
    pid, num_games, sees_the_stack = Path("found").read_text().split()
    assert int(pid) != os.getpid()
    assert (num_games, sees_the_stack) == ("0", "False")
    assert not [name for name, module in sys.modules.items() if "snooping" in str(getattr(module, "__file__", ""))]
    assert (tmp_path / "out" / "agent.log").read_text().startswith("this goes to the log\n")


def test_a_function_that_never_returns_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sleeper.py").write_text("import time\ndef decide(message):\n    time.sleep(1000)\n")
    monkeypatch.setattr(benchmark, "MAX_SILENT_GAMES", 1)
    with pytest.raises(ValueError, match=r"gave no answer within 0\.5 seconds"):
        evaluate("sleeper.py:decide", tmp_path / "out", timeout=0.5)


@pytest.mark.parametrize("changed", ["my_agent.py", "helper.py"])
def test_after_a_change_of_its_code_an_agent_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_agent.py").write_text("import helper\n\ndef decide(message):\n    return helper.lowest(message)\n")
    Path("helper.py").write_text("def lowest(message):\n    return min(message['legal'], key=int)\n")
    evaluate("my_agent.py:decide", tmp_path / "out")
    evaluate("my_agent.py:decide", tmp_path / "out")
    Path(changed).write_text(Path(changed).read_text() + "# changed\n")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent_fingerprint "):
        evaluate("my_agent.py:decide", tmp_path / "out")


def test_after_a_change_of_its_script_a_process_is_another_agent(tmp_path: Path) -> None:
    evaluate(write_script(tmp_path, LOWEST), tmp_path / "out")
    with pytest.raises(ValueError, match=r"holds another evaluation \(agent_fingerprint "):
        evaluate(write_script(tmp_path, LOWEST + "\n"), tmp_path / "out")


def test_the_row_says_what_was_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for agent, is_verified in (("http://127.0.0.1:9/", False), ("stdio:python3 -V", False), ("greedy", True)):
        folder = tmp_path / re.sub(r"\W", "-", agent)
        with Benchmark("2p", agent, folder, lite=True, timeout=1) as made:
            assert made.settings["agent_is_verified"] is is_verified
    with Benchmark("2p", "http://127.0.0.1:9/", tmp_path / "done", lite=True, timeout=1) as made:
        made.outcomes = evaluate("greedy", tmp_path / "other").outcomes
        made.run()
    assert "as far as its name tells; its code was not verified" in capsys.readouterr().err


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
    assert played.results()["trusted"] is True  # it runs in this process, with the true states


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
        with Benchmark(task, "ledger_agents.py:decide", tmp_path / task, lite=True, timeout=20) as made:
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
