# kernel: compiled by Numba; a change here changes the key of the compile cache
# mypy: disable-error-code="no-any-return,no-untyped-call,no-untyped-def"
"""The two inner loops of compiled networks, as LLVM code: list the inputs that are not 0, and add up their weights.

Numba can't express that partial sums stay in registers, and loads and stores them again and again instead: three times
slower. Weights are added one row after the other, with fused multiplications where the processor has them, so a result
depends on the arguments alone. Neither function checks anything. Arrays of numbers are int32, all others float32.
"""

from __future__ import annotations

from typing import Any, Final

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from symphony9_env.compilation import COMPILED, rule

LANES: Final = 16  # floats in a vector; processors with shorter ones use several
WIDTH_UNIT: Final = 2 * LANES  # the lengths of vectors and rows must be multiples of it

_HAS_COMPRESS: Final = llvmlite.binding.llvm_version_info[0] >= 19
_INT32: Final[Any] = ir.IntType(32)
_INT64: Final[Any] = ir.IntType(64)
_FLOATS: Final[Any] = ir.VectorType(ir.FloatType(), LANES)
_NUMBERS: Final[Any] = ir.VectorType(_INT32, LANES)
_FLAGS: Final[Any] = ir.VectorType(ir.IntType(1), LANES)


def _pointers(context, builder, signature, arguments):
    """Return the arguments, with the address of the first element in place of each array."""
    return [
        context.make_array(kind)(context, builder, given).data if isinstance(kind, types.Array) else given
        for kind, given in zip(signature.args, arguments, strict=True)
    ]


def _vector_at(builder, kind, array, position):
    """Return the address of the vector that starts at a position of an array."""
    return builder.bitcast(builder.gep(array, [position]), kind.as_pointer())


def _spread(builder, kind, value):
    """Return a vector in which all elements are one value."""
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(vector, ir.Constant(kind, ir.Undefined), ir.Constant(_NUMBERS, [0] * LANES))


def _declare(builder, name, result, *arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), f"llvm.{name}")


def _make_block(num_vectors: int) -> Any:
    """Return a compiled function that adds rows to so many vectors of `out`, from `column` on."""

    def generate(context, builder, signature, arguments):
        out, base, base_start, matrix, start, width, index, value, first, count, floor, column = _pointers(
            context, builder, signature, arguments
        )
        multiply_add = _declare(builder, f"fmuladd.v{LANES}f32", _FLOATS, _FLOATS, _FLOATS, _FLOATS)
        larger = _declare(builder, f"maxnum.v{LANES}f32", _FLOATS, _FLOATS, _FLOATS)
        columns = [builder.add(column, ir.Constant(_INT64, number * LANES)) for number in range(num_vectors)]
        sums = [cgutils.alloca_once(builder, _FLOATS) for _ in columns]
        for total, position in zip(sums, columns, strict=True):
            place = _vector_at(builder, _FLOATS, base, builder.add(base_start, position))
            builder.store(builder.load(place, align=4), total)
        with cgutils.for_range(builder, count, intp=_INT64) as loop:
            item = builder.add(first, loop.index)
            factor = _spread(builder, _FLOATS, builder.load(builder.gep(value, [item])))
            number = builder.sext(builder.load(builder.gep(index, [item])), _INT64)
            row = builder.add(start, builder.mul(number, width))
            for total, position in zip(sums, columns, strict=True):
                place = _vector_at(builder, _FLOATS, matrix, builder.add(row, position))
                weights = builder.load(place, align=4)
                builder.store(builder.call(multiply_add, [factor, weights, builder.load(total)]), total)
        for total, position in zip(sums, columns, strict=True):
            result = builder.call(larger, [builder.load(total), _spread(builder, _FLOATS, floor)])
            builder.store(result, _vector_at(builder, _FLOATS, out, position), align=4)
        return context.get_dummy_value()

    @intrinsic
    def add_block(_, out, base, base_start, matrix, start, width, index, value, first, count, floor, column):
        given = (out, base, base_start, matrix, start, width, index, value, first, count, floor, column)
        return types.void(*given), generate

    return add_block


_add_6_vectors, _add_4_vectors, _add_2_vectors = (_make_block(number) for number in (6, 4, 2))


