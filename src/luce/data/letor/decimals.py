"""Decimal numbers in compiled code: right to the last bit where that is provable, else said to be in doubt.

A decimal number is m × 10^e. Where m ≤ 2^53 and |e| ≤ 22 both factors are exact in float64, so their product or
quotient is the float64 nearest to the number (Clinger, 1990). Otherwise the result is within 3 · 2^-53 of it: enough to
be sure of its float32, except very near the middle between two of them.
"""

import numpy as np
from numba import uint64

from luce.compiled import compiled, inlined

EXACT, NEAR, MISSING, INFINITE, NO_NUMBER = range(5)
"""What a token is: `value` is the nearest float64; nearly so; NaN; infinite; there is no number."""

MINUS, PLUS, POINT, EXPONENT = b"-+.e"
"""Numbers: `ord` is compiled anew in each function that calls it."""

POWERS = np.array([float(f"1e{power}") for power in range(309)])
FEW_DIGITS = 15  # below 2^53, and so exact
MANTISSA_DIGITS = 19  # as many as always fit in 64 bits


@compiled
def decimal(text, at):
    """(kind, value, place of the byte after it) of the number at a place of a text that ends with a line end."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    mantissa, exponent = uint64(0), 0
    digit = text[at] - 48
    while 0 <= digit <= 9:
        mantissa = mantissa * uint64(10) + uint64(digit)
        at += 1
        digit = text[at] - 48
    digits = at - first
    if digit == POINT - 48:
        at += 1
        point = at
        digit = text[at] - 48
        while 0 <= digit <= 9:
            mantissa = mantissa * uint64(10) + uint64(digit)
            at += 1
            digit = text[at] - 48
        exponent = point - at
        digits -= exponent
    if digits == 0 or digits > FEW_DIGITS or text[at] | 32 == EXPONENT:
        return _uncommon(text, first, at, digits, mantissa, exponent, negative)
    value = np.float64(mantissa)
    if exponent < 0:
        value /= POWERS[-exponent]
    return EXACT, -value if negative else value, at


@compiled
def _uncommon(text, first, at, digits, mantissa, exponent, negative):
    """The same for numbers with an exponent or many digits, and for tokens that are no decimal numbers."""
    if digits == 0:
        return _word(text, at) if at == first else (NO_NUMBER, 0.0, at)
    kind = EXACT
    if digits > MANTISSA_DIGITS:
        kind, mantissa, exponent = _long_mantissa(text, first, at)
    if text[at] | 32 == EXPONENT:
        written, after = _exponent(text, at + 1)
        if after == at:
            return NO_NUMBER, 0.0, at
        exponent += written
        at = after
    kind, value = _scaled(kind, mantissa, exponent)
    return kind, -value if negative else value, at


@compiled
def _long_mantissa(text, at, end):
    """The first digits that count, as many as fit, and the exponent that makes up for the others."""
    mantissa = uint64(0)
    exponent = digits = fraction = 0
    kind = EXACT
    while at < end:
        if text[at] == POINT:
            fraction = 1
        elif digits == MANTISSA_DIGITS:
            kind = NEAR
            exponent += 1 - fraction
        else:
            mantissa = mantissa * uint64(10) + uint64(text[at] - 48)
            digits += mantissa > 0
            exponent -= fraction
        at += 1
    return kind, mantissa, exponent


@compiled
def _exponent(text, at):
    """The exponent after the letter e; the place of the letter where there is none."""
    letter = at - 1
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    first = at
    exponent = 0
    while 0 <= text[at] - 48 <= 9:
        exponent = min(exponent * 10 + text[at] - 48, 1 << 40)  # more than any line has digits
        at += 1
    return (-exponent if negative else exponent), at if at > first else letter


@compiled
def _scaled(kind, mantissa, exponent):
    value = np.float64(mantissa)
    if mantissa == 0 or (exponent == 0 and mantissa <= uint64(1 << 53)):
        return kind, value
    if mantissa > uint64(1 << 53) or not -22 <= exponent <= 22:
        kind = NEAR
    if exponent > 308:
        return kind, np.inf
    if exponent < -308:  # at most 1e19 · 1e-309: not zero as a float64 perhaps, and zero as a float32
        return kind, 0.0
    return kind, value / POWERS[-exponent] if exponent < 0 else value * POWERS[exponent]


@compiled
def _word(text, at):
    """nan and null, in small or capital letters, are missing values; inf and infinity are infinite."""
    if spells(text, at, b"nan"):
        return MISSING, np.nan, at + 3
    if spells(text, at, b"null"):
        return MISSING, np.nan, at + 4
    if spells(text, at, b"infinity"):
        return INFINITE, np.inf, at + 8
    if spells(text, at, b"inf"):
        return INFINITE, np.inf, at + 3
    return NO_NUMBER, 0.0, at


@compiled
def spells(text, at, word):
    """Whether the text has this lowercase word at a place, in lower or upper case."""
    for letter in word:
        if text[at] | 32 != letter:  # a line end is no letter, so this stops before the end of the text
            return False
        at += 1
    return True


@inlined
def single(kind, value):
    """(certain, value as float32): whether this is the float32 of the float64 nearest to the number."""
    result = np.float32(value)
    if kind != NEAR:
        return True, result
    return np.float32(value * (1 - 2.0**-50)) == np.float32(value * (1 + 2.0**-50)), result
