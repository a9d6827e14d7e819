"""Minari: recorded games as a dataset for offline learning, one episode for each seat of each game.

    symphony9 tournament --agents planner,search:100 --games 400 --records 400 --out runs/games
    python -m symphony9_env.integrations.minari runs/games/records/*.json --dataset symphony9/search-v0
    minari.load_dataset("symphony9/search-v0")

An episode holds the seat's observation and mask at each of its decisions, its action, and the reward until its next
decision; the reward of the game's end comes with its last action. `--seats winners` exports only the winners' episodes.
`--box` writes plain vectors, with the masks in the infos, for learners that can't read dictionaries; such a dataset has
the observations of `Symphony9-v0`, and `recover_environment()` makes that environment with the same options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Unpack, cast

import gymnasium
import minari
import numpy as np
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer
from minari.storage import get_dataset_path

from symphony9_env import records
from symphony9_env.actions import number
from symphony9_env.arguments import Parser, add_option_arguments, read_options, run
from symphony9_env.envs.spaces import action_space, vector_space
from symphony9_env.names import agent_name
from symphony9_env.options import OPTION_NAMES, VARIANT_NAMES, OptionValues, make_options
from symphony9_env.records import replay
from symphony9_env.views import observation_fields

ALL: Final = "all"
WINNERS: Final = "winners"
DATA_FORMAT: Final = "hdf5"
ENVIRONMENT: Final = "symphony9_env:Symphony9-v0"
MASK: Final = "action_mask"
MASK_TYPE: Final = np.uint8  # TorchRL reads no int8
PRESENTATION_NAMES: Final = OPTION_NAMES[len(VARIANT_NAMES) :]  # the record decides the variant


def episodes(
    record: Mapping[str, Any], seats: str = ALL, *, box: bool = False, **options: Unpack[OptionValues]
) -> list[EpisodeBuffer]:
    """Return an episode of a finished game for each of the seats: `all`, `winners`, or numbers separated by commas."""
    steps = replay(record, **options)
    if "result" not in record:
        raise ValueError("the record has no result: the game is not over")
    agents = [agent_name(seat) for seat in range(record["num_players"])]
    observations: dict[str, list[Any]] = {agent: [] for agent in agents}
    rewards: dict[str, list[float]] = {agent: [] for agent in agents}  # after each observation
    for env in steps:
        for agent in agents:
            if rewards[agent]:
                rewards[agent][-1] += env.rewards[agent]
            if agent == env.agent_selection or env.decision == "over":
                observations[agent].append(env.observe(agent))
                rewards[agent].append(0.0)
    chosen = _select_agents(agents, seats, record["result"]["winners"])
    return [_make_episode(record, agent, observations[agent], rewards[agent][:-1], box) for agent in chosen]


def _select_agents(agents: list[str], seats: str, winners: Iterable[str]) -> list[str]:
    if seats == ALL:
        return agents
    if seats == WINNERS:
        return list(winners)
    chosen = [agent_name(seat.strip()) for seat in seats.split(",")]
    if wrong := [agent for agent in chosen if agent not in agents]:
        raise ValueError(
            f"seats={seats!r}: no {wrong[0]}; allowed: all, winners, or 0 to {len(agents) - 1} separated by commas"
        )
    return chosen


def _make_episode(
    record: Mapping[str, Any], agent: str, observations: list[Any], rewards: list[float], box: bool
) -> EpisodeBuffer:
    actions = [number(name) for player, name in record["actions"] if player == agent]
    last = len(actions) - 1
    vectors = np.stack([one["observation"] for one in observations])
    masks = {MASK: np.stack([one[MASK] for one in observations]).astype(MASK_TYPE)}
    return EpisodeBuffer(
        seed=record.get("seed"),
        options={"agent": agent, "setup": json.dumps(record["setup"])},
        observations=vectors if box else {"observation": vectors, **masks},
        actions=np.array(actions, np.int64),
        rewards=rewards,
        terminations=[step == last for step in range(len(actions))],
        truncations=[False] * len(actions),
        infos=masks if box else {},
    )


def export(
    games: Iterable[Mapping[str, Any]],
    dataset: str,
    *,
    seats: str = ALL,
    box: bool = False,
    **options: Unpack[OptionValues],
) -> minari.MinariDataset:
    """Write a Minari dataset of these games; the options of the environment decide the observations and rewards."""
    named = {f"game {index}": record for index, record in enumerate(games)}
    return _export(named, dataset, seats, box, options)


def _export(
    games: Mapping[str, Mapping[str, Any]], dataset: str, seats: str, box: bool, options: OptionValues
) -> minari.MinariDataset:
    """Export games; errors begin with the name of the game that they are about."""
    if not games:
        raise ValueError("no records; needed: at least one")
    buffer = []
    for name, record in games.items():
        with records.name_in_errors(name):
            buffer += episodes(record, seats, box=box, **options)
    keywords = {**options, **_find_common_variant(games)}
    if dataset in minari.list_local_datasets():
        raise ValueError(f"dataset {dataset!r} exists already; choose another name or delete it first")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the author is not given, for example
            return minari.create_dataset_from_buffers(
                dataset,
                buffer,
                **_make_environment_or_spaces(keywords, box),
                algorithm_name="recorded games",
                description=f"Symphony No. 9, {keywords['num_players']} players, {len(games)} games, seats: {seats}",
                data_format=DATA_FORMAT,
                requirements=["symphony9-env"],
            )
    except BaseException:
        shutil.rmtree(get_dataset_path(dataset), ignore_errors=True)  # leave no incomplete dataset behind
        raise


def _find_common_variant(games: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options that all records share and that decide the spaces; refuse records that differ in them."""
    kinds = [(name, record["num_players"], record.get("discussion", False)) for name, record in games.items()]
    first, *others = kinds
    for other in others:
        if other[1:] != first[1:]:
            described = [f"{name} has {players} players, discussion {talk}" for name, players, talk in (first, other)]
            raise ValueError(f"records of different kinds can't be one dataset: {', but '.join(described)}")
    return {"num_players": first[1], "discussion": first[2]}


