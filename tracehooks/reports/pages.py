"""What HTML pages are made with: escaping templates, the words of the terminal's reports, and one style."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tracehooks.records import Verdict
from tracehooks.reports import wording
from tracehooks.reports.charts import require
from tracehooks.reports.standing import headline, mark

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 20_000
"""Characters of one text that a page shows; the rest is one link away."""

HEAT = ((0.8, 4), (0.6, 3), (0.4, 2), (0.2, 1))
_KEPT = "\n\t"
_PICTURES = 0x2400


def render(template: str, values: Mapping[str, Any]) -> str:
    """The page that ``template`` makes of ``values``, every one of which is escaped.

    Raises MissingExtraError without the extra ``tracehooks[view]``.
    """
    require()
    return environment().get_template(template).render(values)


@cache
def environment() -> "Environment":
    """The templates of the reports and of the viewer."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader("tracehooks.reports"), PackageLoader("tracehooks.web")]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        shown=shown,
        excerpt=wording.excerpt,
        plain=wording.plain,
        moment=wording.moment,
        number=wording.number,
        percent=wording.percent,
        took=wording.duration,
        size=wording.size,
        heat=heat,
        css=css_word,
    )
    made.globals.update(mark=mark, headline=headline)
    return made


@cache
def style() -> str:
    """The style sheet of all pages."""
    return (files("tracehooks.reports") / "style.css").read_text(encoding="utf-8")


def shown(text: object, longest: int = LONGEST) -> str:
    """``text`` over several lines: control characters as pictures, marks that turn the direction named."""
    return "".join(map(_visible, str(text)[:longest]))


def _visible(char: str) -> str:
    if char in _KEPT or (char.isprintable() and not wording.turns(char)):
        return char
    if char < " ":
        return chr(_PICTURES + ord(char))
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    # joiners hold emoji together; spaces are no danger
    return char if char == "\u200d" or category.startswith("Z") else f"⟨U+{ord(char):04X}⟩"


def heat(value: float | None) -> str:
    """The class that colours a score in 0..1, 1 the best; grey without one."""
    if value is None:
        return "heat-none"
    return f"heat-{next((step for bound, step in HEAT if value >= bound), 0)}"


def css_word(word: object) -> str:
    """A verdict, state or status as the class that colours it."""
    return str(word.value if isinstance(word, Verdict) else word).lower().replace(" ", "-")
