"""Dataset files as plain data, with the line on which each key stands.

YAML is read as YAML 1.2 has it: ``yes``, ``on``, ``12:30`` and ``2026-01-01`` are texts, as everybody who
writes questions expects. JSON and JSON Lines are strict. A key given twice is an error in all of them.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tracehooks.errors import ConfigurationError

KeyPath = tuple[str | int, ...]
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")  # JSON's way to write what YAML does not take
SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".json", ".csv")


if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML was built with it


@dataclass(frozen=True)
class Document:
    """A file's data. ``file`` is its name as given; ``locate`` finds the line of each key and item."""

    file: str
    data: Any
    locate: Callable[[], Mapping[KeyPath, int]] = dict

    @cached_property
    def places(self) -> Mapping[KeyPath, int]:
        """The path of each key or item -> its line."""
        return self.locate()

    def where(self, path: KeyPath) -> str:
        """``file:line`` of the nearest key on the way to ``path`` that stands in the file."""
        known = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self.places), None)
        return self.file if known is None else f"{self.file}:{self.places[known]}"


def read_document(path: Path) -> Document:
    """The data in the file at ``path``. Raises ConfigurationError naming the file, and the line if known."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"{path}: a dataset file ends in {', '.join(SUFFIXES)}, not in {suffix!r}")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    return parsed(text, str(path), suffix)


def parsed(text: str, file: str, suffix: str) -> Document:
    """``text`` in the format of ``suffix``. ``file`` is only named in errors."""
    if suffix in (".yaml", ".yml"):
        return _from_yaml(text, file)
    if suffix in (".jsonl", ".ndjson"):
        return _from_json_lines(text, file)
    return _from_json(text, file) if suffix == ".json" else _from_csv(text, file)


class Loader(_Base):
    """Reads the core schema of YAML 1.2: true, false, null, numbers; all else is text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    (
        "float",
        r"^(?:[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)|[-+]?\.[0-9]+"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
    ("merge", r"^<<$", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


def _from_yaml(text: str, file: str) -> Document:
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        places = _places(node, file)
        data = None if node is None else loader.construct_document(node)
    except ConfigurationError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigurationError(
            f"{file}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file}: not valid YAML: {error}") from None
    finally:
        loader.dispose()
    return Document(file, data, lambda: places)


def _places(node: yaml.Node | None, file: str) -> dict[KeyPath, int]:
    places: dict[KeyPath, int] = {}
    if node is not None:
        places[()] = node.start_mark.line + 1
        for path, line in _lines(node, ()):
            if path in places and path[-1] != "<<":
                raise ConfigurationError(f"{file}:{line}: the key {path[-1]!r} is given twice")
            places[path] = line
    return places


def _lines(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, str(key.value)), key.start_mark.line + 1
            yield from _lines(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _lines(value, (*path, index))


def _from_json(text: str, file: str) -> Document:
    def locate() -> Mapping[KeyPath, int]:
        try:
            return _places(Loader(_SURROGATE.sub("......", text)).get_single_node(), file)
        except yaml.YAMLError:
            return {}  # JSON is YAML but for a few oddities; then the line is not known

    try:
        return Document(file, _json(text, file, 1), locate)
    except _GivenTwiceError:
        locate()  # raises, and knows the line
        raise


def _from_json_lines(text: str, file: str) -> Document:
    data: list[Any] = []
    places: dict[KeyPath, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            places[(len(data),)] = number
            data.append(_json(line, file, number))
    return Document(file, data, lambda: places)


class _GivenTwiceError(ConfigurationError):
    pass


def _json(text: str, file: str, line: int) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise _GivenTwiceError(f"{file}:{line}: the key {twice!r} is given twice")
        return found

    def no_constant(name: str) -> Any:
        raise ConfigurationError(f"{file}:{line}: {name} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{file}:{line + error.lineno - 1}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigurationError(f"{file}:{line}: nested too deeply") from None


def _from_csv(text: str, file: str) -> Document:
    """Each row as an object of its cells that are not empty."""
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="", strict=True)
    data: list[dict[str, str]] = []
    places: dict[KeyPath, int] = {(): 1}
    line = 1
    try:
        _check_header(reader.fieldnames or [], file)
        line = reader.line_num
        for row in reader:
            if "" in row:
                raise ConfigurationError(
                    f"{file}:{line + 1}: the row has more cells than the head has columns"
                )
            places[(len(data),)] = line + 1
            data.append({key.strip(): cell for key, cell in row.items() if cell is not None and cell.strip()})
            line = reader.line_num
    except csv.Error as error:
        raise ConfigurationError(f"{file}:{line + 1}: not valid CSV: {error}") from None
    return Document(file, data, lambda: places)


def _check_header(names: Any, file: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name.strip() or name.strip() in seen:
            what = f"the column {name.strip()!r} is there twice" if name.strip() else "a column has no name"
            raise ConfigurationError(f"{file}:1: {what}")
        seen.add(name.strip())
