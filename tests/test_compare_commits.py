"""Two commits are compared by the lines that both print, and by their text for users."""

import doctest

import pytest

import compare_commits
import compare_strings
from compare_commits import differs, paired_lines


@pytest.mark.parametrize("module", [compare_commits, compare_strings])
def test_examples(module):
    assert doctest.testmod(module).failed == 0 < doctest.testmod(module).attempted


def test_lines_are_paired_by_their_text_and_their_order():
    base = ["listmle@10   1.5 ms   2 ×\nlistmle@10   9 ms   4 ×\ngone 1"] * 2
    head = ["new 7\nlistmle@10   1.0 ms   3 ×\nlistmle@10   8 ms   5 ×", "listmle@10 1.2 ms 3 ×\nlistmle@10 8 ms 6 ×"]
    first, second = paired_lines(base, head)
    assert first.base == [[1.5, 1.5], [2.0, 2.0]] and first.head == [[1.0, 1.2], [3.0, 3.0]]
    assert second.base == [[9.0, 9.0], [4.0, 4.0]] and second.head == [[8.0, 8.0], [5.0, 6.0]]


def test_a_difference_is_larger_than_the_repeats_vary():
    assert differs([1.0, 1.1, 1.2], [1.3, 1.4, 1.5])
    assert differs([1.3, 1.4, 1.5], [1.0, 1.1, 1.2])
    assert not differs([1.0, 1.1, 1.35], [1.3, 1.4, 1.5])
    assert not differs([100.0, 101.0], [102.0, 103.0])
