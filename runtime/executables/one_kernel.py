"""Whether XLA:CPU makes one kernel of a call that carries `xla_cpu_small_call`.

In: nothing. Out: a flag, found once in a process. XLA has announced that the emitter behind this attribute will go
(openxla/xla#48001), and an attribute that XLA does not know is ignored without a word. Decision to know: releases that
this was written for are trusted; any other one is given a call that such a kernel cannot hold (a Fourier transform).
Where XLA refuses it, it has read the attribute; where it compiles it, it has not. Then a call that a kernel can hold
must compile, with the options of a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import jax

from ...codegen.passes.cpu_regions import SMALL_CALL
from ...codegen.program import Program
from ..transforms.callee import StaticModule
from ..transforms.primitive import call
from .prepared import PreparedProgram

KNOWN = ("0.7.", "0.10.", "0.11.", "0.12.")  # releases of jaxlib

_TEXT = """
module {{
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %r = call @region(%x) {{mhlo.frontend_attributes = {attributes}}} : (tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }}
  func.func private @region(%x: tensor<4xf32>) -> tensor<4xf32> {{
    {op}
    return %r : tensor<4xf32>
  }}
}}
"""
_HELD = "%r = stablehlo.tanh %x : tensor<4xf32>"
_REFUSED = """%z = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
    %f = stablehlo.fft %z, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %r = stablehlo.real %f : (tensor<4xcomplex<f32>>) -> tensor<4xf32>"""


def forms_one_kernel(options: Mapping[str, Any]) -> bool:
    """Whether calls of many ops become one kernel with this jaxlib.

    Args:
        options: compile options of a plan.
    """
    return version("jaxlib").startswith(KNOWN) or probe(tuple(sorted(options.items())))


@cache
def probe(options: tuple[tuple[str, Any], ...]) -> bool:
    """Asks XLA, in two compiles (0.1 s). Where XLA reads the attribute it writes a line about that to its log."""
    return _compiles(_HELD, dict(options)) and not _compiles(_REFUSED, {})


def _compiles(op: str, options: dict[str, Any]) -> bool:
    program = Program.parse(_TEXT.format(attributes=SMALL_CALL, op=op), allow=["*"])
    as_it_is = PreparedProgram(program).with_bytecode(program.to_bytecode())  # the calls stay
    (device, *_) = jax.devices("cpu")
    place = jax.sharding.SingleDeviceSharding(device)

    def traced(x: Any) -> Any:
        return call(StaticModule(program, as_it_is), [x])[0]

    jitted = jax.jit(traced, compiler_options=options, in_shardings=place, out_shardings=place)
    try:
        jitted.lower(jax.ShapeDtypeStruct((4,), "float32")).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
