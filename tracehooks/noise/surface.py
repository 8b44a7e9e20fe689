"""Noise in the letters of a question: typos, casing, white space, Unicode look-alikes. Its meaning stays.

Figures are left alone: a typo in "24" is another question. Each function takes the text and the dice, and
returns None where there is nothing to change.
"""

import re

from tracehooks.noise.dice import Dice

_WORD = re.compile(r"[^\W\d_]{4,}")
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SPACES = ("  ", "\t", "\n", " \n ", "\u00a0", "\u2003", "   ")

_LOOKALIKES = str.maketrans(
    {
        **dict(zip("aceiopsxyABCEHIKMOPTX", "асеіорѕхуАВСЕНІКМОРТХ", strict=True)),  # Cyrillic
        **dict(zip("vuNZY", "νυΝΖΥ", strict=True)),  # Greek
    }
)
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}
_INVISIBLE = ("\u200b", "\u200d", "\u2060", "\u00ad")


def typos(text: str, dice: Dice) -> str | None:
    """A letter swapped, lost, doubled or mistyped in one word of four, in one at least."""
    words = list(_WORD.finditer(text))
    if not words:
        return None
    hit = sorted(dice.sample(words, max(1, round(len(words) / 4))), key=lambda match: -match.start())
    for match in hit:
        text = text[: match.start()] + _mistyped(match[0], dice) + text[match.end() :]
    return text


def casing(text: str, dice: Dice) -> str | None:
    """All upper, all lower, every other letter, or letters by chance."""
    ways = [
        text.upper(),
        text.lower(),
        "".join(letter.upper() if place % 2 else letter.lower() for place, letter in enumerate(text)),
        "".join(letter.upper() if dice.chance(0.5) else letter.lower() for letter in text),
    ]
    other = [way for way in ways if way != text]
    return dice.pick(other) if other else None


def whitespace(text: str, dice: Dice) -> str | None:
    """Spaces doubled, or made tabs, line ends and spaces of other kinds; some around the text."""
    parts = text.split(" ")
    noisy = parts[0]
    for part in parts[1:]:
        noisy += (dice.pick(_SPACES) if dice.chance(0.5) else " ") + part
    return dice.pick(_SPACES) + noisy + dice.pick(_SPACES)


def lookalikes(text: str, dice: Dice) -> str | None:
    """In some words letters of other scripts that look the same, full-width ones, or invisible ones."""
    words = list(_WORD.finditer(text))
    way = dice.pick((_foreign, _foreign, _wide, _split))
    if not words:
        return None
    hit = sorted(dice.sample(words, max(1, round(len(words) / 4))), key=lambda match: -match.start())
    noisy = text
    for match in hit:
        noisy = noisy[: match.start()] + way(match[0], dice) + noisy[match.end() :]
    return noisy if noisy != text else None


def _mistyped(word: str, dice: Dice) -> str:
    place = 1 + dice.below(len(word) - 2)  # people get the first letter right
    before, letter, after = word[:place], word[place], word[place + 1 :]
    ways = [before + after, before + letter * 2 + after]
    if letter != after[0]:
        ways.append(before + after[0] + letter + after[1:])
    if (near := _beside(letter)) is not None:
        ways.append(before + dice.pick(near) + after)
    return dice.pick(ways)


def _beside(letter: str) -> str | None:
    for row in _KEYS:
        if (place := row.find(letter.lower())) >= 0 and letter.isascii():
            near = row[max(0, place - 1) : place] + row[place + 1 : place + 2]
            return near.upper() if letter.isupper() else near
    return None


def _foreign(word: str, dice: Dice) -> str:
    places = [place for place, letter in enumerate(word) if ord(letter) in _LOOKALIKES]
    for place in dice.sample(places, 2):
        word = word[:place] + word[place].translate(_LOOKALIKES) + word[place + 1 :]
    return word


def _wide(word: str, dice: Dice) -> str:
    return word.translate(_FULL_WIDTH)


def _split(word: str, dice: Dice) -> str:
    place = 1 + dice.below(len(word) - 1)
    return word[:place] + dice.pick(_INVISIBLE) + word[place:]
