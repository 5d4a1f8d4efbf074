"""Formatting of numbers, lists and texts."""

import unicodedata

import pytest

from attnviz import text


def test_only_exact_0_and_1_are_rounded_to_0_and_100_percent() -> None:
    shares: list[float] = [0, 0.0004, 0.005, 0.006, 0.664, 0.994, 0.996, 1]
    assert [text.percent(share) for share in shares] == [
        *("0 %", "< 1 %", "< 1 %", "1 %", "66 %", "99 %", "> 99 %", "100 %")
    ]
    shares = [0, 1e-9, 0.0005, 0.1456, 0.9994, 0.9996, 1]
    assert [text.percent(share, 1) for share in shares] == [
        *("0.0 %", "< 0.1 %", "0.1 %", "14.6 %", "99.9 %", "> 99.9 %", "100.0 %")
    ]


def test_signed_shares_and_intervals() -> None:
    shares = (0.312, -0.02, -1.4, -0.0001)
    assert [text.signed_share(share) for share in shares] == ["31.2 %", "−2.0 %", "−140.0 %", "0.0 %"]
    assert text.interval(0.1312, 0.251) == "13.1–25.1 %"


def test_changes_are_percentage_points_with_a_typographic_minus_sign() -> None:
    changes, written = (0.364, -0.364, 0.01, -0.001), ["+36 points", "−36 points", "+1 point", "0 points"]
    assert [text.signed_percent(change) for change in changes] == written


def test_a_decimal_number_has_a_typographic_minus_sign_and_no_negative_zero() -> None:
    numbers = (-14.2, -0.001, 0, 0.004999, 2.5, float("nan"))
    assert [text.decimal(number) for number in numbers] == ["−14.20", "0.00", "0.00", "0.00", "2.50", "–"]
    assert text.decimal(-0.04, 1) == "0.0"


def test_counts_and_sizes() -> None:
    assert [text.plural(n, "line") for n in (0, 1, 1204)] == ["0 lines", "1 line", "1,204 lines"]
    counts = (12_345, 22_713_216, 1_100_000_000)
    assert [text.rounded_count(count) for count in counts] == ["12,345", "22.7 million", "1.1 billion"]
    sizes = (999, 1_000, 999_499, 999_500, 90_900_000, 999_500_000, 2e12)
    assert [text.in_bytes(size) for size in sizes] == [
        *("999 bytes", "1 kB", "999 kB", "1 MB", "91 MB", "1 GB", "2,000 GB")
    ]
    assert [text.in_bytes(size, 1) for size in sizes[2:5]] == ["999 kB", "1.0 MB", "90.9 MB"]


@pytest.mark.parametrize(
    ("parts", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_words_are_joined_with_commas_and_and(parts: list[str], expected: str) -> None:
    assert text.joined(parts) == expected


def test_head_names_count_from_one() -> None:
    assert text.head_name(3, 1) == "4-2"


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "0"), (0.371, "0.37"), (12.5, "12.50"), (4.04e-17, "4.0 × 10⁻¹⁷"), (0.0021, "2.1 × 10⁻³")],
)
def test_small_numbers_are_written_with_powers_of_ten(number: float, written: str) -> None:
    assert text.scientific(number) == written


def test_only_right_to_left_words_are_isolated() -> None:
    assert [text.isolated(word) for word in ("dog", "12", "Ж", "##ף", "مرحبا")] == [
        *("dog", "12", "Ж", "\u2068##ף\u2069", "\u2068مرحبا\u2069")
    ]


def test_two_right_to_left_words_keep_their_order() -> None:
    assert text.in_order("tired", " → ", "narrow") == "tired → narrow"
    first, second = "עייף", "צר"
    label = text.in_order(first, " → ", second)
    assert unicodedata.bidirectional(label[0]) == "L"  # so `dir="auto"` means left to right
    assert label.index(first) < label.index("→") < label.index(second)
