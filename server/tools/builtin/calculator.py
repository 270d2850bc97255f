"""The tool `calculator`: arithmetic by walking the syntax tree, never by evaluating Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Annotated, Any

from ..decorators import Context, ToolError, tool

MAX_LENGTH = 1_000
MAX_BITS = 20_000  # of every intermediate result; 2**20000 has 6,000 digits


def round_value(value: Any, digits: Any = None) -> Any:
    """Round like round(), which would first compute 10**-digits, however large.

    Raises OverflowError for too many digits.
    """
    if isinstance(digits, int) and abs(digits) > MAX_BITS:
        raise OverflowError
    return round(value, digits)


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "log2", "log10", "floor")},
    **{name: getattr(math, name) for name in ("ceil", "sin", "cos", "tan", "asin", "acos")},
    **{name: getattr(math, name) for name in ("atan", "atan2", "degrees", "radians", "gcd")},
    "abs": abs,
    "round": round_value,
    "min": min,
    "max": max,
}


@tool(read_only=True, parallel_safe=True)
def calculator(
    ctx: Context,
    expression: Annotated[str, "Arithmetic such as (3 + 4) * 2 ** 8 / sqrt(2)"],
) -> str:
    """Compute an arithmetic expression exactly where possible.

    Knows + - * / // % ** (or ^), parentheses, pi, e, tau, sqrt, exp, log, sin, cos, tan, abs,
    round, min, max, floor, ceil and a few more.
    """
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(expression.strip().replace("^", "**"), mode="eval")
        return str(compute(tree.body))  # Python refuses to convert more than 4,300 digits
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ToolError(f"cannot compute {expression[:80]!r}: {error}") from None
    except ZeroDivisionError:
        raise ToolError(f"{expression[:80]!r} divides by zero") from None
    except OverflowError:
        raise ToolError(f"{expression[:80]!r} is too large") from None


def compute(node: ast.expr) -> Any:
    """Return the value of an expression.

    Raises ValueError, OverflowError, ZeroDivisionError, TypeError.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return check_size(value)
        case ast.Name(id=name) if name in NAMES:
            return NAMES[name]
        case ast.BinOp(left, ast.Pow(), right):
            return power(compute(left), compute(right))
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            return check_size(BINARY[type(op)](compute(left), compute(right)))
        case ast.UnaryOp(op, operand) if type(op) in UNARY:
            return UNARY[type(op)](compute(operand))
        case ast.Call(ast.Name(id=name), arguments, []) if name in FUNCTIONS:
            return check_size(FUNCTIONS[name](*map(compute, arguments)))
        case ast.Name(id=name) | ast.Call(ast.Name(id=name)):
            raise ValueError(f"{name} is not known here")
    raise ValueError(f"{type(node).__name__} is not arithmetic")


def power(base: Any, exponent: Any) -> Any:
    """Return a power. Raises OverflowError for a large result, before computing it."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and exponent * max(1, abs(base).bit_length()) > MAX_BITS:
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError("the result is not a real number")
    return check_size(value)


def check_size(value: Any) -> Any:
    """Return the value. Raises OverflowError for an integer of more than MAX_BITS."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError
    return value