@rule
def _add_rows(
    out: Any,
    base: Any,
    base_start: int,
    matrix: Any,
    start: int,
    width: int,
    index: Any,
    value: Any,
    first: int,
    count: int,
    floor: Any,
) -> None:
    column = 0
    while width - column >= 6 * LANES:
        _add_6_vectors(out, base, base_start, matrix, start, width, index, value, first, count, floor, column)
        column += 6 * LANES
    if width - column >= 4 * LANES:
        _add_4_vectors(out, base, base_start, matrix, start, width, index, value, first, count, floor, column)
        column += 4 * LANES
    if width > column:
        _add_2_vectors(out, base, base_start, matrix, start, width, index, value, first, count, floor, column)


def _add_rows_in_python(
    out: Any,
    base: Any,
    base_start: int,
    matrix: Any,
    start: int,
    width: int,
    index: Any,
    value: Any,
    first: int,
    count: int,
    floor: Any,
) -> None:
    total = base[base_start : base_start + width].copy()
    for item in range(first, first + count):
        row = start + int(index[item]) * width
        total += value[item] * matrix[row : row + width]
    out[:width] = np.maximum(total, floor)


# Write a sum of rows to the beginning of `out`, where it is not below `floor`. The first row starts at
# `base[base_start]`. The others are rows of a matrix, each multiplied by a factor: row `index[k]` times `value[k]`, for
# `count` items k from `first` on. The matrix is flat: it starts at `matrix[start]`. All rows have the length `width`.
add_rows: Final = _add_rows if COMPILED else _add_rows_in_python


def _generate_list(context, builder, signature, arguments):
    values, size, index, value, first, offset = _pointers(context, builder, signature, arguments)
    compress = "experimental.vector.compress.v"
    keep_floats = _declare(builder, f"{compress}{LANES}f32", _FLOATS, _FLOATS, _FLAGS, _FLOATS)
    keep_numbers = _declare(builder, f"{compress}{LANES}i32", _NUMBERS, _NUMBERS, _FLAGS, _NUMBERS)
    bits = ir.IntType(LANES)
    count_bits = _declare(builder, f"ctpop.i{LANES}", bits, bits)
    place = cgutils.alloca_once_value(builder, first)
    with cgutils.for_range(builder, builder.udiv(size, ir.Constant(_INT64, LANES)), intp=_INT64) as loop:
        position = builder.mul(loop.index, ir.Constant(_INT64, LANES))
        floats = builder.load(_vector_at(builder, _FLOATS, values, position), align=4)
        is_listed = builder.fcmp_unordered("!=", floats, ir.Constant(_FLOATS, [0.0] * LANES))
        start = _spread(builder, _NUMBERS, builder.trunc(builder.add(position, offset), _INT32))
        numbers = builder.add(start, ir.Constant(_NUMBERS, list(range(LANES))))
        item = builder.load(place)
        for keep, kind, vector, array in (
            (keep_floats, _FLOATS, floats, value),
            (keep_numbers, _NUMBERS, numbers, index),
        ):
            kept = builder.call(keep, [vector, is_listed, ir.Constant(kind, ir.Undefined)])
            builder.store(kept, _vector_at(builder, kind, array, item), align=4)
        count = builder.zext(builder.call(count_bits, [builder.bitcast(is_listed, bits)]), _INT64)
        builder.store(builder.add(item, count), place)
    return builder.sub(builder.load(place), first)


@intrinsic
def _generate(_, values, size, index, value, first, offset):
    return types.int64(values, size, index, value, first, offset), _generate_list


_list_block: Final[Any] = _generate  # its type hints leave out that Numba passes the first argument


@rule
def _list_in_vectors(values: Any, size: int, index: Any, value: Any, first: int, offset: int) -> int:
    return _list_block(values, size, index, value, first, offset)


@rule
def _list_one_by_one(values: Any, size: int, index: Any, value: Any, first: int, offset: int) -> int:
    item = first
    for number in range(size):
        index[item] = offset + number
        value[item] = values[number]
        item += values[number] != 0
    return item - first


# List the first `size` values that are not 0, and their numbers plus `offset`, from item `first` on. Return how many
# there are. The item behind the last listed one and LANES - 1 more are overwritten.
list_nonzero: Final = _list_in_vectors if COMPILED and _HAS_COMPRESS else _list_one_by_one
