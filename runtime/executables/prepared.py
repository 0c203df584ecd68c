"""Programs as they are put into JAX's modules.

In: a program, and the recipe for it. Out: a `PreparedProgram`: its bytecode, made once for each platform; what its
caller gives besides the arguments, and gets of the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...codegen import forks
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.bindings import load_mhlo
from ...codegen.ir.jax_compat import initialize_lapack
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from ...codegen.signature import Signature


class PreparedProgram:
    """A program as it is put into JAX's modules, prepared once per platform.

    Args:
        program: with symbolic sizes only where JAX has them too, as when it exports. Where the recipe has passes it is
            this object's own, which they change.
        recipe: what becomes of it; `sized` has been done.
        sizes: values of scalar int32 arguments at the end that the caller does not give.
        results: which results the caller gets besides the flags of checks; all by default.

    Attributes:
        places: the results that the caller gets.
        checks: those of the flags, which are the last of these results.
    """

    def __init__(
        self,
        program: Program,
        recipe: Recipe | None = None,
        sizes: Sequence[int] = (),
        results: Sequence[int] | None = None,
    ) -> None:
        load_mhlo()  # it is to be compiled
        self.program = program
        self.recipe = recipe or Recipe()
        self.sizes = tuple(sizes)
        self.checks = program.signature.checks
        count = len(program.signature.results)
        self.places = (*(range(count) if results is None else results), *([count] if self.checks else []))
        self._bytecode: dict[tuple[str, bool], bytes] = {}
        self._lock = forks.lock()

    @property
    def calls_lapack(self) -> bool:
        """Whether a module for CPU may call LAPACK."""
        from ...codegen.passes.device_linalg import OPS

        return not self.program.op_counts().keys().isdisjoint({*OPS, "stablehlo.custom_call"})

    def optimize(self) -> Program:
        """The program after the passes."""
        with self._lock:
            return self.recipe.optimized(self.program)

    def bytecode(self, platform: str, guest: bool = False) -> bytes:
        """The module for a platform, or for any if it is "", as MLIR bytecode.

        Args:
            platform: for XLA's compiler, as JAX calls it.
            guest: it goes into a module that others compile, without the compile options that it needs.
        """
        with self._lock:
            if (platform, guest) not in self._bytecode:
                if self.calls_lapack and platform in ("cpu", ""):
                    initialize_lapack()
                program = self.recipe.optimized(self.program)
                self._bytecode[platform, guest] = self.recipe.on(platform, guest=guest).finished(program).bytecode
            return self._bytecode[platform, guest]

    def with_bytecode(self, bytecode: bytes, results: int | None = None) -> PreparedProgram:
        """The same, of which the module for CPU is known; `results` is how many it has, where these are others."""
        found = PreparedProgram(self.program, self.recipe, self.sizes)
        found.checks = self.checks
        found.places = self.places if results is None else tuple(range(results))
        found._bytecode["cpu", False] = bytecode
        return found


def prepare(program: Program, sizes: Mapping[str, int], passes: tuple[str, ...]) -> PreparedProgram:
    """A program for these sizes, as what the primitive puts into other modules.

    Where sizes depend on data it is padded to what they can be at most.

    Raises:
        UnsupportedGraphError: a size that depends on data has no bound.
    """
    signature = program.signature
    if not signature.has_data_sizes:
        recipe = Recipe(sizes, passes=passes)
        static = recipe.sized(program)
        static.source = None  # JAX's caches hold it, and must not lead back to what they are for
        return PreparedProgram(static, recipe)
    recipe = Recipe(bounds=sizes, passes=passes)
    static = recipe.sized(program)
    pending = pending_size(static.signature)
    if pending:
        raise UnsupportedGraphError(
            f"the size {pending} depends on data and has no bound known before the run; such a function cannot be "
            "called inside jax.jit or another transformation"
        )
    live = [sizes[argument.size] for argument in static.signature.arguments[len(signature.arguments) :]]
    results = [place for place, result in enumerate(static.signature.results) if not result.size]
    return PreparedProgram(static, recipe, live, results)


def prepare_open(program: Program) -> PreparedProgram:
    """A program with its sizes open, for a module whose shapes JAX has as symbols.

    Raises:
        UnsupportedGraphError: a size is not one of a shape.
    """
    program.refuse_host_calls("a module with dynamic sizes, as JAX exports it, cannot")
    signature = program.signature
    if signature.has_data_sizes or signature.value_roots:
        roots, counts = signature.value_roots, (*signature.counts, *signature.local_counts)
        names = ", ".join([*[root.name for root in roots], *[count.name for count in counts]])
        raise UnsupportedGraphError(
            f"{program.name} has sizes that are no sizes of arguments ({names}), which JAX's symbolic shapes do not "
            "know; specialize the program first"
        )
    return PreparedProgram(program)


def pending_size(signature: Signature) -> str:
    """The size from data that a padded program computes and nothing else, as a first stage; "" for any other."""
    return signature.results[0].size if signature.results else ""
