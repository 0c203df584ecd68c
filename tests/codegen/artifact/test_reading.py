"""What is read: files with a digest, edited and damaged ones, and all of them through a child process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bad_artifacts import forged

import hlograph
from hlograph import Program
from hlograph.codegen.artifact import files, foreign
from hlograph.codegen.ir.modules import to_bytecode
from hlograph.errors import ArtifactError, HandEditWarning

PLAIN = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
TEXT = """
module @model {
  func.func @main(%arg0: tensor<?xf32> {hlograph.name = "x", hlograph.dims = ["n"]}) -> tensor<?xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
"""
SUFFIXES = pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files are parsed in this process; the names of those that a child would have parsed."""
    names: list[str] = []

    def parse(data: bytes, filename: str) -> bytes:
        names.append(filename)
        return foreign._answer(data, filename).removeprefix(foreign.MODULE)

    monkeypatch.setattr(foreign, "parse", parse)
    return names


def written(folder: Path, content: str | bytes, name: str = "module.mlir") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# ---- ours ------------------------------------------------------------------------------------------------------------


@SUFFIXES
def test_what_was_saved_says_its_format_and_goes_through_the_child(
    tmp_path: Path, here: list[str], suffix: str
) -> None:
    program = Program.parse(TEXT)
    path = program.save(tmp_path / f"a{suffix}")
    assert b"hlograph.format" in path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = hlograph.load(path)
        assert here == [str(path)]
        assert hlograph.load(path, trusted=True).text == loaded.text
    assert here == [str(path)]
    assert "hlograph.digest" not in loaded.text
    assert "hlograph.digest" not in program.text
    assert loaded.save(tmp_path / f"b{suffix}").read_bytes() == path.read_bytes()


def test_line_ends_of_another_system_are_no_edit(tmp_path: Path, here: list[str]) -> None:
    text = Program.parse(TEXT).save(tmp_path / "a.mlir").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = hlograph.load(written(tmp_path, text.replace(b"\n", b"\r\n")))
    assert loaded.name == "model"


def test_an_edited_text_is_read_with_a_warning(tmp_path: Path, here: list[str]) -> None:
    text = Program.parse(TEXT).save(tmp_path / "a.mlir").read_text()
    path = written(tmp_path, text.replace("exponential", "negate"))
    with pytest.warns(HandEditWarning, match=r"module\.mlir was changed") as record:
        loaded = hlograph.load(path)
    assert here == [str(path)]
    assert [each.filename for each in record if each.category is HandEditWarning] == [__file__]
    np.testing.assert_array_equal(loaded.interpret(np.float32([1, 2]))[0], [-1, -2])
    with pytest.warns(HandEditWarning):
        Program.parse(path.read_text())


def test_each_changed_bit_of_bytecode_is_found(tmp_path: Path, here: list[str]) -> None:
    """But in the mark itself, where it makes a foreign file of ours, or another release's."""
    data = Program.parse(TEXT).save(tmp_path / "a.mlirbc").read_bytes()
    start, end = re.search(rb"hlograph \S+ format", data).span()  # type: ignore[union-attr]
    for place in [*range(4, start, 3), *range(end, len(data), 3)]:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        with pytest.raises(ArtifactError, match=r"is damaged|has format \d+"):
            hlograph.load(written(tmp_path, bytes(changed)))
    assert here == []


@SUFFIXES
def test_a_later_format_says_which_release_to_install(tmp_path: Path, here: list[str], suffix: str) -> None:
    data = Program.parse(TEXT).save(tmp_path / f"a{suffix}").read_bytes()
    later = re.sub(rb"hlograph \S+ format 1 ", b"hlograph 7.8.9 format 2 ", data)
    with pytest.raises(ArtifactError, match=r"format 2.*install hlograph 7\.8\.9 or newer"):
        hlograph.load(written(tmp_path, later))


@pytest.mark.filterwarnings("ignore::hlograph.errors.HandEditWarning")
def test_a_text_that_mentions_a_digest_is_not_confused_with_one(tmp_path: Path) -> None:
    program = Program.parse(TEXT.replace('"x"', f'"{files.marks()["hlograph.digest"]}"'))
    with pytest.raises(ArtifactError, match="looks like the digest"):
        program.save(tmp_path / "a.mlir")
    assert list(tmp_path.iterdir()) == []


# ---- limits ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "NUL": (PLAIN + "\0", "NUL byte at 81"),
    "no UTF-8": (PLAIN.encode() + b"// \xff", "byte 84 is not UTF-8"),
    "nothing": (" \n", "is empty"),
    "a great tensor": (PLAIN.replace("3x", "4611686018427387904x4x"), "a tensor of 4611686018427387904x4 elements"),
    "many axes": (PLAIN.replace("3x", "1x" * 65), "a tensor of 65 axes"),
    "no UTF-8 in a name": (PLAIN.replace("@main", '@"\\FF"'), "names that are not UTF-8"),
    "nor in an attribute": (PLAIN.replace("3xf32>)", '3xf32> {hlograph.name = "a\\C3"})'), "not UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_beyond_limits_is_refused_also_where_it_is_trusted(tmp_path: Path, name: str) -> None:
    content, message = REFUSED[name]
    with pytest.raises(ArtifactError, match=message):
        hlograph.load(written(tmp_path, content), trusted=True)


def test_limits_are_far_from_real_models() -> None:
    """A call with as many operands as MLIR prints in one line, names of JAX's, constants of a megabyte."""
    zeros = "0" * 2**21
    text = PLAIN.replace(
        "{",
        f"""{{
        %n = stablehlo.constant dense<"0x{zeros}"> : tensor<1048576xi8> loc("{"frame/" * 1000}")
        %t = "stablehlo.tuple"({", ".join(["%x"] * 5000)}) : ({", ".join(["tensor<3xf32>"] * 5000)})
            -> tuple<{", ".join(["tensor<3xf32>"] * 5000)}>""",
        1,
    )
    assert Program.parse(text, trusted=False).op_counts() == {"stablehlo.constant": 1, "stablehlo.tuple": 1}


def test_too_large_a_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES", 50)
    path = written(tmp_path, PLAIN)
    with pytest.raises(ArtifactError, match=f"{len(PLAIN)} bytes; at most 50 are read"):
        hlograph.load(path)
    with pytest.raises(ArtifactError, match="at most 50 are read"):
        Program.parse(PLAIN)


def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "zero.mlir").symlink_to("/dev/zero")
    for path in (tmp_path / "zero.mlir", "/dev/zero", tmp_path):
        with pytest.raises(ArtifactError, match="cannot read"):
            hlograph.load(path)
    with pytest.raises(ArtifactError, match="is empty"):  # a file of /proc says that it has no bytes
        hlograph.load("/proc/self/maps")
    with pytest.raises(ArtifactError, match="NUL"):
        hlograph.load("a\0b")


# ---- foreign ---------------------------------------------------------------------------------------------------------


def aliases(count: int, link: Callable[[int], str]) -> str:
    lines = [f"#a{i + 1} = {link(i)}\n" for i in range(count)]
    return f"#a0 = [1]\n{''.join(lines)}module attributes {{x.a = #a{count}}} {{ {PLAIN} }}"


def in_bytecode(type_: str, name: str = "@main") -> bytes:
    text = f"func.func {name}(%x: {type_}) -> {type_} {{ return %x : {type_} }}"
    return to_bytecode(files.parse(text.encode(), "module"))


DEEP = 10_000
HARMFUL = {
    "a chain": (aliases(20_000, lambda i: f"[#a{i}]"), "it died of SIG"),
    "doubled forty times": (aliases(40, lambda i: f"[#a{i}, #a{i}]"), "took too long|when written out"),
    "a long sum": (f"module attributes {{x.a = affine_map<(d) -> ({'d +' * 30_000} d)>}} {{}}", "it died of SIG"),
    "a great tensor": (in_bytecode("tensor<4611686018427387904x4xf32>"), "a tensor of 4611686018427387904x4 elements"),
    "many axes": (in_bytecode(f"tensor<{'1x' * 65}f32>"), "a tensor of 65 axes"),
    "a name": (in_bytecode("tensor<f32>", '@"\\FF"'), "names that are not UTF-8"),
    "a name of an attribute": (
        to_bytecode(
            files.parse(PLAIN.replace("{ return", "attributes {zzz = 1 : i32} { return").encode(), "m")
        ).replace(b"zzz", b"z\xffz"),
        "names that are not UTF-8",
    ),
    "a name of an argument's attribute": (
        to_bytecode(
            files.parse(
                PLAIN.replace("3xf32>)", '3xf32> {hlograph.name = "x", hlograph.zzz = 1 : i32})', 1).encode(), "m"
            )
        ).replace(b"zzz", b"z\xffz"),
        "names that are not UTF-8|it died of SIG",
    ),
    "no module": ("ML\xefR", "not a well-formed|cannot be read"),
    "attributes": ("module attributes {x.a = " + "[" * DEEP + "]" * DEEP + "} {}", "it died of SIG"),
    "regions": ("module {" * DEEP + "}" * DEEP, "it died of SIG"),
    "locations": (PLAIN + " loc(" + "fused[" * DEEP + "]" * DEEP + ")", "it died of SIG"),
    "digits": ("module attributes {x.a = " + "9" * 4_000_000 + " : i64} {}", "took too long|too large|out of range"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HARMFUL)
def test_what_jaxlib_does_not_survive_ends_another_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    content, message = HARMFUL[name]
    with pytest.raises(ArtifactError, match=message):
        hlograph.load(written(tmp_path, content))
    assert capfd.readouterr().err == ""


STRUCTURES = {
    "calls itself": ("func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @main(%x) : (tensor<f32>) -> "
                     "tensor<f32> return %0 : tensor<f32> }", "@main calls itself"),
    "calls each other": ("func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @g(%x) : (tensor<f32>) -> "
                         "tensor<f32> return %0 : tensor<f32> } func.func private @g(%x: tensor<f32>) -> tensor<f32> "
                         "{ %0 = call @main(%x) : (tensor<f32>) -> tensor<f32> return %0 : tensor<f32> }",
                         "calls itself, or one that does"),
    "no body": (f"func.func private @g(tensor<f32>) {PLAIN}", "@g has no body"),
    "what is not there": ("func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = stablehlo.custom_call "
                          "@stablehlo.dynamic_reduce_window(%x) {called_computations = [@add]} : (tensor<f32>) -> "
                          "tensor<f32> return %0 : tensor<f32> }", "calls the function @add, which it does not hold"),
    "a location": (PLAIN.replace("{", 'attributes {hlograph.checks = loc("x")} {', 1), "holds a location"),
    "a location of an op": ('func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = stablehlo.sine %x {a = {b = '
                            'loc("x")}} : tensor<f32> return %0 : tensor<f32> }', "holds a location"),
    "another dialect": ("func.func @main(%x: tensor<f32>) -> tensor<f32> { cf.br ^a ^a: return %x : tensor<f32> }",
                        r"cf\.br, which is not StableHLO"),
    "an encoding": (PLAIN.replace("3xf32", "3xf32, 1 : i32"), "whose encoding is not StableHLO's"),
    "infeed": ("func.func @main() -> tensor<f32> { %t = stablehlo.create_token : !stablehlo.token %r:2 = "
               '"stablehlo.infeed"(%t) <{infeed_config = "", layout = [[]]}> : (!stablehlo.token) -> (tensor<f32>, '
               "!stablehlo.token) return %r#0 : tensor<f32> }", "stablehlo.infeed, which would wait"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_only_the_parser_takes_is_refused_by_name(name: str) -> None:
    content, message = STRUCTURES[name]
    with pytest.raises(ArtifactError, match=message):
        Program.parse(content, trusted=name != "no body")


def test_a_right_digest_opens_nothing() -> None:
    for content, message in (HARMFUL["doubled forty times"], STRUCTURES["infeed"]):
        with pytest.raises(ArtifactError, match=message):
            Program.parse(forged(str(content)))


def test_functions_without_a_body_in_trusted_text() -> None:
    """They stay where nothing calls them, or where a pass has a body for them."""
    text, _ = STRUCTURES["no body"]
    assert "@g" in Program.parse(text).text
    called = PLAIN.replace("return %x", "%0 = call @g(%x) : (tensor<3xf32>) -> tensor<3xf32> return %0")
    outside = "func.func private @g(tensor<3xf32>) -> tensor<3xf32>"
    with pytest.raises(ArtifactError, match="calls the function @g, which it does not hold"):
        Program.parse(outside + called)
    assert "@g" in Program.parse(f'{outside} attributes {{hlograph.implements = "lu"}} {called}').text


def test_calls_are_followed_however_many_functions_are_on_the_way() -> None:
    call = "%0 = call @{}(%x) : (tensor<3xf32>) -> tensor<3xf32> return %0 : tensor<3xf32>"
    end = "return %x : tensor<3xf32>"
    names = ["main", *(f"f{i}" for i in range(300))]
    bodies = [PLAIN.replace("main", name).replace(end, call.format(next_)) for name, next_ in pairwise(names)]
    line = bodies[0] + "".join(body.replace("func.func", "func.func private") for body in bodies[1:])
    last = PLAIN.replace("main", names[-1]).replace("func.func", "func.func private")
    assert Program.parse(line + last).op_counts() == {"func.call": 300}
    with pytest.raises(ArtifactError, match="calls itself"):
        Program.parse(line + last.replace(end, call.format("f7")))


def test_the_child_gives_the_same_module(tmp_path: Path) -> None:
    """With locations, names, and strings that are not for reading; from a fork, a thread, and with closed streams."""
    text = Program.parse(TEXT).to_text(locations=True).replace("@model", '@"größer"')
    path = written(tmp_path, text)
    expected = hlograph.load(path, trusted=True).to_text(locations=True)
    script = """
        import os, signal, sys, threading, hlograph
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
        for stream in (0, 2):
            os.close(stream)
        sys.stdin = sys.stderr = None
        found = []
        def load():
            found.append(hlograph.load(sys.argv[1]).to_text(locations=True))
        thread = threading.Thread(target=load)
        thread.start()
        thread.join()
        from hlograph.codegen.artifact import foreign
        (first,) = foreign._waiting
        assert first._socket.fileno() > 2
        pid = os.fork()
        if pid == 0:
            assert not foreign._waiting
            load()
            os.write(1, found[1].encode())
            os._exit(0)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass
        load()
        assert len(found) == 2 and foreign._waiting == [first]
        os.write(1, found[0].encode())
    """
    environment = {**os.environ, "HOME": "/nowhere", "TMPDIR": "/nowhere"}
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    printed = subprocess.run(command, capture_output=True, env=environment, check=True, cwd=tmp_path).stdout.decode()
    assert printed == expected * 2


def test_the_child_serves_files_until_none_comes_for_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From threads, one after the other."""
    data = PLAIN.encode()
    foreign._end_all()
    monkeypatch.setattr(foreign, "_COMMAND", ["-c", f"{_IMPORT}; foreign.IDLE = 0.5; foreign.main()"])
    foreign.parse(data, "a")
    (first,) = foreign._waiting
    threads = [threading.Thread(target=foreign.parse, args=(data, "b")) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert foreign._waiting == [first]
    with pytest.raises(ArtifactError, match="it died of SIG"):
        foreign.parse(HARMFUL["regions"][0].encode(), "c")
    assert foreign._waiting == [first]
    first._process.wait(60)
    foreign.parse(data, "e")
    assert foreign._waiting != [first]
    foreign._end_all()


_IMPORT = "from hlograph.codegen.artifact import foreign"
_BEGIN = (
    f"import os, sys; {_IMPORT}; asked = foreign.Connection(int(sys.argv[1])); asked.send_bytes(foreign.READY); "
    "asked.recv_bytes(); asked.recv_bytes()"
)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import time; time.sleep(60)", "cannot be started: it does not answer within 5 s"),
        (f"{_BEGIN}; import time; time.sleep(60)", "did not end within"),
        ("raise SystemExit('no room')", "cannot be started: no room.*trusted=True"),
        (f"{_BEGIN}; asked.send_bytes(b'-9\\n' + foreign.MODULE + b'it'); asked.recv_bytes()", "it died of SIGKILL"),
        (f"{_BEGIN}; os.write(asked.fileno(), b'xxx'); os.kill(os.getpid(), 9)", "it died of SIGKILL"),
    ],
)
def test_a_child_that_hangs_or_dies_is_an_error(code: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign._end_all()
    monkeypatch.setattr(foreign, "_COMMAND", ["-c", code])
    monkeypatch.setattr(foreign, "_START", 5.0 if "within 5" in message else 60.0)
    monkeypatch.setattr(foreign, "seconds", lambda size: 0.05)
    with pytest.raises(ArtifactError, match=message):
        foreign.parse(b"", "module.mlir")
    foreign._end_all()


@pytest.mark.parametrize("lack", [(sys, "executable", ""), (foreign, "Pipe", lambda: os.open("/none", os.O_RDONLY))])
def test_a_child_that_cannot_start(lack: tuple[object, str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    foreign._end_all()
    monkeypatch.setattr(*lack)
    with pytest.raises(ArtifactError, match="cannot be started"):
        foreign.parse(b"", "module.mlir")


def test_what_the_interpreter_prints_at_its_start_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign._end_all()
    monkeypatch.setattr(foreign, "_COMMAND", ["-c", f"import os; os.write(1, b'hello'); {_IMPORT}; foreign.main()"])
    assert foreign.parse(PLAIN.encode(), "module.mlir").startswith(b"ML")
    foreign._end_all()


def test_a_pipe_is_read_to_its_end(tmp_path: Path, here: list[str]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(PLAIN + "//" + "x" * 200_000,))
    writer.start()
    assert hlograph.load(path).signature.arguments[0].name == "arg0"
    writer.join()


def test_a_long_diagnostic_is_cut() -> None:
    with pytest.raises(ArtifactError) as caught:
        Program.parse(PLAIN.replace("return", " ".join(["stablehlo.nothing"] * 3000)))
    assert len(str(caught.value)) < files.MESSAGE + 100
