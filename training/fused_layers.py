"""The layers of a `musicians` network that all musicians share, with gradients computed by hand, for the CPU.

Each of the two layers computes, for every position and musician, relu(weight · features + shared + offset), and over
the musicians of a position the mean and the maximum; what all musicians share in the second layer comes from the mean
and the maximum of the first. PyTorch's own operations do the same in about ten passes over the data for each layer and
direction. Here that is one compiled pass, besides the matrix products.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch

_compile: Any = numba.njit(error_model="numpy", fastmath={"nsz"}, nogil=True)


@_compile
def _activate_and_pool(values: Any, shared: Any, offset: Any, pooled: Any) -> None:
    """Add and apply relu in place; write mean and maximum over the musicians into `pooled`."""
    num_positions, num_musicians, size = values.shape
    zero, share = np.float32(0), np.float32(1 / num_musicians)
    for position in range(num_positions):
        total, most, same = np.zeros(size, np.float32), np.zeros(size, np.float32), shared[position]
        for musician in range(num_musicians):
            row, own = values[position, musician], offset[musician]
            for unit in range(size):
                value = max(row[unit] + same[unit] + own[unit], zero)
                row[unit] = value
                total[unit] += value
                most[unit] = max(most[unit], value)
        for unit in range(size):
            pooled[position, unit] = total[unit] * share
            pooled[position, size + unit] = most[unit]


@_compile
def _differentiate(values: Any, pooled: Any, pooled_gradient: Any, gradient: Any, total: Any) -> None:
    """Turn the gradient of the activations into that of the sums before them, in place; `total` adds up musicians.

    Where musicians tie for a maximum, each gets its whole gradient.
    """
    num_positions, num_musicians, size = values.shape
    zero, share = np.float32(0), np.float32(1 / num_musicians)
    for position in range(num_positions):
        most, of_mean = pooled[position, size:], pooled_gradient[position, :size]
        of_most, summed = pooled_gradient[position, size:], total[position]
        for unit in range(size):
            summed[unit] = zero
        for musician in range(num_musicians):
            row, slope = values[position, musician], gradient[position, musician]
            for unit in range(size):
                value = slope[unit] + of_mean[unit] * share + (of_most[unit] if row[unit] == most[unit] else zero)
                value = value if row[unit] > zero else zero
                slope[unit] = value
                summed[unit] += value


@_compile
def _multiply_choices(gradient: Any, weight: Any, out: Any) -> None:
    """Write the product of the choices' gradient, (rows, choices), and their weight; a BLAS is slow for so few."""
    num_choices, size = weight.shape
    for row in range(len(gradient)):
        for unit in range(size):
            out[row, unit] = gradient[row, 0] * weight[0, unit]
        for choice in range(1, num_choices):
            factor = gradient[row, choice]
            for unit in range(size):
                out[row, unit] += factor * weight[choice, unit]


def _apply_layer(
    features: torch.Tensor, weight: torch.Tensor, shared: torch.Tensor, offset: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the activations of a layer, (positions, musicians, size), and their mean and maximum over musicians."""
    num_positions, num_musicians, _ = features.shape
    values = (features.flatten(0, 1) @ weight.t()).view(num_positions, num_musicians, len(weight))
    pooled = torch.empty(num_positions, 2 * len(weight))
    _activate_and_pool(values.numpy(), shared.contiguous().numpy(), offset.numpy(), pooled.numpy())
    return values, pooled


class MusicianLayers(torch.autograd.Function):
    """Both layers, and the logits of every musician's choices.

    The arguments are the features (n, musicians, inputs), what the musicians share in the first layer (n, first), and
    the weights `first.weight`, `first.place`, `second.weight`, `second.pool`, `second.bias`, `choice.weight` and
    `choice.bias`. Returns the logits (n, musicians, choices), and the mean and maximum of the second layer's
    activations (n, 2 · second).
    """

    @staticmethod
    def forward(ctx: Any, features: torch.Tensor, shared: torch.Tensor, *weights: torch.Tensor) -> Any:
        weight, offset, second_weight, pool, bias, choice, choice_bias = weights
        first, pooled = _apply_layer(features, weight, shared, offset)
        second_shared = torch.addmm(bias, pooled, pool.t())
        no_offset = torch.zeros(features.shape[1], len(second_weight))
        second, second_pooled = _apply_layer(first, second_weight, second_shared, no_offset)
        ctx.save_for_backward(features, weight, second_weight, pool, choice, first, pooled, second, second_pooled)
        return torch.nn.functional.linear(second, choice, choice_bias), second_pooled

    @staticmethod
    def backward(ctx: Any, choices_gradient: torch.Tensor, pooled_gradient: torch.Tensor) -> Any:
        features, weight, second_weight, pool, choice, first, pooled, second, second_pooled = ctx.saved_tensors
        of_choices = choices_gradient.flatten(0, 1).contiguous()
        gradient = torch.empty_like(second)
        _multiply_choices(of_choices.numpy(), choice.numpy(), gradient.flatten(0, 1).numpy())
        total = torch.empty_like(second_pooled[:, : len(second_weight)])
        of_pooled = pooled_gradient.contiguous()
        _differentiate(second.numpy(), second_pooled.numpy(), of_pooled.numpy(), gradient.numpy(), total.numpy())
        flat = gradient.flatten(0, 1)
        of_first = (flat @ second_weight).view_as(first)
        of_shared = torch.empty_like(pooled[:, : len(weight)])
        _differentiate(first.numpy(), pooled.numpy(), (total @ pool).numpy(), of_first.numpy(), of_shared.numpy())
        flat_first = of_first.flatten(0, 1)
        return (
            (flat_first @ weight).view_as(features) if ctx.needs_input_grad[0] else None,
            of_shared,
            flat_first.t() @ features.flatten(0, 1),
            of_first.sum(0),
            flat.t() @ first.flatten(0, 1),
            total.t() @ pooled,
            total.sum(0),
            of_choices.t() @ second.flatten(0, 1),
            of_choices.sum(0),
        )
