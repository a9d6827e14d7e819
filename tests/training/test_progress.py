"""The progress of a run: lines, and the learning curve."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import pytest
import yaml

from symphony9_env import agents
from symphony9_env.agents.policy import PolicyAgent
from symphony9_env.arena.figures import STYLE
from symphony9_env.arena.matches import play_against
from symphony9_env.arguments import run
from tests.training.runs import SHORT, TINY, FakeWandb, settings
from training import run as training_run
from training import train
from training.group import Group
from training.network import export_weights, make_card
from training.ppo import SelfPlayPPO
from training.progress import evaluate, join_parts, plot_win_rates
from training.run import RunFolder

ROOT = Path(__file__).parent.parent.parent


def test_progress_is_shown_as_lines_if_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = settings(**SHORT, behaviour_cloning={"agent": "greedy", "games": 256})
    train.train(chosen, RunFolder(tmp_path / "run"))
    lines = capsys.readouterr().err.splitlines()
    cloning = [line for line in lines if line.startswith("cloning")]
    assert cloning[0] == "cloning greedy: 0 of 256 games after 0 s"
    assert cloning[-1].startswith("cloning greedy: 256 of 256 games after ")
    assert ", agreement " in cloning[-1]
    assert lines[len(cloning)] == "0 of 512 steps after 0 s"
    evaluations = [re.fullmatch(r"(\d+) steps in 0\.\d minutes: wins against random \d+%", line) for line in lines]
    assert [found[1] for found in evaluations if found] == ["0", "512"]
    assert lines[-1].startswith("512 of 512 steps after ")
    assert lines[-1].endswith(", saved 512")


@pytest.mark.parametrize("names", [["random"], ["random", "greedy", "planner", "runs/" + "x" * 200 + ".safetensors"]])
def test_the_legend_covers_no_line(names: list[str]) -> None:
    rows = [{"steps": 1e6 * step, "seconds": 1.0} for step in range(3)]
    for row in rows:
        for name in names:
            row |= {name: 0.5, f"{name}_low": 0.4, f"{name}_high": 0.6}
    with mpl.rc_context(STYLE):
        figure = plot_win_rates(rows, 4, "run: 4 players")
        figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_legend() is None
    assert legend.get_window_extent().x0 >= axes.get_window_extent().x1
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    assert axes.get_window_extent().width > figure.bbox.width / 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")
def test_ctrl_c_in_the_first_seconds_prints_one_line(tmp_path: Path) -> None:
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    command = [sys.executable, "-m", "training.train", "--config", str(config), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "libtorch" not in Path(f"/proc/{process.pid}/maps").read_text():  # it is being imported
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "\nstopped before the training began\n")
    assert not (tmp_path / "run").exists()


def test_the_log_also_goes_to_weights_and_biases_if_the_settings_name_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeWandb(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    folder = RunFolder(tmp_path / "run")
    train.train(settings(**SHORT, wandb="symphony"), folder)
    del sys.modules["wandb"]
    begin, *logged, end = fake.calls()
    options = begin[1]
    assert (options["project"], options["name"], options["dir"]) == ("symphony", "run", str(folder.path))
    assert options["config"]["ppo"]["n_envs"] == 16
    names = [(step, "win_rate/random" in values, "train/loss" in values) for _, values, step in logged]
    assert names == [(0, True, False), (256, False, True), (512, False, True), (512, True, False)]
    assert {"train/explained_variance", "train/learning_rate", "train/approx_kl"} <= set(logged[1][1])
    assert end == ["finish"]


def test_a_project_of_weights_and_biases_needs_it_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training_run, "find_spec", lambda name: None)
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY))
    arguments = ["--config", str(config), "--out", str(tmp_path / "run"), "wandb=symphony"]
    assert run("train", lambda: train.main(arguments)) == 2
    error = capsys.readouterr().err
    assert error == "train: wandb=symphony: Weights & Biases is not installed; pip install wandb\n"


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_workers_share_the_games_of_an_evaluation(size: int) -> None:
    """Also if there are more workers than deals: some then play none."""
    chosen = settings(evaluation={"games": 12, "opponents": ["random", "greedy"]})
    model = SelfPlayPPO(chosen, Group())
    parts = []
    for rank in range(size):
        group = Group()
        group.rank, group.size = rank, size
        parts.append(evaluate(chosen, make_card(chosen, {}), export_weights(model.policy), group))
    alone = evaluate(chosen, make_card(chosen, {}), export_weights(model.policy), Group())
    assert sum(len(part["random"][0]) for part in parts) == 12
    assert join_parts(parts, 1, 2.0) == pytest.approx(join_parts([alone], 1, 2.0))


def test_a_coalition_is_evaluated_in_all_seats_but_one() -> None:
    chosen = settings(opponents={"latest": 0, "past": 0, "fixed": {"random": 1}, "coalition": True})
    model = SelfPlayPPO(chosen, Group())
    card, weights = make_card(chosen, {}), export_weights(model.policy)
    shares, deals = evaluate(chosen, card, weights, Group())["random"]
    players = agents.make("random", seed=2), PolicyAgent("learner", card, weights, seed=1)
    evaluation = chosen.evaluation
    expected, same_deals = play_against(*players, chosen.game.options().variant, evaluation.games, evaluation.seed)
    assert shares.tolist() == [(1 - share) / 2 for share in expected]  # of each of its two seats
    assert deals.tolist() == same_deals.tolist()
