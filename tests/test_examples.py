"""What holds for all examples, whether or not the libraries that they need are installed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
WITH_TORCH = [path for path in sorted(EXAMPLES.glob("*.py")) if "import torch" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_TORCH, ids=lambda path: path.stem)
def test_every_example_with_torch_sets_its_number_of_threads(path: Path) -> None:
    """With one for each core, which is the default, small batches take many times as long on a busy machine."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert "torch.set_num_threads" in [ast.unparse(call.func) for call in calls]
