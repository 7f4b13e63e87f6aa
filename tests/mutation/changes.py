"""Changes of one place in a Python module: what a mutant does to it."""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

OPPOSITES: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
NOT_RUN = {"annotation", "returns", "decorator_list", "bases"}
"""Fields of the tree that are for the type checker, or make what the module is of."""


class Change(NamedTuple):
    """`owner.field`, or its item `place`, becomes `value`."""

    line: int
    owner: Any
    field: str
    place: int | None
    value: Any
    text: str

    def make(self) -> None:
        """Change the tree in place."""
        if self.place is None:
            setattr(self.owner, self.field, self.value)
        else:
            getattr(self.owner, self.field)[self.place] = self.value
        ast.fix_missing_locations(self.owner)


def changes(node: ast.AST) -> Iterator[Change]:
    """All changes of a tree, always in the same order."""
    for field, index, value in _changed(node):
        before = ast.unparse(node).partition("\n")[0]
        after = value if isinstance(value, str | int | float) else ast.unparse(value)
        line = getattr(node, "lineno", 0)
        where = field if index is None else f"{field}[{index}]"
        text = f"{before[:90]}: {where} {after or type(value).__name__}"
        yield Change(line, node, field, index, value, text)
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if field in NOT_RUN or not isinstance(child, ast.AST) or _is_text(child):
                continue
            if isinstance(child, ast.stmt) and _can_go(child):
                text = f"removed: {ast.unparse(child).partition(chr(10))[0][:90]}"
                yield Change(child.lineno, node, field, index, ast.Pass(), text)
            yield from changes(child)


def _changed(node: ast.AST) -> Iterator[tuple[str, int | None, Any]]:
    """(field, index in it, its new value) of what one node may become."""
    match node:
        case ast.Compare(ops=operators):
            yield from (("ops", at, OPPOSITES[type(op)]()) for at, op in enumerate(operators))
        case ast.BoolOp(op=op):
            yield "op", None, OPPOSITES[type(op)]()
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPPOSITES:
            yield "op", None, OPPOSITES[type(op)]()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operand", None, ast.UnaryOp(ast.Not(), operand)
        case ast.Constant(value=bool(value)):
            yield "value", None, not value
        case ast.Constant(value=int(value) | float(value)):
            # An event id becomes the next one, a length of time twice as long.
            long = value > 1000 or isinstance(value, float)
            yield "value", None, value * 2 if long and value else value + 1
        case ast.Constant(value=str(value)):
            yield "value", None, f"{value}?"
        case ast.Return(value=ast.AST() as value) if ast.unparse(value) != "None":
            yield "value", None, ast.Constant(None)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if isinstance(
            test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr
        ):
            yield "test", None, ast.UnaryOp(ast.Not(), test)


def _can_go(statement: ast.stmt) -> bool:
    """True for a statement without which the names that follow are still bound."""
    match statement:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue():
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _is_text(node: ast.AST) -> bool:
    """True for a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
