"""The last result of a function of arrays: value, gradient and curvature are asked for at the same point."""

from collections.abc import Callable
from typing import Any

import numpy as np

from luce.arrays import Floats


class Remembered:
    """Calls a function of arrays, unless they are those of the last call.

    >>> twice = Remembered(lambda x: print("called") or 2 * x)
    >>> [twice(np.array(value)).item() for value in (1.0, 1.0)]
    called
    [2.0, 2.0]
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.arguments: tuple[Floats, ...] | None = None
        self.result: Any = None

    def __call__(self, *arguments: Floats) -> Any:
        same = self.arguments is not None and all(map(np.array_equal, self.arguments, arguments))
        if not same:
            self.result = self.function(*arguments)
            self.arguments = tuple(argument.copy() for argument in arguments)
        return self.result
