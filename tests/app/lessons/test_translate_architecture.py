"""The diagram of the encoder-decoder: links, accessible texts, and boxes that do not overlap."""

import re
from xml.etree import ElementTree as ET

from attnviz.app.lessons.translate.architecture import Part, Stack, diagram

LAYER = [Part("a", "first", "8 × 4"), Part("b", "second")]


def drawn(word: str = "word") -> ET.Element:
    stack = Stack("Encoder", "tokens", Part("c", "embedding", "size"), LAYER)
    html = diagram("architecture", stack, stack, Part("d", "softmax", word), cross=1)
    return ET.fromstring(html[html.index("<div") :])  # noqa: S314 - our own


def box(element: ET.Element) -> list[int]:
    """Left, bottom, width and height."""
    return [int(number) for number in re.findall(r": (-?\d+)px", str(element.get("style")))]


def test_each_part_is_a_link_with_its_name_and_size() -> None:
    links = [(link.get("href"), "".join(link.itertext())) for link in drawn().iter("a")]
    stack = [("c", "embedding size"), ("a", "first 8 × 4"), ("b", "second")]
    assert links == [*stack, *stack, ("d", "softmax word")]


def test_text_cannot_become_an_element() -> None:
    root = drawn("<script>&'\"")
    assert not list(root.iter("script"))
    assert "".join([*root.iter("a")][-1].itertext()) == "softmax <script>&'\""


def test_everything_is_within_the_picture_and_no_boxes_overlap() -> None:
    root = drawn()
    (height,) = box(root)
    boxes = [box(link) for link in root.iter("a")]
    for x, y, wide, high in map(box, root):
        assert 0 <= x <= x + wide <= 340
        assert 0 <= y <= y + high <= height
    for x, y, wide, high in boxes:
        others = [each for each in boxes if each[:2] != [x, y]]
        assert not any(x < a + c and a < x + wide and y < b + d and b < y + high for a, b, c, d in others)
