"""The tournament command, as a person would use and misuse them."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import records
from symphony9_env.agents import Card, save_policy
from symphony9_env.arena import tournament
from symphony9_env.arena.games_csv import COLUMNS
from symphony9_env.arguments import run, split_names
from symphony9_env.options import Variant
from tests.agents.test_external import LOWEST, write_script
from tests.agents.test_protocol import random_weights
from tests.power_cut import record_syncs
from tests.web.browser import Screen, chromium

SMALL = ["--agents", "random,greedy", "--num-players", "2", "--games", "12"]


def play(out: Path, *more: str) -> dict[str, Any]:
    tournament.main([*SMALL, "--out", str(out), *more])
    return dict(json.loads((out / "results.json").read_text()))


def test_a_tournament_leaves_its_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = play(tmp_path / "t", "--records", "3")
    shown = capsys.readouterr().out
    assert results["games"] == 12
    for name in ("random", "greedy"):
        one = results["agents"][name]
        assert one["games"] == 12
        low, high = one["win_rate_95"]
        assert low <= one["win_rate"] <= high
        low, high = one["rating_95"]
        assert low <= one["rating"] <= high
        assert one["mean_score"] > 0
        assert name in shown
    assert sum(one["win_rate"] for one in results["agents"].values()) == pytest.approx(1)
    assert str(tmp_path / "t" / "report.html") in shown
    with (tmp_path / "t" / "games.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == COLUMNS
    assert len(lines) == 24
    kept = sorted((tmp_path / "t" / "records").iterdir())
    assert len(kept) == 3
    *_, last = records.replay(records.load(kept[0]))
    assert last.record()["result"]["scores"] == [float(line["score"]) for line in lines[:2]]


def test_only_files_that_were_written_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "a", "--records", "0")
    assert capsys.readouterr().out.endswith("beside it: results.json, games.csv\n")
    play(tmp_path / "b", "--records", "1")
    assert capsys.readouterr().out.endswith("beside it: results.json, games.csv, records/, watch.html\n")


def test_the_same_command_gives_the_same_results_and_plays_nothing_twice(tmp_path: Path) -> None:
    first = play(tmp_path / "a")
    games = (tmp_path / "a" / "games.csv").read_bytes()
    again = play(tmp_path / "a")
    assert (tmp_path / "a" / "games.csv").read_bytes() == games
    other = play(tmp_path / "b")
    for results in (first, again, other):
        results.pop("command")
    assert first == again == other


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Half of the games, and a line that a kill cut in two."""
    whole = play(tmp_path / "whole", "--games", "20")
    play(tmp_path / "stopped", "--games", "8")
    file = tmp_path / "stopped" / "games.csv"
    lines = file.read_text().splitlines(keepends=True)
    for cut in (lines[-1][:30], lines[-1], ""):  # in a line, in a game, between games
        file.write_text("".join(lines[:-2]) + lines[-2] * (cut != "") + cut[:30])
        results = play(tmp_path / "stopped", "--games", "20")
        for one in (whole, results):
            one.pop("command", None)
        assert results == whole
        assert file.read_bytes() == (tmp_path / "whole" / "games.csv").read_bytes()


def test_ctrl_c_keeps_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = tournament.Tournament._play_batch

    def stopping(self: tournament.Tournament, numbers: range) -> None:
        played(self, numbers)
        raise KeyboardInterrupt

    monkeypatch.setattr(tournament.Tournament, "_play_batch", stopping)
    status = run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")]))
    assert status == 130
    kept = json.loads((tmp_path / "t" / "results.json").read_text())["games"]
    assert 0 < kept < 12
    monkeypatch.undo()
    assert play(tmp_path / "t")["games"] == 12


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_long_names_do_not_cut_off_the_tables_of_the_report(tmp_path: Path) -> None:
    name = "a_policy_with_a_very_long_name_" * 4
    play(tmp_path / "t", "--agent", f"{name}=planner", "--games", "6")
    with chromium() as browser:
        page = Screen(browser, (tmp_path / "t" / "report.html").as_uri()).page
        boxes = "[...document.querySelectorAll('.scroll')]"
        sizes = page.evaluate(f"{boxes}.map(box => [box.scrollWidth, box.clientWidth])")
        assert len(sizes) == 2
        assert all(needed <= shown for needed, shown in sizes)


