"""Read the data in a report from its HTML."""

import base64
import gzip
import json
from html.parser import HTMLParser
from typing import Any

import numpy as np

from attnviz.trace import Floats, Kind


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


def numbers_of(page: str) -> Floats:
    [packed] = [text for attributes, text in Elements(page).of("script") if attributes.get("id") == "numbers"]
    return np.frombuffer(gzip.decompress(base64.b64decode(packed)), "<f4")


def weights_in(page: str, kind: Kind, name: str) -> Floats:
    """Return the weights that the browser shows, [layer, head, query, key]; NaN where masked."""
    numbers = numbers_of(page)
    [trace_data] = facts_of(page)["traces"]
    [section] = [one for one in trace_data["kinds"] if one["kind"] == kind]
    shape = (len(section["layers"]), section["heads"], *section["size"])
    weights = numbers[section["weights"] :][: np.prod(shape)].reshape(shape)
    token_view = section["token_views"][name]
    weights = weights[:, :, token_view["rows"]][..., token_view["columns"]]
    if token_view["left"] is None:
        return weights
    left = numbers[token_view["left"] :][: weights[..., 0].size].reshape(weights.shape[:-1])
    shown: Floats = np.divide(weights, np.where(left > 0, left, 1)[..., None], dtype=np.float32)
    return shown
