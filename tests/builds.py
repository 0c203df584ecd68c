"""Functions made with the builder by hand, and modules of a text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hlograph import Program
from hlograph.builder import Builder, SizeSource, Tensor, dims
from hlograph.codegen import signature as signatures
from hlograph.codegen.ir.bindings import new_context
from hlograph.codegen.ir.modules import verify
from hlograph.passes import ir


def module_of(text: str) -> ir.Module:
    """A module in a context of its own."""
    return ir.Module.parse(text, new_context())


class Build:
    """A function being built: `done` gives its verified text, `program` a program with a signature.

    Args:
        arguments: (dims, dtype) of each; with a name behind it the argument's value is the size of that name.
        names: of the arguments.
        module: the module's name.
    """

    def __init__(self, *arguments: Sequence[Any], names: Sequence[str] = (), module: str = "main") -> None:
        names = names or [f"arg{place}" for place in range(len(arguments))]
        self.described = tuple(
            signatures.Argument(name, np.dtype(dtype), tuple(shape), tuple(size))
            for name, (shape, dtype, *size) in zip(names, arguments, strict=True)
        )
        self.builder = Builder(new_context(), module)
        self._function = self.builder.function("main", [(x.dims, x.dtype) for x in self.described])
        self.args = self._function.__enter__()
        for root in signatures.find_roots(self.described):
            self.builder.add_root(SizeSource(root.name, self.args[root.argument], root.axis))

    def _end(self, results: Sequence[Tensor]) -> ir.Operation:
        operation = self.builder.finish(results)
        self._function.__exit__(None, None, None)
        verify(self.builder.module, "the test's module")
        return operation

    def done(self, *results: Tensor) -> str:
        self._end(results)
        return str(self.builder.module)

    def program(self, *results: Tensor) -> Program:
        operation, canonical = self._end(results), self.builder.constraints.canonical
        described = tuple(
            signatures.Result(f"out{place}", x.dtype, tuple(map(canonical, x.dims))) for place, x in enumerate(results)
        )
        constraints = tuple(self.builder.constraints)
        signatures.write(operation, signatures.Signature(self.described, described, (), constraints))
        return Program(self.builder.module)

    def run(self, *results: Tensor, arrays: Sequence[Any]) -> list[np.ndarray]:
        """What PJRT and the interpreter give, which is the same."""
        program = Program.parse(self.done(*results))
        compiled = program.compile()(*arrays)
        compiled = compiled if len(results) > 1 else (compiled,)
        for a, b in zip(compiled, program.interpret(*arrays), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
        return [np.asarray(x) for x in compiled]


def build(arguments: Mapping[str, Sequence[Any]], body: Callable[..., Any]) -> Program:
    """A program.

    Args:
        arguments: name to (dtype, dimension, ...); a dimension is a size or its text, such as `2*n`.
        body: from the arguments' handles to a result or a list of results.
    """
    described = [
        (tuple(dims.parse(dim) if isinstance(dim, str) else dim for dim in shape), dtype)
        for dtype, *shape in arguments.values()
    ]
    function = Build(*described, names=list(arguments))
    made = body(*function.args)
    return Program.parse(function.program(*(made if isinstance(made, list | tuple) else [made])).text)