def test_the_report_opens_without_a_network(tmp_path: Path) -> None:
    play(tmp_path / "t")
    page = Tags()
    page.feed((tmp_path / "t" / "report.html").read_text())
    assert page.tags.count("figure") == 9
    assert page.tags.count("figcaption") == 9
    assert "script" not in page.tags
    for link in page.links:
        assert link.startswith("#") or (tmp_path / "t" / link).exists(), link
    for title in ("Ratings", "Head to head", "Seats", "Scoring tiles", "Concerts", "Bids", "Furniture", "Length"):
        assert title in page.text


def test_names_can_not_become_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(num_players=(2,), hidden=(4,))
    monkeypatch.chdir(tmp_path)
    name = "<b>&x.safetensors"
    save_policy(tmp_path / name, card, random_weights(card))
    tournament.main(["--agents", f"random,{name}", "--num-players", "2", "--games", "4", "--out", "t"])
    page = Tags()
    page.feed((tmp_path / "t" / "report.html").read_text())
    assert "b" not in page.tags
    assert name in page.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agents", "random,planer"], "unknown agent 'planer'; did you mean 'planner'?"),
        (["--agents", "random,random"], "'random' is named twice"),
        (["--agents", "search,search:800"], "'search:800' is named twice"),
        (["--agents", "a=greedy,a=planner"], "'a' is named twice; label one, as in other=planner"),
        (["--agents", "random,"], "unknown agent ''"),
        (["--agents", ""], "--agents or --agent is needed: random"),
        (["--timeout", "0"], "timeout=0"),
        (["--agents", "search:0,random"], "agent 'search:0'; allowed"),
        (["--num-players", "5"], "num_players=5; allowed: 2, 3, 4"),
        (["--seed", "-1"], "seed=-1"),
        (["--tracks", "modern"], "tracks='modern'"),
        (["--components", "nowhere.toml"], "nowhere.toml"),
        (["--agents", "random,missing.safetensors"], "policy missing.safetensors: no such file"),
        (["--agents", "random", "--lineups", "one-against-rest"], "needs two agents"),
        (["--out", "/proc/nothing"], "--out /proc/nothing: can't be written to"),
        (["--out", "/dev/null/x"], "--out /dev/null/x: can't be written to"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*SMALL, "--out", str(tmp_path / "t"), *arguments]
    assert run("tournament", lambda: tournament.main(given)) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert said in error[0]
    assert not (tmp_path / "t" / "games.csv").exists()


def test_a_policy_for_other_player_counts_is_refused_before_anything_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = Card(num_players=(4,), hidden=(4,))
    save_policy(tmp_path / "p.safetensors", card, random_weights(card))
    given = [*SMALL, "--agents", f"random,{tmp_path / 'p.safetensors'}", "--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "is for 4 players; this game has 2" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_a_folder_of_another_tournament_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "t")
    before = {file: file.read_bytes() for file in (tmp_path / "t").glob("*.*")}
    for more, said in (
        (["--seed", "1"], "holds another tournament (seed 0, not 1)"),
        (["--agents", "random,planner"], "holds another tournament (agents ['random', 'greedy'], not"),
    ):
        capsys.readouterr()
        given = [*SMALL, "--out", str(tmp_path / "t"), *more]
        assert run("tournament", lambda given=given: tournament.main(given)) == 2  # type: ignore[misc]
        assert said in capsys.readouterr().err
    assert {file: file.read_bytes() for file in before} == before
    (tmp_path / "t" / "tournament.json").write_text("{")
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    assert "tournament.json can't be read" in capsys.readouterr().err


def test_an_agent_can_be_mended_while_no_game_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--agents", "random,agent.py:decide", "--num-players", "2", "--games", "4", "--out", "t"]
    Path("agent.py").write_text("def decide(message):\n    return message['ranks']\n")
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "no game was finished" in capsys.readouterr().err
    Path("agent.py").write_text("def decide(message):\n    return min(message['legal'], key=int)\n")
    tournament.main(given)
    Path("agent.py").write_text("def decide(message):\n    return max(message['legal'], key=int)\n")
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "holds another tournament (fingerprints" in capsys.readouterr().err


def test_a_games_file_without_settings_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "games.csv").write_text("mine")
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path)])) == 2
    assert "has a games.csv but no tournament.json" in capsys.readouterr().err
    assert (tmp_path / "games.csv").read_text() == "mine"


