"""One unusual object as something that JSON has a form for, without side effects on it.

Nothing is consumed (a generator keeps its items), compared, copied deeply or called beyond the class's own
ways of showing itself. What has no form is shown as its type: ``<threading.Lock>``.
"""

from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time
from enum import Enum
from itertools import islice
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from tracehooks.tracing.interrupts import let_through

MAX_ITEMS = 50_000  # of one collection
MAX_BYTES = 64_000  # of one bytes object, shown as text
MAX_TEXT = 10_000  # of what an object says about itself
MAX_ARRAY = 10_000  # elements of one array

_BY_STR = ("decimal", "fractions", "ipaddress", "uuid")  # modules, which need not be imported for this
_BY_REPR = (range, slice, complex)
_BYTES = (bytes, bytearray, memoryview)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)


def simplify(value: Any) -> Any:
    """A str, number, list or dict that stands for ``value``; what is inside may need the same again.

    Never raises, whatever the object's own methods do.
    """
    kind = type(value)
    try:
        return _simplify(value, kind)
    except BaseException as error:
        let_through(error)
        return type_mark(kind)


def type_mark(kind: type) -> str:
    """The short form of an object that has no other: its type's name in angle brackets."""
    try:
        module, name = kind.__module__, kind.__qualname__
        return f"<{name}>" if module in ("builtins", None) else f"<{module}.{name}>"
    except BaseException as error:
        let_through(error)
        return "<object>"


def _simplify(value: Any, kind: type) -> Any:
    # issubclass, not isinstance: the latter asks the object, which may answer with an exception
    if issubclass(kind, _BYTES):
        return _bytes_text(bytes(value[:MAX_BYTES]), len(value))
    if issubclass(kind, Enum):
        return value.value
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return value._asdict()
    if issubclass(kind, list | tuple | set | frozenset | deque):
        return list(islice(value, MAX_ITEMS))
    if issubclass(kind, datetime | date | time):
        return value.isoformat()
    if issubclass(kind, PurePath) or kind.__module__ in _BY_STR:
        return str(value)
    if issubclass(kind, _BY_REPR):
        return repr(value)
    if issubclass(kind, type):
        return type_mark(value)
    if issubclass(kind, _FUNCTIONS):
        return f"<function {value.__name__}>"
    if issubclass(kind, BaseException):
        return f"{kind.__name__}: {value}"[:MAX_TEXT]
    return _with_fields(value, kind)


def _with_fields(value: Any, kind: type) -> Any:
    if hasattr(kind, "model_dump") and hasattr(
        kind, "model_fields"
    ):  # pydantic 2; its SecretStr stays hidden
        return value.model_dump(warnings=False)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name, None) for name in kind.__dataclass_fields__}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name, None) for field in kind.__attrs_attrs__}
    if kind.__module__.partition(".")[0] == "numpy":
        return _array(value)
    if issubclass(kind, Mapping):
        return dict(islice(value.items(), MAX_ITEMS))
    if kind.__str__ is not object.__str__:
        return str(value)[:MAX_TEXT]
    return type_mark(kind)


def _array(value: Any) -> Any:
    if getattr(value, "size", 1) > MAX_ARRAY:
        return f"<{type(value).__name__} {value.dtype} {value.shape}>"
    return value.tolist() if hasattr(value, "tolist") else str(value)[:MAX_TEXT]


def _bytes_text(head: bytes, length: int) -> str:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if length == len(head) or error.start < len(head) - 3:
            return f"<{length} bytes>"
        text = head[: error.start].decode()  # the head ends within a character
    return text if length == len(head) else f"{text}... <{length} bytes>"
