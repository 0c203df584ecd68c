"""A function made with the builder by hand, for tests of the builder itself."""

from __future__ import annotations

import numpy as np

from hlograph.builder import Builder, SizeSource
from hlograph.codegen.ir.bindings import new_context
from hlograph.codegen.ir.modules import verify


class Build:
    """A function being built; `done` gives its verified text."""

    def __init__(self, *arguments):
        self.builder = Builder(new_context())
        self._function = self.builder.function("main", arguments)
        self.args = self._function.__enter__()
        for arg in self.args:
            for axis, dim in enumerate(arg.dims):
                if not isinstance(dim, int):
                    self.builder.add_root(SizeSource(str(dim), arg, axis))

    def done(self, *results) -> str:
        self.builder.finish(results)
        self._function.__exit__(None, None, None)
        verify(self.builder.module, "the test's module")
        return str(self.builder.module)

    def run(self, *results, arrays):
        from hlograph import Program

        program = Program.parse(self.done(*results))
        compiled = program.compile()(*arrays)
        compiled = compiled if len(results) > 1 else (compiled,)
        for a, b in zip(compiled, program.interpret(*arrays), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
        return [np.asarray(x) for x in compiled]
