"""Numbers in a text, with their units: "£3.95", "3,95 pounds", "1.000 Stunden", "two years", "24-month".

What is read: digits with either decimal sign and the usual thousands separators, small numbers as English
words, a currency sign before, a unit after, and ranges whose first number lends the second one's unit
("7 to 10 working days"). A unit of a known kind is converted within its kind; 30 days are not a month and 5
working days are not 5 days, because a policy that says one does not say the other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_WORDS = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}

# kind -> unit -> (how many of the kind's first unit it is, the ways to write it)
_UNITS: dict[str, dict[str, tuple[float, str]]] = {
    "time": {
        "second": (1, "second seconds sec secs s sekunde sekunden seconde secondes segundo segundos"),
        "minute": (60, "minute minutes min mins minuten minuto minutos"),
        "hour": (3600, "hour hours h hr hrs stunde stunden heure heures hora horas"),
        "day": (86400, "day days d tag tage tagen jour jours día días"),
        "week": (604800, "week weeks woche wochen semaine semaines semana semanas"),
    },
    "calendar": {
        "month": (1, "month months mo monat monate monaten mois mes meses"),
        "year": (12, "year years yr yrs jahr jahre jahren an ans année années año años"),
    },
    "working time": {
        "working day": (
            1,
            "working_day working_days business_day business_days workday workdays werktag werktage werktagen "
            "arbeitstag arbeitstage arbeitstagen jour_ouvré jours_ouvrés día_hábil días_hábiles",
        )
    },
    "pounds": {"pound": (1, "£ gbp pound pounds quid pfund livre livres libra libras")},
    "dollars": {"dollar": (1, "$ usd dollar dollars")},
    "euros": {"euro": (1, "€ eur euro euros")},
    "share": {"percent": (1, "% percent per_cent pct prozent pour_cent por_ciento")},
    "mass": {
        "gram": (1, "g gram grams gramme grammes gramm"),
        "milligram": (0.001, "mg milligram milligrams"),
        "kilogram": (1000, "kg kilo kilos kilogram kilograms kilogramm"),
    },
    "length": {
        "metre": (1, "m metre metres meter meters"),
        "millimetre": (0.001, "mm millimetre millimetres millimeter millimeters"),
        "centimetre": (0.01, "cm centimetre centimetres centimeter centimeters"),
        "kilometre": (1000, "km kilometre kilometres kilometer kilometers"),
    },
    "area": {"square metre": (1, "m² m2 sqm square_metre square_metres square_meter square_meters")},
    "volume": {
        "litre": (1, "l litre litres liter liters"),
        "millilitre": (0.001, "ml millilitre millilitres milliliter milliliters"),
    },
    "data": {
        "byte": (1, "byte bytes"),
        "kilobyte": (1e3, "kb kilobyte kilobytes"),
        "megabyte": (1e6, "mb megabyte megabytes"),
        "gigabyte": (1e9, "gb gigabyte gigabytes"),
        "terabyte": (1e12, "tb terabyte terabytes"),
    },
}

_DIGITS = r"\d+(?:[.,'’\u00a0\u202f]\d+)*"
_WORD_NUMBERS = rf"(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_SMALL[1:10])}))?|{'|'.join(_SMALL[::-1])}"
_NUMBER = re.compile(rf"(?<!\w)(?:(?P<sign>[-−])?(?P<digits>{_DIGITS})|(?P<words>{_WORD_NUMBERS})\b)")
_GROUPED = re.compile(r"\d{1,3}(?:([,'’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_GROUPED_BY_DOTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_RANGE = re.compile(r"\s*(?:to|and|or|through|bis|und|à|et|y|-|–|—)\s*")
_CURRENCY = re.compile(r"(?P<unit>[£$€])\s?-?$")
_NEXT_WORD = re.compile(r"[\s-]?\s?(?P<unit>[^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``kind`` is what it measures, ``factor`` how many of that kind's first unit it is."""

    kind: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text. ``values`` are all it can be read as: "1.000" is one, or a thousand.

    ``unit`` is None where none follows; ``start`` and ``end`` are where the number stands.
    """

    values: tuple[float, ...]
    unit: Unit | None
    start: int
    end: int


def unit_named(name: str) -> Unit:
    """The unit that ``name`` names, singular or plural; one that is not known is a kind of its own."""
    return _known(_squeezed(name)) or Unit(_singular(_squeezed(name)))


def quantities(text: str) -> list[Quantity]:
    """All numbers in ``text``, in their order. Case is ignored."""
    lower = text.casefold()
    found: list[Quantity] = []
    for match in reversed(list(_NUMBER.finditer(lower))):
        following = found[-1] if found else None
        unit, known = _unit_at(lower, match, following)
        if not known and (match["words"] in ("one", "zero") or lower[match.end() :][:1].isalpha()):
            continue  # "one of them" counts nothing, "7F3A" is a name
        readings = [Quantity(values, unit, match.start(), match.end()) for values in _readings(match)]
        found.extend(reversed(readings))
    return found[::-1]


def _unit_at(text: str, match: re.Match[str], following: Quantity | None) -> tuple[Unit | None, bool]:
    """The unit of the number at ``match``, and whether it is one that we know."""
    before = _CURRENCY.search(text[max(0, match.start() - 3) : match.start()])
    if before:
        return _known(before["unit"]), True
    after = _unit_pattern().match(text, match.end())
    if after:
        return _known(_squeezed(after["unit"])), True
    if following is not None and _RANGE.fullmatch(text, match.end(), _start_of(text, following)):
        return following.unit, following.unit is not None
    word = _NEXT_WORD.match(text, match.end())
    return (Unit(_singular(word["unit"])) if word else None), False


def _start_of(text: str, quantity: Quantity) -> int:
    """Where a range's second number begins: at its currency sign, if it has one."""
    start = quantity.start
    return start - 1 if start and text[start - 1] in "£$€" else start


def _readings(match: re.Match[str]) -> Iterator[tuple[float, ...]]:
    """What the number can be: one tuple of values, or one for each number of an unspaced list."""
    if match["words"]:
        yield (float(sum(_WORDS[word] for word in re.split("[- ]", match["words"]))),)
        return
    digits = match["digits"]
    sign = -1.0 if match["sign"] else 1.0
    values = {float(re.sub(r"[,'’\u00a0\u202f]", "", digits))} if _GROUPED.fullmatch(digits) else set()
    if _GROUPED_BY_DOTS.fullmatch(digits):
        values.add(float(digits.replace(".", "").replace(",", ".")))
    if _DECIMAL.fullmatch(digits):
        values.add(float(digits.replace(",", ".")))
    if digits.isdigit():
        values.add(float(digits))
    if values:
        yield tuple(sorted(sign * value for value in values))
    else:
        yield from ((float(part),) for part in re.split(r"\D", digits))


@cache
def _spellings() -> dict[str, Unit]:
    return {
        spelling.replace("_", " "): Unit(kind, factor)
        for kind, units in _UNITS.items()
        for factor, spellings in units.values()
        for spelling in spellings.split()
    }


def _known(name: str) -> Unit | None:
    return _spellings().get(name)


@cache
def _unit_pattern() -> re.Pattern[str]:
    longest_first = sorted(_spellings(), key=len, reverse=True)
    ways = "|".join(re.escape(way).replace(r"\ ", r"[\s-]+") for way in longest_first)
    return re.compile(rf"\s*-?\s*(?P<unit>{ways})(?!\w)")


def _squeezed(name: str) -> str:
    return re.sub(r"[\s-]+", " ", name.strip().rstrip(".").casefold())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
