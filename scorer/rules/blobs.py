"""Checks of literals that carry data nobody can read: encoded text, binary strings, huge numbers."""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from scorer.artifact import Artifact
from scorer.contest import Profile
from scorer.rules.source import Hit, Source

SHORTEST = 120  # characters; a hash or a key in hex is shorter
BITS = 4.0  # of entropy a character: hex has 4, base64 6, English prose about 4.2 but with blanks
VOWELS = 0.25  # their share of letters; languages that are written in them come to 0.35 and more, a code to 0.2
DIGITS = 60  # of an integer; 2**128 has 39
UNSEEN = "\u115f\u1160\u3164\uffa0\u2800"  # letters and signs that print nothing
# Cyrillic and Greek letters that are drawn like Latin ones.
LOOKALIKES = set(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)
NUMBERS = re.compile(r"^[-+0-9eE.,;:xX_()\[\]\s]*$")
ENCODED = re.compile(r"[A-Za-z0-9+/=_\-!#$%&()*<>?@^`{|}~.]{60,}")


def blobs(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Long strings without words, long strings of bytes that are no text, and integers of very many digits."""
    documentation = {id(node.value) for node in source.every(ast.Expr)}
    for node in source.every(ast.Constant):
        if id(node) in documentation:
            continue
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**DIGITS:
            yield _hit(source, node, f"{len(source.segment(node))}")
        elif (isinstance(value, bytes) and len(value) >= SHORTEST and not _readable(value.decode("latin-1"))) or (
            isinstance(value, str) and len(value) >= SHORTEST and not _readable(value)
        ):
            yield _hit(source, node, f"{len(value):,}")
    yield from _in_pieces(source)


def hidden_characters(source: Source, artifact: Artifact, profile: Profile) -> Iterator[Hit]:
    """Characters that are not seen or turn the direction of reading, and names in letters that look like others."""
    if source.text.isascii():
        return
    for number, line in enumerate(source.lines, 1):
        for column, character in enumerate(line, 1) if not line.isascii() else ():
            if character in UNSEEN or (unicodedata.category(character) == "Cf" and not _joins(line, column - 1)):
                name = unicodedata.name(character, f"U+{ord(character):04X}")
                yield Hit(number, {"NAME": name}, column, (number, column + 1))
                break
    names: list[tuple[ast.expr, str]] = [(name, name.id) for name in source.every(ast.Name)]
    names += [(attribute, attribute.attr) for attribute in source.every(ast.Attribute)]
    for node, spelled in names:
        written = source.segment(node).rpartition(".")[2].strip()
        if not written.isascii() and (written != spelled or _looks_latin(spelled)):
            yield source.hit(node, NAME=f"the name {written} is none of plain letters")


def _joins(line: str, place: int) -> bool:
    """Whether a character joins two signs to one, as in pictures of people and families."""
    around = line[max(0, place - 1) : place + 2]
    return line[place] == "\u200d" and len(around) == 3 and not any(character.isascii() for character in around)


def _looks_latin(name: str) -> bool:
    """Whether letters of other alphabets stand in a name where everybody reads Latin ones."""
    letters = {character for character in name if character.isalpha()}
    others = letters - LOOKALIKES
    return letters != others and all(unicodedata.name(letter, "").startswith("LATIN") for letter in others)


def _in_pieces(source: Source) -> Iterator[Hit]:
    """Lists and sums of many strings that are unreadable together, though each of them is short."""
    done: set[int] = set()
    for node in source.every(ast.List, ast.Tuple, ast.BinOp):
        if id(node) in done:
            continue
        pieces = [n.value for n in source.inside(node, ast.Constant) if isinstance(n.value, (str, bytes))]
        if len(pieces) < 4 or any(len(piece) >= SHORTEST for piece in pieces):
            continue
        done.update(map(id, source.walk(node)))
        texts = [piece if isinstance(piece, str) else piece.decode("latin-1") for piece in pieces]
        if sum(map(len, texts)) / len(texts) >= 32 and not _readable("".join(texts)):
            yield _hit(source, node, f"{sum(map(len, texts)):,}")


def _hit(source: Source, node: ast.AST, size: str) -> Hit:
    text = source.lines[node.lineno - 1].strip()  # type: ignore[attr-defined]
    return source.hit(node, SIZE=size, TEXT=f"{text[:40]}..." if len(text) > 40 else text)


def _readable(text: str) -> bool:
    """Whether a long string is prose, code, a path, a table of numbers or a pattern that repeats itself."""
    if NUMBERS.match(text):
        return "x" in text or any(mark in text for mark in ",;. \n\t")
    strange = sum(not (character.isprintable() or character in "\n\t\r") for character in text)
    if strange > len(text) / 20:
        return False
    if "\ufffd" in text or sum(ord(character) > 0x2FFF for character in text) > len(text) / 2:
        return _entropy(text) < 7  # other alphabets are text; a code of thousands of signs is none
    runs = [run for run in ENCODED.findall(text) if _entropy(run) > BITS - 0.5 and not _is_words(run)]
    return sum(map(len, runs)) < max(SHORTEST, len(text) / 3)


def _is_words(run: str) -> bool:
    """Whether a run without blanks is made of words: a path, an address, names with dots or lines between them."""
    words = re.findall(r"[A-Za-z]+", run)
    letters = "".join(words)
    mixed = sum(1 for word in words if not (word.islower() or word.isupper() or word.istitle()))
    vowels = sum(letter in "aeiouAEIOU" for letter in letters)
    if re.fullmatch(r"[0-9a-fA-F]+", run):
        return False
    return mixed <= len(words) / 4 and len(letters) > len(run) * 0.4 and vowels > len(letters) * VOWELS


def _entropy(text: str) -> float:
    """Bits a character."""
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
