"""Numbers and names as the report writes them."""

import math
from collections.abc import Callable

LETTERS = 24
"""Of a name in a picture."""


def decimal(value: float) -> str:
    """A mean or a score, four places where that says something; a dash for NaN.

    >>> decimal(0.51237), decimal(-1234.5), decimal(3.2e-5), decimal(math.nan), decimal(-math.inf)
    ('0.5124', '−1,234.50', '3.20e−05', '–', '−∞')
    """
    if not math.isfinite(value):
        return _endless(value)
    size = abs(value)
    if size == 0 or 5e-4 <= size < 100:
        text = f"{value:.4f}"
    else:
        text = f"{value:,.2f}" if 100 <= size < 1e7 else f"{value:.2e}"
    return text.replace("-", "−")


def number(value: float) -> str:
    """A grade, a length, an edge: four significant digits, none that are zeros at the end; a dash for NaN.

    >>> number(3.0), number(0.125), number(1234567.0), number(-2)
    ('3', '0.125', '1,234,567', '−2')
    """
    if not math.isfinite(value):
        return _endless(value)
    whole = float(value).is_integer() and abs(value) < 1e9
    return (f"{value:,.0f}" if whole else f"{value:.4g}").replace("-", "−")


def p_value(value: float) -> str:
    """A p-value, four places.

    >>> p_value(0.03127), p_value(2e-9)
    ('0.0313', '<0.0001')
    """
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def share(part: float) -> str:
    """A part of one as percent; what is not nothing never reads as 0 %, what is not all never as 100 %.

    >>> share(0.123), share(0.0001), share(0.9999), share(0), share(1)
    ('12.3 %', '<0.1 %', '>99.9 %', '0 %', '100 %')
    """
    if part in (0, 1):
        return "100 %" if part else "0 %"
    if part < 0.001:
        return "<0.1 %"
    return ">99.9 %" if part > 0.999 else f"{part:.1%}".replace("%", " %")


def duration(seconds: float) -> str:
    """Seconds as people say them; a dash for NaN.

    >>> duration(0.0123), duration(4.56), duration(200), duration(7380), duration(math.nan)
    ('12 ms', '4.6 s', '3 min 20 s', '2 h 3 min', '–')
    """
    if not math.isfinite(seconds):
        return _endless(seconds)
    if seconds < 59.95:
        return f"{1000 * seconds:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def amount(size: float) -> str:
    """Bytes as people say them; a dash for NaN.

    >>> amount(812), amount(52_428_800), amount(3.2e9), amount(math.nan)
    ('812 B', '52 MB', '3.2 GB', '–')
    """
    if not math.isfinite(size):
        return _endless(size)
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:.{1 if size < 10 * least else 0}f} {unit}"
    return f"{size:.0f} B"


def count(n: int, word: str) -> str:
    """A count with its word.

    >>> count(1, "list"), count(1200, "list")
    ('1 list', '1,200 lists')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def feature_words(name: str) -> str:
    """A feature in a sentence; one without a name goes by its number.

    >>> feature_words("price"), feature_words("38")
    ('\u2068price\u2069', 'feature 38')
    """
    return f"feature {name}" if name.isdecimal() else isolated(name)


def ordinal(n: int) -> str:
    """A rank as a word in a sentence.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1003)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th', '1,003rd']
    """
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"


def plain(text: str, longest: int = 60) -> str:
    """One line of printable characters, cut to `longest` with an ellipsis.

    >>> plain("two\\nlines"), plain("a very long name", 8)
    ('two lines', 'a very …')
    """
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def isolated(name: str) -> str:
    """A name in a sentence, marked so that its direction of writing does not reach the rest."""
    return f"\u2068{plain(name, 300)}\u2069"


def interval(low: float, high: float) -> str:
    """The ends of an interval; nothing where there is none.

    >>> interval(0.25, 0.5), interval(math.nan, math.nan)
    ('0.2500 to 0.5000', '')
    """
    return "" if math.isnan(low) else f"{decimal(low)} to {decimal(high)}"


def plus_minus(error: float, form: Callable[[float], str] = decimal) -> str:
    """A standard error beside a value; nothing where there is none."""
    return "" if math.isnan(error) else f"± {form(error)}"


def signed(value: float) -> str:
    """A difference, with its sign.

    >>> signed(0.25), signed(-0.25)
    ('+0.2500', '−0.2500')
    """
    return f"{'+' if value > 0 else ''}{decimal(value)}"


def short(name: str, longest: int = LETTERS) -> str:
    """One line of a name, its middle left out where it is long: names often differ in the end.

    >>> short("term_frequency_of_the_body_mean", 20), short("price")
    ('term_frequ…body_mean', 'price')
    """
    line = plain(name, 1_000)
    kept = max(longest - 1, 2)
    return line if len(line) <= longest else f"{line[: kept - kept // 2]}…{line[-(kept // 2) :]}"


def _endless(value: float) -> str:
    return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
