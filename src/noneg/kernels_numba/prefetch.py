"""Ask for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


def _prefetch(_context: Any, array: Any, index: Any) -> Any:  # noqa: ANN401
    """Fetch ``array[index]`` of a vector into the cache, to write to it soon; nothing waits."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401
        vector = context.make_array(signature.args[0])(context, builder, values[0])
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(vector.data, [values[1]]), address)
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        # To be written, soon and often, and data.
        builder.call(function, [place, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)
