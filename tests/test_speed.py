"""The speed measurements run, count their steps, and list what is missing. No speed is asserted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from speed import (
    aec,
    evaluation,
    events,
    openspiel,
    peers,
    profile,
    rounds,
    search,
    server,
    start,
    think,
    throughput,
    training,
)
from symphony9_env import symphony9_v0
from symphony9_env.agents.policy import ShippedPolicy


def test_rates_and_ratios_are_medians_over_rounds() -> None:
    rates = {"fast": [20.0, 30.0, 80.0], "slow": [10.0, 10.0, 20.0]}
    assert rounds.median_rate(rates, "fast") == 30
    assert rounds.median_ratio(rates, "fast", "slow") == 3
    measured = rounds.measure_rates({"one": lambda: 7}, rounds=2, seconds=0.001)
    assert len(measured["one"]) == 2


def test_a_workload_counts_its_steps() -> None:
    play = aec.make_aec_workload(symphony9_v0.raw_env(num_players=2), turns=150)
    assert 145 <= play() <= 150  # a reset takes a turn
    assert throughput.make_batch_workload(16)() == 4096


@pytest.mark.parametrize(
    "make",
    [
        lambda: peers.make_pettingzoo_workload("tictactoe_v3", checked=True),
        lambda: peers.make_rlcard_workload("leduc-holdem"),
        lambda: peers.make_openspiel_workload("maedn(players=4)"),
        lambda: peers.make_openspiel_workload("leduc_poker(players=4)"),
        lambda: peers.make_pgx_workload("leduc_holdem", steps=5),
    ],
    ids=["pettingzoo", "rlcard", "maedn", "leduc", "pgx"],
)
@pytest.mark.filterwarnings("ignore")  # of the other libraries
def test_the_workloads_of_other_libraries_play(make: Any) -> None:
    assert make()() >= 400


@pytest.mark.filterwarnings("ignore")
def test_throughput_writes_json_and_plot_and_lists_missing_libraries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ("symphony9 batch 1024", "symphony9 AEC, raw", "RLCard leduc", "PettingZoo tictactoe, raw")
    few = {name: make for name, make in throughput.list_makers().items() if name in wanted}
    monkeypatch.setattr(throughput, "list_makers", lambda: few)
    monkeypatch.setattr(throughput, "pin_to_one_core", lambda: None)
    monkeypatch.setitem(sys.modules, "rlcard", None)
    monkeypatch.setattr(
        sys, "argv", ["throughput", "--rounds", "1", "--seconds", "0.01", "--out", str(tmp_path / "new")]
    )
    throughput.main()
    output = capsys.readouterr().out
    assert "RLCard leduc" in output
    assert "missing" in output
    written = json.loads((tmp_path / "new" / "throughput.json").read_text())
    assert set(written["medians"]) == set(wanted) - {"RLCard leduc"}
    assert (tmp_path / "new" / "throughput.png").read_bytes().startswith(b"\x89PNG")


def test_thinking_is_measured_and_its_parts_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(think, "NUM_POSITIONS", 16)
    policy = ShippedPolicy(0).for_players(2)
    games = think.make_positions(2, policy)
    assert think.make_workload("think:8", games)() == think.DECISIONS_PER_TURN
    parts = think.time_parts(games, policy, rounds=1)
    assert set(think.PARTS) < set(parts)
    assert min(parts.values()) > 0


def test_searches_count_their_playouts() -> None:
    assert search.make_search_workload(2)() == search.PLAYOUTS
    assert search.make_openspiel_workload("kuhn_poker")() == search.PLAYOUTS


def test_states_of_openspiel_are_cloned_described_and_resampled() -> None:
    workloads = openspiel.make_workloads()
    assert {name.split(", ")[0] for name in workloads} == {
        "move", "clone", "information state string", "resampled state"
    }  # fmt: skip
    for name, workload in workloads.items():
        if "symphony9" in name:
            assert workload() >= 50, name
    table = openspiel.format_rates({name: [2.0] for name in workloads})
    assert len(table.splitlines()) == len(workloads) + 1


def test_the_profile_measures_the_parts_of_a_step() -> None:
    times = profile.measure(num_games=8, rounds=4)
    assert {"whole step", "sampling", "rules", "observation", "legality"} <= set(times)
    assert min(times.values()) > 0


def test_workers_are_measured_with_their_share_of_the_games_and_with_as_many_as_one_worker_has() -> None:
    given = ("ppo.n_envs=48", "ppo.n_steps=4", "ppo.batch_size=32")
    chosen = {case: training.make_settings(2, case, given) for case in training.CASES}
    sizes = {case: (one.workers, one.ppo.n_envs, one.ppo.batch_size) for case, one in chosen.items()}
    assert sizes[training.ONE_WORKER] == (1, 48, 32)
    assert sizes[training.TWO_WORKERS] == (2, 48, 32)
    assert sizes[training.TWICE] == (2, 96, 64)
    assert sizes[training.ONE_SEAT] == sizes[training.SAME_EPOCHS] == (1, 512, 512)
    updates = [one.total_steps / (one.ppo.n_envs * one.ppo.n_steps) for one in chosen.values()]
    assert updates == [training.NUM_UPDATES] * len(training.CASES)


def test_training_is_reported_as_ratios_of_its_cases() -> None:
    rates = dict(zip(training.CASES, (100.0, 150.0, 300.0, 500.0, 570.0), strict=True))
    measured = {case: [training.Measured(rate, 4.0, 1e9)] * 3 for case, rate in rates.items()}
    lines = training.report(measured, training.make_settings(4, training.ONE_WORKER)).splitlines()
    assert "1 worker / one seat: 3.00 (with the same settings: 1.50)" in lines
    assert "2 workers / one seat: 5.00 (wanted: 2.5)" in lines
    assert "2 workers / 1 worker: 1.67 (wanted: 1.8) (with twice the games and minibatch: 1.90)" in lines


def test_two_checkouts_are_compared_in_processes_of_their_own(tmp_path: Path) -> None:
    checkout = Path(__file__).parent.parent
    rates = events.compare(checkout, rounds=2, seconds=0.01)
    assert {name: len(values) for name, values in rates.items()} == dict.fromkeys(rates, 2)
    assert "this checkout / baseline: " in events.format_ratio(rates, events.CURRENT, events.BASELINE)
    (tmp_path / "symphony9_env").mkdir()
    (tmp_path / "symphony9_env" / "__init__.py").touch()
    with pytest.raises(ValueError, match="can't be measured: its games can't be played"):
        events.compare(tmp_path, rounds=1, seconds=0.01)


@pytest.mark.parametrize("module", [aec, events, openspiel, profile, search, start, think, throughput, training])
def test_every_measurement_has_help(
    module: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["speed", "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main()
    assert stop.value.code == 0
    assert "python -m speed." in capsys.readouterr().out


def test_the_load_test_of_the_server_reports_both_kinds_of_players_and_the_baseline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ["--rounds", "1", "--players", "2", "--games", "1", "--thinkers", "2", "--think", "0.01", "--seconds", "1"]
    monkeypatch.setattr(sys, "argv", ["server", *few])
    server.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:12] for line in lines] == ["2 players at", "  bare Starl", "server / bar", "2 players wh"]
    assert "median" in lines[0]
    assert "99 %" in lines[-1]


def test_workers_of_an_evaluation_are_compared_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    evaluation.main(["--agent", "greedy", "--workers", "2", "--games", "8", "--rounds", "2"])
    head, _, one, two = capsys.readouterr().out.splitlines()
    assert head.startswith("greedy, 2 players, ")
    assert one.split()[-2:] == ["1.00", "1.00"]
    assert two.startswith("2 workers ")
    assert float(two.split()[-1]) > 0
    with pytest.raises(SystemExit):
        evaluation.main(["--workers", "2,0"])
