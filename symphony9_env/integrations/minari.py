"""Minari: recorded games as a dataset for offline learning, one episode for each seat of each game.

    symphony9 tournament --agents planner,search:100 --games 400 --records 400 --out runs/games
    python -m symphony9_env.integrations.minari runs/games/records/*.json --dataset symphony9/search-v0
    minari.load_dataset("symphony9/search-v0")

An episode holds the seat's observation and mask at each of its decisions, its action, and the reward until its next
decision; the reward of the game's end comes with its last action. `--seats winners` exports only the winners' episodes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Unpack

import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.storage import get_dataset_path

from symphony9_env import records
from symphony9_env.actions import number
from symphony9_env.arguments import Parser, add_option_arguments, read_options, run
from symphony9_env.envs.aec import RawEnv
from symphony9_env.names import agent_name
from symphony9_env.options import OPTION_NAMES, VARIANT_NAMES, OptionValues
from symphony9_env.records import replay

ALL: Final = "all"
WINNERS: Final = "winners"
DATA_FORMAT: Final = "hdf5"
PRESENTATION_NAMES: Final = OPTION_NAMES[len(VARIANT_NAMES) :]  # the record decides the variant


def episodes(record: Mapping[str, Any], seats: str = ALL, **options: Unpack[OptionValues]) -> list[EpisodeBuffer]:
    """Return an episode of a finished game for each of the seats: `all`, `winners`, or numbers separated by commas."""
    if "result" not in record:
        raise ValueError("the record has no result: the game is not over")
    chosen = _select_agents(record, seats)
    observations: dict[str, list[Any]] = {agent: [] for agent in chosen}
    rewards: dict[str, list[float]] = {agent: [] for agent in chosen}  # after each observation
    for env in replay(record, **options):
        for agent in chosen:
            if rewards[agent]:
                rewards[agent][-1] += env.rewards[agent]
            if agent == env.agent_selection or env.decision == "over":
                observations[agent].append(env.observe(agent))
                rewards[agent].append(0.0)
    return [_make_episode(record, agent, observations[agent], rewards[agent][:-1]) for agent in chosen]


def _select_agents(record: Mapping[str, Any], seats: str) -> list[str]:
    agents = [agent_name(seat) for seat in range(record["num_players"])]
    if seats == ALL:
        return agents
    if seats == WINNERS:
        return list(record["result"]["winners"])
    chosen = [agent_name(seat.strip()) for seat in seats.split(",")]
    if wrong := [agent for agent in chosen if agent not in agents]:
        raise ValueError(
            f"seats={seats!r}: no {wrong[0]}; allowed: all, winners, or 0 to {len(agents) - 1} separated by commas"
        )
    return chosen


def _make_episode(
    record: Mapping[str, Any], agent: str, observations: list[Any], rewards: list[float]
) -> EpisodeBuffer:
    actions = [number(name) for player, name in record["actions"] if player == agent]
    last = len(actions) - 1
    return EpisodeBuffer(
        seed=record.get("seed"),
        options={"agent": agent, "setup": json.dumps(record["setup"])},
        observations={name: np.stack([one[name] for one in observations]) for name in observations[0]},
        actions=np.array(actions, np.int64),
        rewards=rewards,
        terminations=[step == last for step in range(len(actions))],
        truncations=[False] * len(actions),
        infos={},
    )


def export(
    games: Iterable[Mapping[str, Any]],
    dataset: str,
    *,
    seats: str = ALL,
    **options: Unpack[OptionValues],
) -> minari.MinariDataset:
    """Write a Minari dataset of these games; the options of the environment decide the observations and rewards."""
    found = list(games)
    if not found:
        raise ValueError("no records; needed: at least one")
    kinds = {(record["num_players"], record.get("discussion", False)) for record in found}
    if len(kinds) > 1:
        raise ValueError(
            "records of different kinds; a dataset needs one number of players, all with discussion or all without"
        )
    num_players, discussion = kinds.pop()
    env = RawEnv(**{**options, "num_players": num_players, "discussion": discussion})
    buffer = [episode for record in found for episode in episodes(record, seats, **options)]
    if dataset in minari.list_local_datasets():
        raise ValueError(f"dataset {dataset!r} exists already; choose another name or delete it first")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that author and environment are not given
            return minari.create_dataset_from_buffers(
                dataset,
                buffer,
                observation_space=env.observation_space(agent_name(0)),
                action_space=env.action_space(agent_name(0)),
                algorithm_name="recorded games",
                description=f"Symphony No. 9 with {num_players} players, {len(found)} games, seats: {seats}",
                data_format=DATA_FORMAT,
                requirements=["symphony9-env"],
            )
    except BaseException:
        shutil.rmtree(get_dataset_path(dataset), ignore_errors=True)  # leave no incomplete dataset behind
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = Parser(prog="python -m symphony9_env.integrations.minari", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="RECORD", help="game records")
    parser.add_argument("--dataset", required=True, help="name of the dataset, such as symphony9/search-v0")
    parser.add_argument("--seats", default=ALL, help="all, winners, or seat numbers separated by commas (default: all)")
    add_option_arguments(parser, PRESENTATION_NAMES, "observations and rewards")
    chosen = parser.parse_args(arguments)
    return run("minari", lambda: _export_files(chosen))


def _export_files(chosen: argparse.Namespace) -> None:
    games = [records.load(file) for file in chosen.files]
    made = export(games, chosen.dataset, seats=chosen.seats, **read_options(chosen, PRESENTATION_NAMES))
    print(f"{made.id}: {made.total_episodes} episodes, {made.total_steps} decisions, in {made.storage.data_path}")


if __name__ == "__main__":
    sys.exit(main())
