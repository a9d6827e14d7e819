"""The compiled layer computes what PyTorch's own operations do, forward and backward."""

from __future__ import annotations

import pytest
import torch

from training.fused_layers import PooledLayer

Tensors = tuple[torch.Tensor, ...]


def apply_plainly(features: torch.Tensor, weight: torch.Tensor, shared: torch.Tensor, offset: torch.Tensor) -> Tensors:
    values = torch.relu(features @ weight.t() + shared[:, None, :] + offset)
    return values, torch.cat([values.mean(dim=1), values.amax(dim=1)], dim=1)


def make_inputs(num_positions: int, num_musicians: int, num_features: int, size: int) -> list[torch.Tensor]:
    shapes = ((num_positions, num_musicians, num_features), (size, num_features))
    return [torch.randn(shape) for shape in (*shapes, (num_positions, size), (num_musicians, size))]


def differentiate(function: object, inputs: list[torch.Tensor], factors: Tensors | None) -> tuple[Tensors, Tensors]:
    """Return what a function gives, and the gradients of its inputs for a weighted sum of all of it."""
    own = [values.clone().requires_grad_() for values in inputs]
    outputs: Tensors = function(*own)  # type: ignore[operator]
    chosen = factors or tuple(torch.ones_like(values) for values in outputs)
    sum((values * factor).sum() for values, factor in zip(outputs, chosen, strict=True)).backward()  # type: ignore[union-attr]
    return outputs, tuple(values.grad for values in own if values.grad is not None)


def check_equal(inputs: list[torch.Tensor]) -> None:
    num_positions, num_musicians = inputs[0].shape[:2]
    size = len(inputs[1])
    factors = torch.randn(num_positions, num_musicians, size), torch.randn(num_positions, 2 * size)
    fused, plain = (differentiate(function, inputs, factors) for function in (PooledLayer.apply, apply_plainly))
    assert len(fused[1]) == len(inputs)
    torch.testing.assert_close(fused, plain, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (5, 6, 3, 4), (64, 6, 62, 96), (33, 6, 96, 96), (7, 4, 5, 17), (0, 6, 3, 4)], ids=str
)
def test_results_and_gradients_are_those_of_pytorch(shape: tuple[int, int, int, int]) -> None:
    torch.manual_seed(0)
    check_equal(make_inputs(*shape))


def test_parts_of_larger_tensors_and_only_one_output_are_accepted() -> None:
    torch.manual_seed(0)
    features, weight, shared, offset = make_inputs(8, 6, 5, 4)
    inputs = [torch.cat([features, features], dim=2)[:, :, :5], weight.t().contiguous().t(), shared, offset]
    expanded = [*inputs[:2], shared[:1].expand(8, 4), offset]
    for given in (inputs, expanded):
        for number in (0, 1):  # the gradient of the other output is missing
            fused, plain = (
                differentiate(lambda *own, f=function: (f(*own)[number],), given, None)  # noqa: B023
                for function in (PooledLayer.apply, apply_plainly)
            )
            torch.testing.assert_close(fused, plain, atol=1e-4, rtol=1e-4)


def test_units_that_are_zero_for_all_musicians_pass_no_gradient() -> None:
    torch.manual_seed(0)
    features, weight, shared, offset = make_inputs(9, 6, 5, 4)
    shared[:, :2] = -100
    check_equal([features, weight, shared, offset])
    (_, pooled), gradients = differentiate(PooledLayer.apply, [features, weight, shared, offset], None)
    assert (pooled[:, [0, 1, 4, 5]] == 0).all()
    assert (gradients[2][:, :2] == 0).all()
    assert (gradients[2][:, 2:] != 0).any()


def test_musicians_that_tie_for_a_maximum_each_get_its_whole_gradient() -> None:
    """PyTorch divides it among them; a musician that is alone gets all of it either way."""
    features = torch.tensor([[[1.0], [1.0], [0.5]]])
    inputs = [features, torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(3, 1)]
    factors = torch.zeros(1, 3, 1), torch.tensor([[0.0, 1.0]])
    fused, plain = (differentiate(function, inputs, factors)[1] for function in (PooledLayer.apply, apply_plainly))
    assert fused[0].flatten().tolist() == [1, 1, 0]
    assert plain[0].flatten().tolist() == [0.5, 0.5, 0]