def test_a_games_file_that_was_changed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "t")
    file = tmp_path / "t" / "games.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0] + "".join(lines[3:]))
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    assert "games.csv does not hold the games in order" in capsys.readouterr().err


def change_cell(column: str, value: str) -> Callable[[bytes], bytes]:
    def change(text: bytes) -> bytes:
        rows = [line.split(b",") for line in text.splitlines()]
        rows[2][rows[0].index(column.encode())] = value.encode()
        return b"\n".join(b",".join(row) for row in rows) + b"\n"

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-200] + b"\x80" + text[-200:],
        lambda text: text.replace(b"\n", b",1\n").replace(b",1\n", b"\n", 1),  # a cell too many in every row
        lambda text: text.rsplit(b",", 1)[0] + b"\n",  # a cell too few in the last row
        change_cell("agent", "nobody"),
        change_cell("rank", "3"),
        change_cell("rank", ""),
        change_cell("win_share", "nan"),
        change_cell("win_share", "-1"),
        change_cell("score", "inf"),
        change_cell("score", "many"),
        change_cell("score", "1e308"),
        change_cell("moves", ""),
        change_cell("furniture_sold", "4000000000"),
        change_cell("furniture_sold", "-1"),
        change_cell("furniture_sold", ""),
    ],
)
def test_a_damaged_row_is_refused_in_one_line_that_names_the_file(
    change: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(tmp_path / "t")
    file = tmp_path / "t" / "games.csv"
    damaged = change(file.read_bytes())
    file.write_bytes(damaged)
    capsys.readouterr()
    assert run("tournament", lambda: tournament.main([*SMALL, "--out", str(tmp_path / "t")])) == 2
    error = capsys.readouterr().err
    assert "games.csv" in error
    assert error.count("\n") == 1
    assert file.read_bytes() == damaged


def test_other_files_among_the_records_are_left_alone(tmp_path: Path) -> None:
    play(tmp_path / "t")
    for name in ("notes.json", "game-x.json", f"game-{'9' * 5000}"[:200] + ".json"):
        (tmp_path / "t" / "records" / name).write_text("{}")
    play(tmp_path / "t")


def test_a_link_among_the_records_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "t" / "records").mkdir(parents=True)
    (tmp_path / "other").write_text("mine")
    (tmp_path / "t" / "records" / "game-0.json").symlink_to(tmp_path / "other")
    play(tmp_path / "t")
    assert (tmp_path / "other").read_text() == "mine"


