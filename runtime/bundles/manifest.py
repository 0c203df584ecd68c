"""A bundle's manifest: which part is what, as JSON.

In: what was compiled, and how; or the JSON's bytes. Out: these bytes, or the same again, every field checked. It reads

    {"format": 1, "hlograph": "0.1.0", "program": "program.mlirbc", "options": {...},
     "parameters": "parameters.safetensors",
     "digests": {"program.mlirbc": "<SHA-256>", "executables/0": ...}, "machines": [{...}],
     "executables": [{"part": "executables/0", "machine": 0, "sizes": {"exact": {"n": 100}, "bounds": {}}, ...}]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from ...codegen.artifact.outline import read_outline
from ...codegen.errors import ArtifactError, HlographError
from ...codegen.passes.optimize import resolve
from ...codegen.passes.pack_results import PackedResult
from ...codegen.passes.registry import parse_spec, write_spec
from ...codegen.signature import Signature
from ..executables.policy import Bucket, Plan, PolicyArgument
from ..executables.stored import Machine, Stored
from ..options import CompileOptions, CpuOptions, Numpy

FORMAT = 1
PROGRAM = "program.mlirbc"
MANIFEST = "manifest.json"
PARAMETERS = "parameters.safetensors"
LARGEST = 1 << 24  # bytes of a manifest

Made = TypeVar("Made")
Fields = dict[str, Any]


# ---- to JSON ---------------------------------------------------------------------------------------------------------


def dumped(
    options: CompileOptions,
    digests: Mapping[str, str],
    executables: list[tuple[str, str, Stored]],
    parameters: str | None = None,
) -> bytes:
    """The manifest.

    Args:
        options: of the function.
        digests: SHA-256 of each part, by name.
        executables: part, outline and description of each.
        parameters: the part with the program's parameters, which has digests of its own.
    """
    machines = list(dict.fromkeys(stored.machine for _, _, stored in executables))
    fields = {
        "format": FORMAT,
        "hlograph": version("hlograph"),
        "program": PROGRAM,
        "parameters": parameters,
        "options": _options(options),
        "digests": dict(digests),
        "machines": [asdict(machine) for machine in machines],
        "executables": [
            _stored(stored) | {"part": part, "outline": outline, "machine": machines.index(stored.machine)}
            for part, outline, stored in executables
        ],
    }
    return json.dumps(fields, indent=1).encode()


def _options(options: CompileOptions) -> Fields:
    numpy = options.numpy
    return {
        "cache_size": options.cache_size,
        "policy": _policy(options.policy),
        "passes": list(options.passes),
        "cpu": asdict(options.cpu),
        "numpy": None if numpy is None else [sorted(numpy.arguments), sorted(numpy.results)],
    }


def _policy(policy: PolicyArgument) -> Any:
    if isinstance(policy, Bucket):
        return {"bucket": [policy.factor, policy.start, policy.multiple, policy.limit]}
    if isinstance(policy, Mapping):
        return {"each": {name: _policy(choice) for name, choice in policy.items()}}
    return policy


def _stored(stored: Stored) -> Fields:
    places = stored.places
    return {
        "sizes": {"exact": dict(stored.sizes.exact), "bounds": dict(stored.sizes.bounds)},
        "synchronous": stored.synchronous,
        "numpy": stored.numpy,
        "outputs": [[str(dtype), list(shape)] for shape, dtype in stored.outputs],
        "places": None if places is None else [[p.output, p.start, list(p.shape)] for p in places],
        "direct": stored.direct,
        "lapack": stored.lapack,
        "compile_seconds": stored.compile_seconds,
        "notes": list(stored.notes),
    }


# ---- from JSON -------------------------------------------------------------------------------------------------------


class Manifest:
    """A manifest that was read.

    Args:
        data: its bytes.
        filename: of the bundle, for messages.
        trusted: whether it may say how the program is compiled for a processor, and name any pass.

    Attributes:
        program: the part that holds the program.
        parameters: the part that holds its parameters; None where it has none.
        writer: the release of hlograph that wrote it.
        digests: SHA-256 of each part, by name.
        options: of the function.

    Raises:
        ArtifactError: it is malformed, or of a later format.
    """

    def __init__(self, data: bytes, filename: str, *, trusted: bool = False) -> None:
        self._filename, self._trusted = filename, trusted
        fields = self._json(data)
        found = _integer(self._field(fields, "format", int), self._error)
        if found != FORMAT:
            made = fields.get("hlograph")
            raise self._error(
                f"its format is {found}, and this hlograph reads {FORMAT}; hlograph {made!s:.40} wrote it"
            )
        self.program: str = self._field(fields, "program", str)
        parameters = fields.get("parameters")
        self.parameters = None if parameters is None else str(self._is(parameters, str, "'parameters'"))
        self.writer: str = self._field(fields, "hlograph", str)
        digests = self._field(fields, "digests", dict)
        self.digests = {name: self._is(digest, str, "a digest") for name, digest in digests.items()}
        self.options = self._guarded(lambda: self._read_options(self._field(fields, "options", dict)))
        machines = [self._is(one, dict, "a machine") for one in self._field(fields, "machines", list)]
        self._machines = [self._machine(one) for one in machines]
        self._executables = [self._is(one, dict, "an executable") for one in self._field(fields, "executables", list)]

    def stored(self, read: Callable[[str, str], bytes], refusal: str = "") -> list[Stored]:
        """The executables.

        Args:
            read: gives a part by its name and digest.
            refusal: why none is to be loaded; "" where they may.

        Raises:
            ArtifactError: a description is malformed.
        """
        return [self._guarded(partial(self._read_stored, one, read, refusal)) for one in self._executables]

    def digest(self, part: str) -> str:
        """SHA-256 of a part.

        Raises:
            ArtifactError: the manifest has none.
        """
        if part not in self.digests:
            raise self._error(f"the manifest has no digest of the part {part[:80]!r}")
        return self.digests[part]

    def _read_options(self, fields: Fields) -> CompileOptions:
        cpu = self._field(fields, "cpu", dict)
        unknown = cpu.keys() - asdict(CpuOptions()).keys()
        if unknown:
            raise self._error(f"the manifest has unknown options for CPU: {', '.join(sorted(unknown))[:80]}")
        passes = [self._is(name, str, "a pass") for name in self._field(fields, "passes", list)]
        numpy = fields.get("numpy")
        if numpy is not None:
            arguments, results = (frozenset(self._integers(x)) for x in self._is(numpy, list, "numpy"))
            numpy = Numpy(arguments, results)
        cache_size = _integer(self._field(fields, "cache_size", int), self._error)
        options = CompileOptions.of(cache_size=cache_size, policy=self._policy(fields.get("policy")))
        return replace(options, cpu=self._cpu(CpuOptions(**cpu)), passes=self._passes(resolve(passes)), numpy=numpy)

    def _cpu(self, options: CpuOptions) -> CpuOptions:
        """The options for CPU; of a file that is not trusted what it leaves out, and the client."""
        if self._trusted:
            return options
        given = {name: value for name, value in asdict(options).items() if value is False or name == "client"}
        return CpuOptions(**given)

    def _passes(self, specs: tuple[str, ...]) -> tuple[str, ...]:
        """The passes; of a file that is not trusted those of `optimize="default"` alone."""
        default = resolve("default")
        exact = [write_spec(name, {**options, "reassociate": "false"}) for name, options in map(parse_spec, default)]
        strange = [] if self._trusted else [spec for spec in specs if spec not in (*default, *exact)]
        if strange:
            raise self._error(
                f"it asks for the pass {strange[0]!r:.80}, which is none of the default ones; "
                "load_bundle(..., trusted=True) runs it"
            )
        return specs

    def _policy(self, choice: Any) -> Any:
        if isinstance(choice, dict) and choice.keys() == {"bucket"}:
            factor, start, multiple, limit = self._is(choice["bucket"], list, "a bucket")
            return Bucket(factor, start, multiple, limit)
        if isinstance(choice, dict) and choice.keys() == {"each"}:
            return {name: self._policy(one) for name, one in self._is(choice["each"], dict, "a policy").items()}
        if isinstance(choice, (str, int)) and not isinstance(choice, bool):
            return choice
        raise self._error(f"the manifest has a malformed policy: {choice!r:.80}")

    def _machine(self, fields: Fields) -> Machine:
        names = Machine.__dataclass_fields__
        return Machine(**{name: self._field(fields, name, str) for name in names})

    def _read_stored(self, fields: Fields, read: Callable[[str, str], bytes], refusal: str) -> Stored:
        part = self._field(fields, "part", str)
        digest = self.digest(part)
        machine = _integer(self._field(fields, "machine", int), self._error)
        if not 0 <= machine < len(self._machines):
            raise self._error(f"the manifest has no machine {machine}")
        sizes = self._field(fields, "sizes", dict)
        exact, bounds = (self._sizes(self._field(sizes, name, dict)) for name in ("exact", "bounds"))
        name, signature = self._outline(self._field(fields, "outline", str), part, refusal)
        places = fields.get("places")
        outputs = []
        for dtype, shape in self._field(fields, "outputs", list):
            outputs.append((self._integers(shape), self._dtype(dtype)))
        stored = Stored(
            Plan(exact, bounds),
            self._machines[machine],
            self._field(fields, "synchronous", bool),
            self._field(fields, "numpy", bool),
            name,
            signature,
            tuple(outputs),
            None if places is None else tuple(self._place(one) for one in self._is(places, list, "places")),
            self._field(fields, "direct", bool),
            self._field(fields, "lapack", bool),
            float(self._is(fields.get("compile_seconds"), (int, float), "compile_seconds")),
            tuple(self._is(note, str, "a note") for note in self._field(fields, "notes", list)),
            lambda: read(part, digest),
            refusal,
        )
        self._check(stored, part)
        return stored

    def _outline(self, text: str, part: str, refusal: str) -> tuple[str, Signature]:
        """An executable's name and signature; of one that is not to be loaded nothing is parsed, nor needed."""
        if refusal:
            return "", Signature((), (), ())
        filename = f"{self._filename}, {part}"
        return read_outline(text, filename)

    def _check(self, stored: Stored, part: str) -> None:
        """What would otherwise come to light when an executable runs, on memory that is not its own."""
        for argument in stored.signature.arguments:
            if not all(type(size) is int for size in argument.dims):
                raise self._error(f"{part} is for open sizes: {argument}")
        for place in stored.places or ():
            inside = 0 <= place.output < len(stored.outputs)
            if inside:
                shape, _ = stored.outputs[place.output]
                count, start = math.prod(place.shape), place.start
                inside = place.shape == shape if start is None else len(shape) == 1 and 0 <= start <= shape[0] - count
            if not inside:
                raise self._error(f"{part} has a result where there is none: {place}")

    def _dtype(self, name: Any) -> np.dtype[Any]:
        found = np.dtype(self._is(name, str, "a dtype"))
        if found.hasobject or found.kind not in "biufcV" or found.fields is not None or found.subdtype is not None:
            raise self._error(f"the manifest has the dtype {name!r:.80}")
        return found

    def _place(self, one: Any) -> PackedResult:
        output, start, shape = self._is(one, list, "a place")
        (number,) = self._integers([output])
        (first,) = self._integers([start]) if start is not None else (None,)
        return PackedResult(number, first, self._integers(shape))

    def _sizes(self, fields: Fields) -> dict[str, int]:
        return dict(zip(fields, self._integers(list(fields.values())), strict=True))

    def _integers(self, values: Any) -> tuple[int, ...]:
        return tuple(_integer(value, self._error) for value in self._is(values, list, "integers"))

    def _json(self, data: bytes) -> Fields:
        if len(data) > LARGEST:
            raise self._error(f"its manifest has {len(data):,} bytes; {LARGEST:,} are the most")
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._error(f"its manifest is no JSON: {error}") from None
        fields: Fields = self._is(found, dict, "the manifest")
        return fields

    def _field(self, fields: Fields, name: str, kind: type[Made]) -> Made:
        if name not in fields:
            raise self._error(f"the manifest lacks {name!r}")
        return self._is(fields[name], kind, repr(name))

    def _is(self, value: Any, kind: Any, what: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._error(f"in the manifest {what} is {value!r:.80}")
        return value

    def _guarded(self, make: Callable[[], Made]) -> Made:
        try:
            return make()
        except ArtifactError:
            raise
        except (HlographError, ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._error(f"the manifest is malformed: {error}") from None

    def _error(self, what: str) -> ArtifactError:
        return ArtifactError(f"{self._filename} cannot be read as a bundle: {what}")


def _integer(value: Any, error: Callable[[str], ArtifactError]) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise error(f"the manifest has {value!r:.80} where an integer is expected")
    return value
