"""Inserting an item into a list of a YAML file, or setting a key, leaving every other line as it is."""

from typing import Any

import yaml

from tracehooks.noise.documents import Loader
from tracehooks.noise.emitting import as_yaml


class CannotInsertError(Exception):
    """The file is written on one line, or otherwise in a way that has no place to insert."""


def composed(text: str) -> yaml.Node | None:
    """The nodes of ``text``; None when it holds nothing but comments."""
    node: yaml.Node | None = yaml.compose(text, Loader=Loader)
    return node


def item_of(root: yaml.Node | None, key: str, position: int) -> yaml.Node:
    """The item at ``position`` of the list under ``key``, or of the list that the file itself is."""
    items = root if isinstance(root, yaml.SequenceNode) else _entry(root, key)[1]
    item: yaml.Node = items.value[position]
    return item


def with_item(text: str, parent: yaml.Node | None, key: str, document: Any) -> str:
    """``text`` with ``document`` as the last item of the list under ``key`` in the mapping ``parent``.

    A list that is missing is begun. ``parent`` may be the list itself, or None in a file without content.
    Raises CannotInsertError.
    """
    if parent is None:
        return _inserted(text, text.count("\n"), f"{key}:\n{as_yaml([document], 2)}")
    name, items = (None, parent) if isinstance(parent, yaml.SequenceNode) else _entry(parent, key)
    if isinstance(items, yaml.SequenceNode) and items.value and not items.flow_style:
        return _inserted(text, _last_line(items, text), as_yaml([document], items.start_mark.column))
    has_items = items is not None and items.value
    if not isinstance(parent, yaml.MappingNode) or parent.flow_style or has_items:
        raise CannotInsertError
    if name is None:
        column = parent.start_mark.column
        block = f"{' ' * column}{key}:\n{as_yaml([document], column + 2)}"
        return _inserted(text, _last_line(parent, text), block)
    return _inserted(
        _emptied(text, items), name.start_mark.line, as_yaml([document], name.start_mark.column + 2)
    )


def with_value(text: str, parent: yaml.Node, key: str, value: Any, *, after: str) -> str:
    """``text`` with ``key`` of the mapping ``parent`` set to ``value``; a new key stands behind ``after``.

    A comment behind the old value stays. Raises CannotInsertError.
    """
    if not isinstance(parent, yaml.MappingNode) or parent.flow_style:
        raise CannotInsertError
    column = parent.start_mark.column
    block = as_yaml({key: value}, column).removesuffix("\n").split("\n")
    name, old = _entry(parent, key)
    if name is None:
        _, anchor = _entry(parent, after)
        if anchor is None:
            raise CannotInsertError
        return _inserted(text, _last_line(anchor, text), "\n".join(block))
    lines = text.split("\n")
    first, last = name.start_mark.line, max(name.end_mark.line, _last_line(old, text))
    is_block = isinstance(old, yaml.ScalarNode) and old.style in ("|", ">")
    behind = "" if is_block else lines[old.end_mark.line][old.end_mark.column :]
    head = lines[first][: name.start_mark.column]
    begun = head + block[0][column:] + behind.rstrip()
    return "\n".join((*lines[:first], begun, *block[1:], *lines[last + 1 :]))


def _entry(parent: Any, key: str) -> tuple[Any, Any]:
    """The nodes of ``key`` and its value; twice None when it is missing."""
    if not isinstance(parent, yaml.MappingNode):
        raise CannotInsertError
    return next(((name, value) for name, value in parent.value if name.value == key), (None, None))


def _emptied(text: str, empty: Any) -> str:
    """``text`` without the ``[]`` or ``null`` that stands where a list begins."""
    start, end = empty.start_mark, empty.end_mark
    if start.line != end.line:
        raise CannotInsertError
    lines = text.split("\n")
    line = lines[start.line]
    lines[start.line] = line[: start.column].rstrip() + line[end.column :]
    return "\n".join(lines)


def _inserted(text: str, line: int, block: str) -> str:
    """``text`` with ``block`` after the line with this number, counted from 0."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return "\n".join((*lines[: line + 1], block.removesuffix("\n"), *lines[line + 1 :])) + "\n"


def _last_line(node: yaml.Node, text: str) -> int:
    """The number of the last line that belongs to ``node``, without blank lines and comments after it."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last, text)
    line: int = node.end_mark.line
    if (
        node.end_mark.column == 0 and line > node.start_mark.line
    ):  # a block of text ends where the next line begins
        lines = text.split("\n")
        line -= 1
        while not lines[line].strip():
            line -= 1
    return line
