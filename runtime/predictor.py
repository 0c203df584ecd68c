"""`Predictor`: a fitted model's program, called with data by name, which needs no PyMC; and as a file.

`hlograph.pymc.predictor` makes one of a model and its posterior. What arguments and results are called in the model
goes with the function (`Function.notes`), in files too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.errors import ArgumentError, ArtifactError
from .bundles.bundle import bundle, load_bundle
from .function import Function

Array = np.ndarray[Any, Any]


class Predictor:
    """A fitted model, for predictions; see `hlograph.pymc.predictor`.

        predict = hlograph.Predictor.load("radon.hlo", trusted=True)
        predict(x=[0.5, 1.0], county=[3, 0], seed=7)["y_mean"]

    Attributes:
        function: what runs it: of the seed, where something is drawn, then data, levels and lengths.
        dims, coords: for each result the names of its axes in the model, or None; the labels of dims.
    """

    def __init__(self, function: Function) -> None:
        notes = function.notes.get("predictor", {})
        if not {"results", "coords", "levels", "lengths"} <= notes.keys():
            raise ArtifactError(f"{function.__name__} is not a predictor; hlograph.pymc.predictor makes one")
        self.function = function
        self.dims: Mapping[str, Sequence[str | None]] = notes["results"]
        self.coords: Mapping[str, Sequence[Any]] = notes["coords"]
        self._levels, self._lengths = notes["levels"], notes["lengths"]
        self._arguments = [a for a in function.program.signature.arguments if not a.parameter]

    def __call__(
        self, *, seed: int = 0, coords: Mapping[str, Sequence[Any]] | None = None, **data: Any
    ) -> dict[str, Array]:
        """The results by name.

        Args:
            seed: below 2**32; the same seed and data give the same results.
            coords: labels, by default the model's, of dims that may have new levels, or whose length no data has.
            data: arrays by name, of any length.

        Raises:
            ArgumentError, ArgumentTypeError, ArgumentShapeError: data are missing, unknown, or do not fit.
        """
        found = self.function(*self.operands(seed, coords or {}, data))
        results = found if isinstance(found, tuple) else (found,)
        return dict(zip(self.dims, map(np.asarray, results), strict=True))

    def operands(self, seed: int, coords: Mapping[str, Sequence[Any]], data: Mapping[str, Any]) -> list[Array]:
        """What the function takes in a call."""
        if sorted(data) != sorted(self.data):
            raise ArgumentError(f"expected the data {self.data}, got {sorted(data)}")
        if not 0 <= seed < 2**32:
            raise ArgumentError(f"seed: expected an integer from 0 to below 2**32, got {seed}")
        given: dict[str, Any] = {"seed": np.uint32(seed), **self._of_coords(coords), **data}
        found = []
        for a in self._arguments:
            x = np.asarray(given[a.name])
            cast = x.astype(a.dtype) if np.can_cast(x.dtype, a.dtype, "same_kind") or not x.size else x
            found.append(cast if a.dtype.kind not in "iu" or np.array_equal(cast, x) else x)
        return found

    @property
    def data(self) -> list[str]:
        """The names of the data that calls take."""
        return [a.name for a in self._arguments if a.name not in {"seed", *self._levels, *self._lengths}]

    def _of_coords(self, coords: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        own = {*self._levels.values(), *(dim for dim, _ in self._lengths.values())}
        if not coords.keys() <= own:
            raise ArgumentError(f"coords: expected labels of {sorted(own)}, got {sorted(coords)}")
        found: dict[str, Any] = {}
        for name, dim in self._levels.items():
            places = {label: place for place, label in enumerate(self.coords.get(dim, ()))}
            found[name] = np.array([places.get(plain(x), -1) for x in coords.get(dim, places)], np.int64)
        for name, (dim, length) in self._lengths.items():
            found[name] = np.int64(len(coords[dim]) if dim in coords else length)
        return found

    def save(self, path: str | os.PathLike[str], sizes: Sequence[Mapping[str, int]] = (), **options: Any) -> Path:
        """Writes one file, with the posterior's draws, and executables for sets of sizes: see `hlograph.bundle`."""
        return bundle(self.function, path, sizes=sizes, **options)

    @staticmethod
    def load(path: str | os.PathLike[str], *, trusted: bool | None = None) -> Predictor:
        """The predictor in a file; raises what `hlograph.load_bundle` does, and `ArtifactError` if it is none."""
        return Predictor(load_bundle(path, trusted=trusted))


def plain(label: Any) -> Any:
    """A label as JSON has it."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, str | int | float) else str(label)
