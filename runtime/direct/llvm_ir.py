"""LLVM IR as text: what writes a function block by block, and functions that are written in the syntax of Python.

In: a file of such functions (`native/`). Out: LLVM IR, in which pointers have types, for any processor. Of Python:

- A number is an integer of 64 bits, or a `Real`; an address is an integer. `//`, `%`, `>>` take integers as unsigned,
  comparisons as signed. A sum with a product of reals may be rounded once, as in C.
- `Words`, `Halves`, `Bytes` and `Reals` are addresses of elements of 64, 32 and 8 bits and of reals; `address + n` is n
  elements further, and `address[n]` is what is there, of integers as 64 bits. `Name = "field field:Words"` is a struct:
  an address of words that have names; of a `Half` the first 32 bits count. `Words(address)`, and so on, says what is at
  an address. A variable is of the type of its first value.
- `if`, `while`, `return`, `for _ in range(first, end, step)`, and `for _ in (1, 2)` of constants, which is written out
  for each. `NAME = 1` is a constant. `a if c else b` computes both; `and` and `or` do not.
- `stack(n)`: n words of memory for the call; `outside("name", ...)`: a call of a function with that symbol, `invoke(
  address, ...)` of one at an address, both of words; `exchange(address, word)`: puts a word there and gives what was
  there, in one step for all threads; `vector(address, n)`: an address of vectors of n reals.
- A function `@of_reals` is there for float64 and float32; others call it as `double(f, ...)` and `single(f, ...)`.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

# Types of reals, and what is different for them: how the names of BLAS's functions begin.
_REALS = {"double": {"REAL": "d", "NAN": "0x7FF8000000000000"}, "float": {"REAL": "s", "NAN": "0x7FF8000000000000"}}
_VIEWS = {"Words": "i64", "Halves": "i32", "Bytes": "i8"}
_NARROW = ("i32", "i8")  # integers that are 64 bits wide once they are read
_BYTES = {"i64": 8, "i32": 4, "i8": 1, "double": 8, "float": 4}
_NAMES = "Add:add Sub:sub Mult:mul Div:div FloorDiv:udiv Mod:urem LShift:shl RShift:lshr BitAnd:and BitOr:or"
_COMPARISONS = "Eq:eq NotEq:ne Lt:slt LtE:sle Gt:sgt GtE:sge"
_OPS = {getattr(ast, name): op for name, _, op in (pair.partition(":") for pair in f"{_NAMES} {_COMPARISONS}".split())}
_FOLDED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift}


class Writer:
    """Writes a function, block by block.

    Attributes:
        lines: what is written.
        block: the one that is being written.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = ""
        self._numbers = itertools.count()

    def new(self) -> str:
        """A name."""
        return f"v{next(self._numbers):d}"

    def add(self, text: str) -> str:
        """Writes what gives a value; its name."""
        self.lines.append(f"  %{(name := self.new())} = {text}")
        return f"%{name}"

    def load(self, address: str, stored: str = "i64") -> str:
        """What is at an address."""
        return self.add(f"load {stored}, {self._at(address, stored)}")

    def store(self, value: str, address: str, stored: str = "i64") -> None:
        """Puts a value to an address."""
        self.lines.append(f"  store {stored} {value}, {self._at(address, stored)}")

    def _at(self, address: str, stored: str) -> str:
        alignment = _BYTES.get(stored.rpartition(" ")[2].rstrip(">"), 1)  # an element's
        return f"{stored}* {self.add(f'inttoptr i64 {address} to {stored}*')}, align {alignment:d}"

    def invoke(self, function: str, operands: Sequence[str]) -> str:
        """Calls what is at an address, of 64-bit words."""
        types, given = ", ".join("i64" for _ in operands), ", ".join(f"i64 {operand}" for operand in operands)
        return self.add(f"call i64 {self.add(f'inttoptr i64 {function} to i64 ({types})*')}({given})")

    def open(self, block: str) -> None:
        """A block begins, after one that has ended."""
        self.lines.append(f"{block}:")
        self.block = block

    def go(self, block: str, then: str = "") -> None:
        """A block goes on to another one; which begins, or still another one."""
        self.lines.append(f"  br label %{block}")
        self.open(then or block)

    def choose(self, condition: str, block: str, otherwise: str) -> None:
        """A block begins where a condition holds; where it does not, another one is next."""
        self.lines.append(f"  br i1 {condition}, label %{block}, label %{otherwise}")
        self.open(block)

    def loop(self, condition: Callable[[], str], body: Callable[[], object]) -> None:
        """Writes a loop."""
        head, after = self.new(), self.new()
        self.go(head)
        self.choose(condition(), self.new(), after)
        body()
        self.go(head, after)