def _make_environment_or_spaces(keywords: dict[str, Any], box: bool) -> dict[str, Any]:
    """Return the environment whose observations the dataset has, or their spaces if no environment has them."""
    options = make_options(**keywords)
    if box:
        return {"env": gymnasium.make(ENVIRONMENT, **{**options.as_keywords(), **options.variant.as_json()})}
    actions = action_space(options)
    mask = spaces.Box(0, 1, (int(actions.n),), MASK_TYPE)
    observations = spaces.Dict({"observation": vector_space(observation_fields(options.ledger)), MASK: mask})
    return {"observation_space": observations, "action_space": actions}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = Parser(prog="python -m symphony9_env.integrations.minari", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="RECORD", help="game records")
    parser.add_argument("--dataset", required=True, help="name of the dataset, such as symphony9/search-v0")
    parser.add_argument("--seats", default=ALL, help="all, winners, or seat numbers separated by commas (default: all)")
    parser.add_argument("--box", action="store_true", help="write plain vectors, with the masks in the infos")
    add_option_arguments(parser, PRESENTATION_NAMES, "observations and rewards")
    chosen = parser.parse_args(arguments)
    return run("minari", lambda: _export_files(chosen))


def _export_files(chosen: argparse.Namespace) -> None:
    games = {file: records.load(file) for file in chosen.files}
    options = cast(OptionValues, read_options(chosen, PRESENTATION_NAMES))
    made = _export(games, chosen.dataset, chosen.seats, chosen.box, options)
    print(f"{made.id}: {made.total_episodes} episodes, {made.total_steps} decisions, in {made.storage.data_path}")


if __name__ == "__main__":
    sys.exit(main())