def test_a_policy_that_was_replaced_is_another_tournament(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card, path = Card(num_players=(2,), hidden=(4,)), tmp_path / "p.safetensors"
    given = [*SMALL, "--agents", f"random,{path}", "--out", str(tmp_path / "t")]
    save_policy(path, card, random_weights(card))
    tournament.main(given)
    tournament.main(given)  # the same policy: goes on
    save_policy(path, card, random_weights(card, seed=1))
    assert run("tournament", lambda: tournament.main(given)) == 2
    assert "holds another tournament (fingerprints" in capsys.readouterr().err


def test_who_has_not_played_when_it_is_stopped_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = tournament.Tournament._play_batch
    batches: list[range] = []

    def once(self: tournament.Tournament, numbers: range) -> None:
        if batches:
            raise KeyboardInterrupt
        batches.append(numbers)
        real(self, numbers)

    monkeypatch.setattr(tournament.Tournament, "_play_batch", once)
    given = ["--agents", "random,greedy,planner", "--num-players", "2", "--games", "12", "--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 130
    results = json.loads((tmp_path / "t" / "results.json").read_text())
    assert set(results["agents"]) == {"random", "greedy"}
    monkeypatch.undo()
    tournament.main(given)
    assert len(json.loads((tmp_path / "t" / "results.json").read_text())["agents"]) == 3


def test_names_with_commas_and_repeated_options(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("import sys\nassert sys.argv[1] == '1,2'\n" + LOWEST)
    own = f"stdio:{sys.executable} {script} 1,2"
    assert split_names(f'random, "x={own}",greedy') == ["random", f"x={own}", "greedy"]
    given = ["--num-players", "2", "--games", "4", "--records", "0", "--out"]
    tournament.main(["--agents", f'random,"x={own}"', *given, str(tmp_path / "a")])
    tournament.main(["--agent", "random", "--agent", f"x={own}", *given, str(tmp_path / "b")])
    assert (tmp_path / "a" / "games.csv").read_text() == (tmp_path / "b" / "games.csv").read_text()


@pytest.mark.parametrize("text", ["greedy\nrandom", "greedy\rrandom", "a" * 200_000], ids=["line", "return", "long"])
def test_what_is_no_list_of_agents_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="agents on one line, separated by commas"):
        split_names(text)


def test_a_process_that_dies_is_named_and_its_finished_games_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = tmp_path / "mended"
    dies = f"import os, sys\nanswers = 0\nmended = os.path.exists({str(flag)!r})\n" + LOWEST.replace(
        "    print(", "    answers += 1\n    if answers > 100 and not mended:\n        sys.exit(3)\n    print("
    )
    own = write_script(tmp_path, dies)
    given = ["--agents", "random", "--agent", f"mine={own}", "--num-players", "2", "--games", "12", "--records", "0"]
    given += ["--out", str(tmp_path / "t")]
    assert run("tournament", lambda: tournament.main(given)) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "agent 'mine' died (exit status 3); " in error
    assert "of 12 games are kept, and the same command continues if the agents are unchanged" in error
    kept = (tmp_path / "t" / "games.csv").read_text()
    assert kept.count("\n") > 2
    flag.touch()
    tournament.main(given)
    games = (tmp_path / "t" / "games.csv").read_text()
    assert games.startswith(kept)
    assert games.count("\n") == 25


def test_records_say_which_agent_a_label_stands_for(tmp_path: Path) -> None:
    players = tournament.make_agents(["one=random", "greedy"], 2, 0, 1)
    with tournament.Tournament(players, Variant(num_players=2), str(tmp_path / "t"), seed=0, num_records=1) as made:
        made.play(2)
    seats = records.load(tmp_path / "t" / "records" / "game-0.json")["players"]
    assert sorted((seat["name"], seat["agent"]) for seat in seats) == [("greedy", "greedy"), ("one", "random")]


def make_tournament(out: Path, num_records: int = 12) -> tournament.Tournament:
    players = tournament.make_agents(["random", "greedy"], 2, 0, 1)
    return tournament.Tournament(players, Variant(num_players=2), str(out), seed=0, num_records=num_records)


def test_a_second_tournament_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with make_tournament(tmp_path), pytest.raises(ValueError, match="another tournament is using this folder"):
        play(tmp_path)
    play(tmp_path)  # the lock is released


def test_a_folder_of_another_tournament_stays_unlocked(tmp_path: Path) -> None:
    play(tmp_path)
    with pytest.raises(ValueError, match="holds another tournament"):
        play(tmp_path, "--seed", "1")
    play(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="power cuts are simulated with /proc")
def test_games_that_were_counted_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    cuts: list[tuple[Path, str]] = []
    with record_syncs(tmp_path / "disk") as disk, make_tournament(tmp_path / "disk" / "t") as whole:
        monkeypatch.setattr(tournament, "MAX_BATCH", 2)
        play_batch = whole._play_batch

        def play_and_cut(numbers: range) -> None:
            play_batch(numbers)
            cuts.append((disk.restore(tmp_path / f"cut-{len(cuts)}") / "t", whole.folder.games.read_text()))

        monkeypatch.setattr(whole, "_play_batch", play_and_cut)
        whole.play(12)
    assert len(cuts) == 6
    for number, (folder, games) in enumerate(cuts, 1):
        assert (folder / "games.csv").read_text() == games
        with make_tournament(folder) as again:
            assert again.num_played == 2 * number
        assert len(list((folder / "records").glob("game-*.json"))) == 2 * number
        for file in (folder / "records").iterdir():
            records.load(file)


def test_an_empty_games_file_is_begun_again(tmp_path: Path) -> None:
    whole = play(tmp_path / "t")
    (tmp_path / "t" / "games.csv").write_text("")
    assert play(tmp_path / "t")["agents"] == whole["agents"]
    assert play(tmp_path / "t")["agents"] == whole["agents"]


def test_wrong_options_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        tournament.main(["--games", "0"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "whole number from 1 up" in error
