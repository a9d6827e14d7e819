"""verifiers: games between models, each of which has a seat, a conversation and a reward."""

from __future__ import annotations

import asyncio
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import TextGame
from symphony9_env.actions import NAMES
from tests.integrations.scripted import choose, play_directly

pytest.importorskip("verifiers.v1")

import verifiers.v1 as vf

from symphony9_env.integrations import verifiers as adapter
from symphony9_env.integrations.verifiers import ENV_ID, Symphony9Env, Symphony9Taskset

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "verifiers_game.py"))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries that verifiers uses


def read(messages: list[dict[str, Any]]) -> str:
    """Return what the model reads at a decision, as `TextEnv` puts it: at the first one, with the rules."""
    question = str(messages[-1]["content"])
    return question if len(messages) > 2 else f"{messages[0]['content']}\n\n{question}"


def play(seed: int, seats: list[str], **more: Any) -> tuple[Any, list[str]]:
    """Play a game of scripted models; return the episode and what the models read."""
    seen: list[str] = []

    def model(messages: list[dict[str, Any]]) -> str:
        seen.append(read(messages))
        return more.get("reply") or f"Hm. [{choose(seen[-1])}]"

    config = {"taskset": {"id": ENV_ID, "first_seed": seed}, "seats": seats, **more.get("config", {})}
    with EXAMPLE["serve_model"](model) as address:
        (episode,) = asyncio.run(EXAMPLE["play"](address, config, 1))
    return episode, seen


@pytest.mark.parametrize("seat", [0, 1])
def test_it_is_the_game_of_the_text_environment(seat: int) -> None:
    texts, reward, record = play_directly(seed=11, seat=seat, num_players=3, opponents="planner")
    seats = ["planner"] * 3
    seats[seat] = "model"
    episode, seen = play(11, seats)
    (trace,) = episode.traces
    assert episode.ok
    assert seen == texts[:-1]
    assert trace.agent.name == f"player_{seat}"
    assert trace.reward == reward
    assert trace.info[ENV_ID]["record"] == record
    assert "win" in trace.info[ENV_ID]["outcome"]


def test_every_model_has_its_own_conversation_and_reward() -> None:
    """What a seat reads is what it is asked in the same game without verifiers."""
    episode, seen = play(5, ["model", "model", "greedy"], config={"options": {"shaping": True}})
    assert episode.ok
    traces = {trace.agent.name: trace for trace in episode.traces}
    assert sorted(traces) == ["player_0", "player_1"]
    record = traces["player_0"].info[ENV_ID]["record"]
    game = TextGame(num_players=3, shaping=True)
    game.reset(seed=5)
    totals, told, begun = [0.0] * 3, [], set()
    for _, name in record["actions"]:
        if game.seat < 2:
            rules = "" if game.seat in begun else f"{game.prompt(game.seat)}\n\n"
            told.append(rules + game.question().text)
            begun.add(game.seat)
        game.play(NAMES.index(name))
        totals = [total + reward for total, reward in zip(totals, game.rewards, strict=True)]
    assert game.is_over
    assert seen == told
    assert [traces[f"player_{seat}"].reward for seat in (0, 1)] == pytest.approx(totals[:2])


def test_wrong_answers_are_asked_again_and_then_forfeit_the_game() -> None:
    episode, seen = play(7, ["model", "planner"], reply="[fly to the moon]", config={"max_errors": 1})
    assert len(seen) == 2
    assert "Your answer was not understood" in seen[1]
    (trace,) = episode.traces
    assert (trace.reward, trace.metrics["forfeit"]) == (-1.0, 1.0)
    assert trace.info[ENV_ID]["outcome"] == "player_0 gave no legal action"


def test_a_model_that_reaches_a_limit_forfeits_the_game() -> None:
    episode, seen = play(7, ["model", "planner"], config={"player_0": {"max_turns": 3}})
    assert len(seen) == 3
    (trace,) = episode.traces
    assert trace.reward == -1.0
    assert trace.info[ENV_ID]["outcome"] == "player_0 gave no legal action"


def test_tasks_are_consecutive_seeds() -> None:
    tasks = vf.load_taskset(vf.taskset_config_type(ENV_ID)(id=ENV_ID, first_seed=20))
    assert isinstance(tasks, Symphony9Taskset)
    assert [(task.data.idx, task.data.seed) for task in tasks.take(3)] == [(0, 20), (1, 21), (2, 22)]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"seats": ["planner", "planner"]}, "at least one 'model'"),
        ({"seats": ["model"] * 5}, "num_players=5"),
        ({"seats": ["model", "planer"]}, "planner"),
        ({"options": {"discusion": True}}, "did you mean 'discussion'"),
    ],
)
def test_wrong_settings_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        vf.load_environment(vf.resolve_env_config({"taskset": {"id": ENV_ID}, **config}))


def test_a_module_of_two_lines_makes_it_an_environment_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"from {adapter.__name__} import *", f"from {adapter.__name__} import __all__"]
    (tmp_path / "symphony9_hub.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    env = vf.load_environment(vf.resolve_env_config({"taskset": {"id": "symphony9-hub"}}))
    assert isinstance(env, Symphony9Env)
    assert sys.modules[ENV_ID] is adapter


def test_the_example_plays() -> None:
    (rewards,) = EXAMPLE["main"](["--games", "1", "--seats", "model,model"])
    assert sum(rewards.values()) == pytest.approx(0)
    assert sorted(rewards) == ["player_0", "player_1"]
