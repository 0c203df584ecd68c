"""A bundle's manifest: which part is what, as JSON.

In: what was compiled, and how; or the JSON's bytes. Out: these bytes, or the same again. It reads

    {"format": 2, "hlograph": "0.1.0", "options": {...}, "machines": [{...}],
     "executables": [{"part": "executables/0", "machine": 0, "sizes": {"exact": {"n": 100}, "bounds": {}}, ...}]}

Decision to know: it has what a reader needs who does not load the executables; all else about one is in its part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from ...codegen.errors import ArtifactError, HlographError
from ...codegen.passes.optimize import resolve
from ...codegen.renamed import OPTIONS
from ..executables.policy import Bucket, Plan, PolicyArgument
from ..executables.stored import Machine, Stored
from ..options import CompileOptions, CpuOptions, Numpy

FORMAT = 2
PROGRAM = "program.mlirbc"
MANIFEST = "manifest.json"
PARAMETERS = "parameters.safetensors"
_MALFORMED = (HlographError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)

Fields = dict[str, Any]


@dataclass(frozen=True)
class Manifest:
    """What is in a bundle.

    Attributes:
        writer: the release of hlograph that wrote it.
        options: of the function.
        executables: they.
    """

    writer: str
    options: CompileOptions
    executables: Sequence[Stored]


def dumped(options: CompileOptions, parts: Mapping[str, Stored]) -> bytes:
    """The manifest of what has these options and executables, the latter by their parts."""
    machines = list(dict.fromkeys(stored.machine for stored in parts.values()))
    numpy = options.numpy
    fields = {
        "format": FORMAT,
        "hlograph": version("hlograph"),
        "options": {
            "cache_size": options.cache_size,
            "policy": _policy(options.policy),
            "passes": list(options.passes),
            "cpu": asdict(options.cpu),
            "numpy": None if numpy is None else [sorted(numpy.arguments), sorted(numpy.results)],
        },
        "machines": [asdict(machine) for machine in machines],
        "executables": [
            {
                "part": part,
                "machine": machines.index(stored.machine),
                "sizes": {"exact": dict(stored.sizes.exact), "bounds": dict(stored.sizes.bounds)},
                "synchronous": stored.synchronous,
                "numpy": stored.numpy,
                "compile_seconds": stored.compile_seconds,
            }
            for part, stored in parts.items()
        ],
    }
    return json.dumps(fields, indent=1).encode()


def _policy(policy: PolicyArgument) -> Any:
    if isinstance(policy, Bucket):
        return {"bucket": [policy.factor, policy.start, policy.multiple, policy.limit]}
    if isinstance(policy, Mapping):
        return {"each": {name: _policy(choice) for name, choice in policy.items()}}
    return policy


def read(data: bytes, filename: str, part: Callable[[str], bytes], *, refusal: str = "") -> Manifest:
    """A manifest.

    Args:
        data: its bytes.
        filename: of the bundle, for messages.
        part: gives a part by its name.
        refusal: why no executable is loaded, of a file that is not trusted: its options then switch nothing on.

    Raises:
        ArtifactError: it is malformed, or of a later format.
    """
    try:
        fields = json.loads(data)
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']}, and this hlograph reads {FORMAT}")
        machines = [Machine(**one) for one in fields["machines"]]
        stored = [
            Stored(
                Plan(**one["sizes"]),
                machines[one["machine"]],
                one["synchronous"],
                one["numpy"],
                one["compile_seconds"],
                partial(part, one["part"]),
                refusal,
            )
            for one in fields["executables"]
        ]
        options = _options(fields["options"], trusted=not refusal)
        return Manifest(fields["hlograph"], options, stored)
    except _MALFORMED as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ArtifactError(f"{filename} cannot be read as a bundle: its manifest is malformed: {what[:300]}") from None


def _options(fields: Fields, *, trusted: bool) -> CompileOptions:
    """The options; of a file that is not trusted those that switch something off, the client, and default passes."""
    given = {name: x for name, x in fields["cpu"].items() if name not in OPTIONS}  # which there were once
    cpu, passes, numpy = CpuOptions(**given), tuple(fields["passes"]), fields["numpy"]
    if not trusted:
        passes = resolve(passes)
        cpu = CpuOptions(**{name: x for name, x in asdict(cpu).items() if x is False or name == "client"})
        default = resolve("default")
        strange = [spec for spec in passes if spec not in (*default, *resolve("exact"))]
        if strange:
            raise ValueError(
                f"it asks for the pass {strange[0]!r:.80}, which is none of the default ones; "
                "load_bundle(..., trusted=True) runs it"
            )
    if fields["cache_size"] < 1:
        raise ValueError(f"cache_size is {fields['cache_size']}")
    arrays = None if numpy is None else Numpy(*map(frozenset, numpy))
    return CompileOptions(None, fields["cache_size"], _read_policy(fields["policy"]), passes, cpu, arrays)


def _read_policy(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    if "bucket" in choice:
        return Bucket(*choice["bucket"])
    return {name: _read_policy(one) for name, one in choice["each"].items()}
