"""The compiled layers compute what PyTorch's own operations do, forward and backward."""

from __future__ import annotations

import pytest
import torch

from training.config import NetworkSettings
from training.fused_layers import MusicianLayers
from training.network import Musicians

Tensors = tuple[torch.Tensor, ...]
PLAIN = Musicians(NetworkSettings(hidden=(4, 4, 4)), ledger=False)._apply_layers


def make_inputs(num_positions: int, num_musicians: int, num_features: int, first: int, second: int) -> Tensors:
    shapes = (
        (num_positions, num_musicians, num_features),
        (num_positions, first),
        (first, num_features),
        (num_musicians, first),
        (second, first),
        (second, 2 * first),
        (second,),
        (3, second),
        (3,),
    )
    return tuple(torch.randn(shape) for shape in shapes)


def differentiate(function: object, inputs: Tensors, factors: Tensors | None) -> tuple[Tensors, Tensors]:
    """Return what a function gives, and the gradients of its inputs for a weighted sum of all of it."""
    own = [values.clone().requires_grad_() for values in inputs]
    outputs: Tensors = function(*own)  # type: ignore[operator]
    chosen = factors or tuple(torch.ones_like(values) for values in outputs)
    sum((values * factor).sum() for values, factor in zip(outputs, chosen, strict=True)).backward()  # type: ignore[union-attr]
    zeros = [torch.zeros_like(values) if values.grad is None else values.grad for values in own]
    return outputs, tuple(zeros)


def check_equal(inputs: Tensors) -> None:
    num_positions, num_musicians, second = *inputs[0].shape[:2], len(inputs[4])
    factors = torch.randn(num_positions, num_musicians, 3), torch.randn(num_positions, 2 * second)
    fused, plain = (differentiate(function, inputs, factors) for function in (MusicianLayers.apply, PLAIN))
    torch.testing.assert_close(fused, plain, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1, 1, 1), (5, 6, 3, 24, 2), (64, 6, 62, 96, 96), (33, 6, 20, 16, 24), (7, 4, 5, 17, 9), (0, 6, 3, 4, 4)],
    ids=str,
)
def test_results_and_gradients_are_those_of_pytorch(shape: tuple[int, int, int, int, int]) -> None:
    torch.manual_seed(0)
    check_equal(make_inputs(*shape))


def test_parts_of_larger_tensors_and_only_one_output_are_accepted() -> None:
    torch.manual_seed(0)
    features, shared, weight, *rest = make_inputs(8, 6, 5, 32, 3)  # small layers would lead to ties
    inputs = (torch.cat([features, features], dim=2)[:, :, :5], shared, weight.t().contiguous().t(), *rest)
    expanded = (inputs[0], shared[:1].expand(8, 32), *inputs[2:])
    for given in (inputs, expanded):
        for number in (0, 1):  # the gradient of the other output is missing
            fused, plain = (
                differentiate(lambda *own, f=function: (f(*own)[number],), given, None)  # noqa: B023
                for function in (MusicianLayers.apply, PLAIN)
            )
            torch.testing.assert_close(fused, plain, atol=1e-4, rtol=1e-4)


def test_units_that_are_zero_for_all_musicians_pass_no_gradient() -> None:
    torch.manual_seed(0)
    inputs = make_inputs(9, 6, 5, 32, 3)
    inputs[1][:, :2] = -100
    check_equal(inputs)
    _, gradients = differentiate(MusicianLayers.apply, inputs, None)
    assert (gradients[1][:, :2] == 0).all()
    assert (gradients[1][:, 2:] != 0).any()


def test_musicians_that_tie_for_a_maximum_each_get_its_whole_gradient() -> None:
    """PyTorch divides it among them; a musician that is alone gets all of it either way."""
    features = torch.tensor([[[1.0], [1.0], [0.5]]])
    one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    inputs = (features, zero, one, torch.zeros(3, 1), one, torch.zeros(1, 2), torch.zeros(1), one, torch.zeros(1))
    factors = torch.zeros(1, 3, 1), torch.tensor([[0.0, 1.0]])
    fused, plain = (differentiate(function, inputs, factors)[1] for function in (MusicianLayers.apply, PLAIN))
    assert fused[0].flatten().tolist() == [1, 1, 0]
    assert plain[0].flatten().tolist() == [0.5, 0.5, 0]