class Value(NamedTuple):
    """A value; `of` is what is there if it is an address: an element's type, or a struct."""

    text: str
    type: str = "i64"
    of: str = ""


def translated(source: str, constants: Mapping[str, Any]) -> str:
    """LLVM IR of the functions in a file; those named `hlograph_` can be called from outside.

    Args:
        source: the file.
        constants: further ones.
    """
    tree, named = ast.parse(source), dict(constants)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            named[ast.unparse(node.targets[0])] = _folded(node.value, named.get)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    file = _File(named, functions, {}, {})
    written = [
        _Function(file, node, real).written()
        for node in functions.values()
        for real in (_REALS if node.decorator_list else ("",))
    ]
    return "\n".join([*file.declared.values(), *file.texts, *itertools.chain(*written), ""])


class _File(NamedTuple):
    constants: dict[str, Any]
    functions: dict[str, ast.FunctionDef]
    declared: dict[str, str]  # outside functions
    texts: dict[str, None]


class _Function(Writer):
    def __init__(self, file: _File, node: ast.FunctionDef, real: str) -> None:
        super().__init__()
        self._file, self._node, self._real = file, node, real
        self._start: list[str] = []  # memory of variables
        self._variables: dict[str, Value] = {}
        self._constants = file.constants | _REALS.get(real, {})
        self.parameters = {argument.arg: self._type(argument.annotation) for argument in node.args.args}
        self.result = self._type(node.returns)
        self.name = f"@{node.name}_{real}" if real else f"@{node.name}"

    def written(self) -> list[str]:
        for parameter, value in self.parameters.items():
            self._set(parameter, value._replace(text=f"%{parameter}"))
        self._body(self._node.body)
        listed = ", ".join(f"{value.type} %{parameter}" for parameter, value in self.parameters.items())
        scope = "" if self._node.name.startswith("hlograph_") else "internal "
        head = f"define {scope}{self.result.type} {self.name}({listed}) nounwind {{"
        return [head, *self._start, *self.lines, "  ret void" if self.result.type == "void" else "  unreachable", "}"]

    def _type(self, annotation: ast.expr | str | None) -> Value:
        name = annotation if isinstance(annotation, str) else ast.unparse(annotation) if annotation else "None"
        kinds = {"int": "i64", "Half": "i64", "bool": "i1", "Real": self._real, "None": "void"}
        return Value("", kinds[name]) if name in kinds else Value("", of=self._view(name))

    def _view(self, name: str) -> str:
        return (_VIEWS | {"Reals": self._real}).get(name, name)

    def _fields(self, struct: str) -> dict[str, str]:
        pairs = (field.partition(":") for field in self._constants[struct].split())
        return {name: kind or "int" for name, _, kind in pairs}

    def _bytes(self, of: str) -> int:
        if of in self._constants:
            return 8 * len(self._fields(of))
        count, _, element = of.strip("<>").rpartition(" x ")
        return int(count or 1) * _BYTES[element]

    # ---- statements --------------------------------------------------------------------------------------------------

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, found in zip(targets, [self._value(value) for value in values], strict=True):
                    self._assign(target, found)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, self._value(ast.BinOp(target, op, value)))
            case ast.Return(value=value):
                result = self._as(self._value(value), self.result.type) if value else ""
                self.lines.append(f"  ret {self.result.type} {result}")
                self.open(self.new())
            case ast.If(test=test, body=body, orelse=orelse):
                otherwise, after = self.new(), self.new()
                self.choose(self._test(test), self.new(), otherwise)
                self._body(body)
                self.go(after, otherwise)
                self._body(orelse)
                self.go(after)
            case ast.While(test=test, body=body):
                self.loop(lambda: self._test(test), lambda: self._body(body))
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=turns), body=body):
                for turn in turns:  # each with variables of its own
                    before = self._variables.copy()
                    self._constants[name] = ast.literal_eval(turn)
                    self._body(body)
                    self._variables = before
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*limits]), body=body):
                turn, end, step = (ast.Name(f"{name}{part}") for part in ("", ".end", ".step"))
                for part, limit in zip((turn, end, step), limits, strict=True):
                    self._set(part.id, self._value(limit))
                body = [*body, ast.AugAssign(turn, ast.Add(), step)]
                self.loop(lambda: self._test(ast.Compare(turn, [ast.Lt()], [end])), lambda: self._body(body))
            case _:
                raise NotImplementedError(ast.unparse(node))

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            return self._set(target.id, value)
        address, stored, shown = self._place(target)
        text = self._as(value, shown.type)
        self.store(self.add(f"trunc i64 {text} to {stored}") if stored in _NARROW else text, address, stored)

    def _set(self, name: str, value: Value) -> None:
        if name not in self._variables:
            self._variables[name] = value._replace(text=f"%{self.new()}")
            self._start.append(f"  {self._variables[name].text} = alloca {value.type}")
        place, kind, _ = self._variables[name]
        self.lines.append(f"  store {kind} {self._as(value, kind)}, {kind}* {place}")

    # ---- values ------------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=str() as said):
                at, kind = f"@text{len(self._file.texts):d}", f"[{len(said) + 1:d} x i8]"
                self._file.texts[f'{at} = private constant {kind} c"{said}\\00"'] = None
                return Value(f"ptrtoint ({kind}* {at} to i64)")
            case _ if (constant := self._constant(node)) is not None:
                return Value(f"{constant}")
            case ast.Name(id=name):
                found = self._variables[name]
                return found._replace(text=self.add(f"load {found.type}, {found.type}* {found.text}"))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._binary(Value("0"), ast.Sub(), self._value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value(self.add(f"xor i1 {self._test(operand)}, true"), "i1")
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(self._value(left), op, self._value(right))
            case ast.Compare(left=left, ops=[compared], comparators=[right]):
                sides = ", ".join([self._as(self._value(side), "i64") for side in (left, right)])
                return Value(self.add(f"icmp {_OPS[type(compared)]} i64 {sides}"), "i1")
            case ast.BoolOp(op=joined, values=values):  # the next one where it still matters
                name, after = f"any{self.new()}", self.new()
                for value in values:
                    more = self.new()
                    self._set(name, Value(self._test(value), "i1"))
                    ends = (more, after) if isinstance(joined, ast.And) else (after, more)
                    known = self._value(ast.Name(name)).text
                    self.lines.append(f"  br i1 {known}, label %{ends[0]}, label %{ends[1]}")
                    self.open(more)
                self.go(after)
                return self._value(ast.Name(name))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, one, other = self._test(test), self._value(body), self._value(orelse)
                kind = _wider(one, other)
                chosen = f"{kind} {self._as(one, kind)}, {kind} {self._as(other, kind)}"
                return Value(self.add(f"select i1 {condition}, {chosen}"), kind, one.of)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
            case ast.Subscript() | ast.Attribute():
                address, stored, shown = self._place(node)
                text = self.load(address, stored) if stored else address
                return shown._replace(text=self.add(f"sext {stored} {text} to i64") if stored in _NARROW else text)
        raise NotImplementedError(ast.unparse(node))

    def _constant(self, node: ast.expr) -> Any:
        return _folded(node, lambda name: None if name in self._variables else self._constants.get(name))

    def _test(self, node: ast.expr) -> str:
        return self._as(self._value(node), "i1")

    def _place(self, node: ast.expr) -> tuple[str, str, Value]:
        """An address, the type of what is stored there ("" for a struct, which is its address), and what it becomes."""
        assert isinstance(node, ast.Subscript | ast.Attribute)
        base = self._value(node.value)
        if isinstance(node, ast.Attribute):
            fields = self._fields(base.of)
            place, kind = list(fields).index(node.attr), fields[node.attr]
            address = self._binary(base._replace(of="i64"), ast.Add(), Value(f"{place:d}"))
            return address.text, "i32" if kind == "Half" else "i64", self._type(kind)
        address = self._binary(base, ast.Add(), self._value(node.slice))
        if base.of in self._constants:
            return address.text, "", address
        return address.text, base.of, Value("", "i64" if base.of in _VIEWS.values() else base.of)

    def _binary(self, one: Value, op: ast.operator, other: Value) -> Value:
        kind, name = _wider(one, other), _OPS[type(op)]
        left, right = self._as(one, kind), self._as(other, kind)
        if kind != "i64":
            return Value(self.add(f"f{name} contract {kind} {left}, {right}"), kind)
        of = one.of if name in ("add", "sub") and not other.of else ""
        if of:  # this many elements further
            right = self.add(f"mul i64 {right}, {self._bytes(of):d}")
        return Value(self.add(f"{name} i64 {left}, {right}"), "i64", of)

    def _as(self, value: Value, kind: str) -> str:
        """A value as one of another type: a constant as a real, a real as a vector of it, a number as whether it is."""
        if value.type == kind:
            return value.text
        if kind in _REALS:
            return value.text if value.text.startswith("0x") else f"{int(value.text):d}.0"
        if kind in ("i1", "i64"):
            text = f"icmp ne i64 {value.text}, 0" if kind == "i1" else f"zext i1 {value.text} to i64"
            return self.add(text)
        first = self.add(f"insertelement {kind} undef, {self._real} {self._as(value, self._real)}, i32 0")
        places = f"{kind.rpartition(' ')[0]} i32> zeroinitializer"
        return self.add(f"shufflevector {kind} {first}, {kind} undef, {places}")

    def _call(self, name: str, args: Sequence[ast.expr]) -> Value:
        if name in ("double", "single") or name in self._file.functions:
            real = {"double": "double", "single": "float"}.get(name, self._real)
            if name not in self._file.functions:
                name, args = ast.unparse(args[0]), args[1:]
            return self._ours(name, real, args)
        if name == "outside":
            symbol, values = self._constant(args[0]), [self._value(arg) for arg in args[1:]]
            self._file.declared[symbol] = f"declare i64 @{symbol}({', '.join('i64' for _ in values)})"
            return Value(self.add(f"call i64 @{symbol}({', '.join(f'i64 {value.text}' for value in values)})"))
        first, *rest = (self._value(arg) for arg in args)
        match name:
            case "invoke":
                return Value(self.invoke(first.text, [value.text for value in rest]))
            case "exchange":
                pointer = self.add(f"inttoptr i64 {first.text} to i64*")
                return Value(self.add(f"atomicrmw xchg i64* {pointer}, i64 {rest[0].text} acq_rel"))
            case "stack":
                self._start.append(f"  %{(memory := self.new())} = alloca i64, i64 {first.text}")
                return Value(self.add(f"ptrtoint i64* %{memory} to i64"), of="i64")
            case "vector":
                return first._replace(of=f"<{rest[0].text} x {self._real}>")
        return first._replace(of=self._view(name))

    def _ours(self, name: str, real: str, args: Sequence[ast.expr]) -> Value:
        node = self._file.functions[name]
        called = _Function(self._file, node, real if node.decorator_list else "")
        kinds = [value.type for value in called.parameters.values()]
        given = ", ".join([f"{kind} {self._as(self._value(arg), kind)}" for kind, arg in zip(kinds, args, strict=True)])
        text = f"call {called.result.type} {called.name}({given})"
        if called.result.type == "void":
            self.lines.append(f"  {text}")
            return called.result
        return called.result._replace(text=self.add(text))


def _folded(node: ast.expr, known: Callable[[str], Any]) -> Any:
    """What a constant is, from names that are; None for what is no constant."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _folded(ast.BinOp(ast.Constant(0), ast.Sub(), operand), known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            one, other = _folded(left, known), _folded(right, known)
            return None if one is None or other is None else _FOLDED[type(op)](one, other)
    return None


def _wider(one: Value, other: Value) -> str:
    return max(one.type, other.type, "i64", key=len)
