"""Inspect: the benchmark as an evaluation task, played by a scripted model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from symphony9_env import agents
from symphony9_env.arena import benchmark
from symphony9_env.arena.benchmark_games import _derive_seed, schedule_game
from symphony9_env.arena.benchmark_verification import verify
from symphony9_env.envs.text import TextEnv

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

from symphony9_env.integrations import inspect_ai as integration  # noqa: E402

SALT = "00ff"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "LITE_GAMES", 2)
    monkeypatch.setattr(benchmark, "OPPONENTS", ("random", "planner"))


def choose_middle(question: str) -> str:
    """A scripted answer: the legal action in the middle of the list."""
    numbers = re.findall(r"(\d+) [a-z]", question.rpartition("Legal actions:")[2])
    return f"I need it. [{numbers[len(numbers) // 2]}]"


def evaluate(
    folder: Path, answer: Callable[[str], str] = choose_middle, task: str = "2p", **more: Any
) -> tuple[Any, list[list[str]]]:
    """The log of an evaluation, and what the model was asked: the prompt and the question of each decision."""
    asked: list[list[str]] = []

    def generate(messages: Any, *_: Any) -> ModelOutput:
        asked.append([message.text for message in messages])
        output = ModelOutput.from_content("mockllm/model", answer(asked[-1][-1]))
        output.usage = ModelUsage(output_tokens=1, total_tokens=1)  # otherwise Inspect downloads a tokenizer to count
        return output

    (log,) = inspect_ai.eval(
        integration.symphony9_benchmark(task, salt=SALT),
        model=get_model("mockllm/model", custom_outputs=generate, memoize=False),
        log_dir=str(folder),
        display="none",
        **more,
    )
    return log, asked


def test_the_same_seed_seat_and_actions_are_the_same_game_as_in_the_text_environment(tmp_path: Path) -> None:
    log, asked = evaluate(tmp_path, sample_id=2)
    (sample,) = log.samples
    outcome = sample.scores["win_share"].metadata
    assert (outcome["opponent"], outcome["seat"], outcome["forfeit"]) == ("planner", 0, None)
    key = sample.metadata["key"]
    env = TextEnv(num_players=2, opponents=agents.make("planner", seed=_derive_seed(key, "opponent")), seat=0)
    text, done, texts = env.reset(seed=schedule_game(2, key, 2).seed), False, []
    prompt = env.game.prompt(0)
    while not done:
        texts.append([prompt, text.removeprefix(f"{prompt}\n\n")])
        text, _, done, info = env.step(choose_middle(text))
    assert asked == texts
    assert outcome["moves"] == [action for _, action in env.game.env.history]
    assert outcome["score"] == pytest.approx(info["score"])


def test_the_row_is_that_of_the_benchmark_and_can_be_verified(tmp_path: Path) -> None:
    log, _ = evaluate(tmp_path / "logs")
    agents.register("middle", lambda message: choose_middle(message["text"]))
    with benchmark.Benchmark("2p", "middle", tmp_path / "direct", lite=True, timeout=60, salt=SALT) as direct:
        expected = direct.run()
    assert [asdict(one) for one in integration.list_outcomes(log)] == [asdict(one) for one in direct.outcomes]
    row = integration.read_results(log)
    own = {"agent": "mockllm/model"}
    assert row == {name: value for name, value in expected.items() if name in row} | own
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert metrics == {name: one["win_rate"] for name, one in row["against"].items()} | {"score": row["score"]}
    integration.write_folder(log, tmp_path / "folder")
    assert "verified: 4 games" in verify(tmp_path / "folder")
    with pytest.raises(ValueError, match="holds results already"):
        integration.write_folder(log, tmp_path / "folder")


def test_the_command_prints_the_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, _ = evaluate(tmp_path / "logs")
    integration.main([log.location, "--out", str(tmp_path / "folder")])
    assert "| 2p | mockllm/model |" in capsys.readouterr().out
    assert "verified" in verify(tmp_path / "folder")


def test_three_illegal_answers_forfeit_the_game(tmp_path: Path) -> None:
    log, asked = evaluate(tmp_path, lambda question: "[fly to the moon]", sample_id=0)
    score = log.samples[0].scores["win_share"]
    assert score.value == 0
    assert "gave no legal action in 3 answers" in score.metadata["forfeit"]
    assert ["Your answer was not understood: 'fly to the moon'" in question for _, question in asked] == [
        False,
        True,
        True,
    ]


def test_an_error_of_the_provider_is_no_forfeit(tmp_path: Path) -> None:
    def fail(question: str) -> str:
        raise OSError("the network is down")

    log, _ = evaluate(tmp_path, fail, sample_id=0)
    assert log.status == "error"
    assert "the network is down" in log.samples[0].error.message
    with pytest.raises(ValueError, match="the log has 0 finished games; a row needs each of 4 games once"):
        integration.read_results(log)


@pytest.mark.parametrize("more", [{"token_limit": 5}, {"epochs": 2}, {"limit": 3}], ids=str)
def test_a_log_without_all_games_has_no_row(tmp_path: Path, more: dict[str, Any]) -> None:
    log, _ = evaluate(tmp_path, **more)
    assert log.status == "success"
    with pytest.raises(ValueError, match="a row needs each of 4 games once"):
        integration.read_results(log)
    if "token_limit" in more:
        assert {sample.scores["win_share"].value for sample in log.samples} == {0.0}


def test_nobody_is_told_to_talk_where_nobody_listens(tmp_path: Path) -> None:
    _, asked = evaluate(tmp_path, task="2p-discussion", sample_id=0)
    assert "announce" in asked[0][0]
    assert not any("who joins me?" in prompt for prompt, _ in asked)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="task 9p; allowed: 2p, 3p"):
        integration.symphony9_benchmark("9p")
    for wrong in ("xyz", 12):  # Inspect's command line makes a number of digits
        with pytest.raises(ValueError, match=f"salt {wrong}; allowed"):
            integration.symphony9_benchmark(salt=wrong)


def test_every_task_has_its_own_secret_deals() -> None:
    one, other = (integration.symphony9_benchmark() for _ in range(2))
    assert [sample.metadata["key"] for sample in one.dataset] != [sample.metadata["key"] for sample in other.dataset]
    assert one.metadata["private"]
    assert one.metadata["salt"] is None


def test_the_package_registers_its_task() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["inspect_ai"] == {"symphony9_env": integration.__name__}
