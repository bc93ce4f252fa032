"""Rankings in words: one line for each, and a summary."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from luce.data.rankings.rankings import Rankings

SHOWN = 5
"""Rankings written out, and items of a long one."""


def count(number: int, word: str) -> str:
    """A number and its noun: `1 item`, `2,000 items`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def listed(names: Any, limit: int = SHOWN) -> str:
    """The first names, and how many there are when some are left out.

    >>> listed(["a", "b", "c"], 2)
    'a, b, … (3 in all)'
    """
    shown = ", ".join(map(str, names[:limit]))
    return shown if len(names) <= limit else f"{shown}, … ({len(names):,} in all)"


def summary(rankings: "Rankings") -> str:
    """What the rankings are, in one line."""
    parts = [f"{count(rankings.n_rankings, 'ranking')} of {count(rankings.n_items, 'item')}"]
    sizes = rankings.sizes
    if sizes.size:
        fewest, most = int(sizes.min()), int(sizes.max())
        parts.append(f"{fewest} each" if fewest == most else f"{fewest} to {most} each")
    kinds = {"ties": rankings.tied, "open ends": rankings.open_end, "pools": rankings.pool >= 0}
    parts += [f"{kind} in {int(flags.sum()):,}" for kind, flags in kinds.items() if flags.any()]
    if not np.all(rankings.weights == 1):
        total = rankings.weights.sum()
        parts.append(f"weights {total:,.0f} in all" if total == round(total) else f"weights {total:,.6g} in all")
    if rankings.rankers is not None:
        parts.append(count(len(rankings.ranker_names), "ranker"))
    return ", ".join(parts)


def written(rankings: "Rankings", q: int) -> str:
    """One ranking: `a > b = c > {d, e}`, the braces an open end; a long one is cut."""
    rows = slice(int(rankings.offsets[q]), int(rankings.offsets[q + 1]))
    places, names = rankings.places[rows], [rankings.names[code] for code in rankings.items[rows][: 2 * SHOWN]]
    shown = 2 * SHOWN if len(places) <= 2 * SHOWN else SHOWN
    end = places[-1] if rankings.open_end[q] else -1
    text = ""
    for row, name in enumerate(names[:shown]):
        tied = row > 0 and places[row] == places[row - 1]
        opening = "{" if places[row] == end and not tied else ""
        text += (", " if places[row] == end else " = ") if tied else " > " if row else ""
        text += f"{opening}{name}"
    text += f" … ({len(places):,} items)" if len(places) > shown else "}" if end >= 0 else ""
    if rankings.pool[q] >= 0:
        text += f" > the other {len(rankings.pools[rankings.pool[q]]) - len(places):,}"
    return text if rankings.weights[q] == 1 else f"{text}   ×{rankings.weights[q]:g}"


def pictured(rankings: "Rankings") -> str:
    """The summary and the first rankings."""
    lines = [summary(rankings), *(f"  {written(rankings, q)}" for q in range(min(SHOWN, len(rankings))))]
    return "\n".join(lines if len(rankings) <= SHOWN else [*lines, f"  … {len(rankings) - SHOWN:,} more"])
