"""What a page holds, read from its text alone."""

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.export.report.fixed_point import MASKED, ONE
from attnviz.trace import Kind

Bytes = NDArray[np.uint8]
Shares = NDArray[np.float64]


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text inside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (attributes, text)
            for (name, attributes), text in zip(self.found, self.texts, strict=True)
            if name == tag
        ]


def facts_of(page: str) -> dict[str, Any]:
    [facts] = [text for attributes, text in Elements(page).of("script") if attributes.get("id") == "facts"]
    found: dict[str, Any] = json.loads(facts)
    return found


def numbers_of(page: str) -> bytes:
    [packed] = [text for attributes, text in Elements(page).of("script") if attributes.get("id") == "numbers"]
    return gzip.decompress(base64.b64decode(packed))


def weights_in(page: str, kind: Kind, way: str) -> Shares:
    """What the browser computes from a page, [layer, head, shown query, shown key]; NaN where masked."""
    data = np.frombuffer(numbers_of(page), np.uint8)
    [reading] = facts_of(page)["readings"]
    [held] = [one for one in reading["kinds"] if one["kind"] == kind]
    shape = (len(held["layers"]), held["heads"], *held["size"])
    shares = _decoded(data[held["weights"] :], shape)
    told = held["ways"][way]
    shares = shares[:, :, told["rows"]][..., told["columns"]]
    if (rescaled := told["rescaled"]) is None:
        return shares
    rows = int(np.prod(shares.shape[:-1]))
    left = data[rescaled["left"] :][: 4 * rows].copy().view("<f4").astype(np.float64)
    lost = data[rescaled["lost"] :][: 4 * rescaled["count"]].copy().view("<u4")
    shown = (shares.reshape(rows, -1) / np.where(left > 0, left, 1)[:, None]).reshape(rows, -1)
    shown[lost] = _decoded(data[rescaled["own"] :], (len(lost), shares.shape[-1]))
    return shown.reshape(shares.shape)


def _decoded(data: Bytes, shape: tuple[int, ...]) -> Shares:
    """Weights from their planes; NaN where masked."""
    count = int(np.prod(shape))
    low, middle, high = data[: 3 * count].reshape(3, count).astype(np.int64)
    coded = (low + (middle << 8) + (high << 16)).reshape(shape)
    return np.where(coded == MASKED, np.nan, coded / ONE)
