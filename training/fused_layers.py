"""A layer that is shared by all musicians, with its activation and pooling, compiled for the CPU.

The layer computes, for every position and musician, relu(weight · features + shared + offset), and over the musicians
of a position the mean and the maximum. PyTorch's own operations do the same in about ten passes over the data each way;
here they are one pass forward and one backward, besides the matrix products.
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
    """Turn the gradient of the activations into that of the sums before them, in place; `total` adds up musicians."""
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


class PooledLayer(torch.autograd.Function):
    """relu(features · weightᵀ + shared + offset) of every musician, and the mean and maximum over the musicians.

    features (n, musicians, inputs), weight (size, inputs), shared (n, size), offset (musicians, size); returns
    (n, musicians, size) and (n, 2 · size). Where musicians tie for a maximum, each gets its whole gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, features: torch.Tensor, weight: torch.Tensor, shared: torch.Tensor, offset: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        num_positions, num_musicians, _ = features.shape
        size = len(weight)
        values = (features.flatten(0, 1) @ weight.t()).view(num_positions, num_musicians, size)
        pooled = torch.empty(num_positions, 2 * size)
        _activate_and_pool(values.numpy(), shared.contiguous().numpy(), offset.numpy(), pooled.numpy())
        ctx.save_for_backward(features, weight, values, pooled)
        return values, pooled

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, pooled_gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        features, weight, values, pooled = ctx.saved_tensors
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        total = torch.empty_like(values[:, 0])
        _differentiate(
            values.numpy(), pooled.numpy(), pooled_gradient.contiguous().numpy(), gradient.numpy(), total.numpy()
        )
        flat = gradient.flatten(0, 1)
        of_features = (flat @ weight).view_as(features) if ctx.needs_input_grad[0] else None
        return of_features, flat.t() @ features.flatten(0, 1), total, gradient.sum(0)
