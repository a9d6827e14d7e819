"""The speed run, count what they say, and name who is missing. No speed is asserted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from speed import aec, peers, profile, rounds, search, start, throughput, training
from symphony9_env import symphony9_v0


def test_rates_and_ratios_are_taken_round_by_round() -> None:
    rates = {"fast": [20.0, 30.0, 80.0], "slow": [10.0, 10.0, 20.0]}
    assert rounds.median(rates, "fast") == 30
    assert rounds.ratio(rates, "fast", "slow") == 3
    measured = rounds.measure({"one": lambda: 7}, rounds=2, seconds=0.001)
    assert len(measured["one"]) == 2


def test_a_player_counts_the_decisions_it_plays() -> None:
    play = aec.aec_player(symphony9_v0.raw_env(num_players=2), turns=150)
    assert 145 <= play() <= 150  # less the resets
    assert throughput.batch_player(16)() == 4096


@pytest.mark.parametrize(
    "make",
    [
        lambda: peers.pettingzoo_game("tictactoe_v3", checked=True),
        lambda: peers.rlcard_game("leduc-holdem"),
        lambda: peers.open_spiel_game("maedn(players=4)"),
        lambda: peers.open_spiel_game("leduc_poker(players=4)"),
        lambda: peers.pgx_game("leduc_holdem", steps=5),
    ],
    ids=["pettingzoo", "rlcard", "maedn", "leduc", "pgx"],
)
@pytest.mark.filterwarnings("ignore")  # theirs
def test_the_peers_play(make: Any) -> None:
    assert make()() >= 400


@pytest.mark.filterwarnings("ignore")
def test_throughput_writes_table_json_and_plot_and_names_who_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ("symphony9 batch 1024", "symphony9 AEC, raw", "RLCard leduc", "PettingZoo tictactoe, raw")
    few = {name: make for name, make in throughput.makers().items() if name in wanted}
    monkeypatch.setattr(throughput, "makers", lambda: few)
    monkeypatch.setattr(throughput, "pin_to_one_core", lambda: None)
    monkeypatch.setitem(sys.modules, "rlcard", None)
    monkeypatch.setattr(
        sys, "argv", ["throughput", "--rounds", "1", "--seconds", "0.01", "--out", str(tmp_path / "new")]
    )
    throughput.main()
    shown = capsys.readouterr().out
    assert "RLCard leduc" in shown
    assert "missing" in shown
    written = json.loads((tmp_path / "new" / "throughput.json").read_text())
    assert set(written["medians"]) == set(wanted) - {"RLCard leduc"}
    assert (tmp_path / "new" / "throughput.png").read_bytes().startswith(b"\x89PNG")


def test_searches_count_their_playouts() -> None:
    assert search.ours(2)() == search.PLAYOUTS
    assert search.openspiel("kuhn_poker")() == search.PLAYOUTS


def test_the_profile_takes_a_step_apart() -> None:
    times = profile.measure(num_games=8, rounds=4)
    assert {"whole step", "sampling", "rules", "observation", "legality"} <= set(times)
    assert min(times.values()) > 0


@pytest.mark.parametrize("module", [aec, profile, search, start, throughput, training])
def test_every_benchmark_has_help(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main()
    assert stop.value.code == 0
    assert "python -m speed." in capsys.readouterr().out
