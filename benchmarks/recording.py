"""Record the messages that a browser sends during a visit to Explore.

The visitor opens heads, selects tokens, and changes the view and the sentence. `benchmarks.visitors` replays
the messages. Each benchmark run records them again, because widget ids change when the app changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from playwright.sync_api import Browser, Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.browser import visitor
from tests.browser.explore import Explore
from tests.browser.server import Server

TIMEOUT_SECONDS = 120

SENTENCE = "The trophy does not fit into the suitcase as it is too big."


@dataclass
class Exchange:
    """A message from the browser, and whether the server has answered it completely."""

    message: bytes
    answered: bool = False


Clicks = Callable[[Page, str], Iterator[Callable[[], object]]]


# The recorded visitor -------------------------------------------------------------------------------------


def clicks(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """Yield the recorded visitor's actions; each one causes a rerun on the server."""
    explore = Explore(page, url)
    yield explore.open
    for layer, head in ((5, 9), (1, 3), (4, 2)):
        yield partial(explore.open_head, layer, head)
    for query in (4, 7, 9):
        yield partial(explore.pick, query=query)
    yield partial(explore.pick, key=3)
    for style in ("Matrix", "Lines"):
        yield partial(explore.choose, "Picture", style)
    for _ in range(2):
        yield partial(explore.toggle, "Hide special tokens")
    yield partial(explore.choose, "Show", "narrow")
    yield partial(explore.type, "Sentence", SENTENCE)
    for layer, head in ((6, 12), (4, 2)):
        yield partial(explore.open_head, layer, head)
    yield partial(explore.pick, query=8)


def record(browser: Browser, server: Server, clicks: Clicks = clicks) -> list[bytes]:
    """Return the rerun requests that a browser sends during the actions of `clicks`.

    Raises:
        RuntimeError: a request is missing, or is sent before the previous answer; or an answer is missing.
    """
    exchanges: list[Exchange] = []
    premature: list[Exchange] = []

    def on_sent(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101 - Streamlit sends nothing else
        if BackMsg.FromString(message).WhichOneof("type") == "rerun_script":
            premature.extend(exchange for exchange in exchanges[-1:] if not exchange.answered)
            exchanges.append(Exchange(message))

    def on_received(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101
        answer = ForwardMsg.FromString(message)
        if answer.WhichOneof("type") == "script_finished":  # an interrupted run does not count as an answer
            exchanges[-1].answered = answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def watch(socket: WebSocket) -> None:
        socket.on("framesent", on_sent)
        socket.on("framereceived", on_received)

    with visitor(browser) as page:
        page.on("websocket", watch)
        for click in clicks(page, server.url):
            before = len(exchanges)
            click()
            end = time.monotonic() + TIMEOUT_SECONDS
            while len(exchanges) == before or not exchanges[-1].answered:
                if time.monotonic() > end:
                    raise RuntimeError(f"No message was sent, or the server did not answer: {click}")
                page.wait_for_timeout(20)
    if premature:
        raise RuntimeError("A request was sent before the previous answer, so the visit cannot be replayed.")
    return [exchange.message for exchange in exchanges]


# Replays --------------------------------------------------------------------------------------------------


def _is_trigger(widget: WidgetState) -> bool:
    """Return whether a widget state is a trigger, such as a click, which is sent only once."""
    return str(widget.WhichOneof("value")).endswith("trigger_value")


def after_reconnection(message: bytes) -> bytes:
    """Return the first message after a reconnection: the same values for the whole page, without the click.

    A new session has no fragments yet, so it cannot rerun a single fragment.
    """
    sent = BackMsg.FromString(message)
    sent.rerun_script.fragment_id = ""
    widgets = sent.rerun_script.widget_states.widgets
    chosen = [each for each in widgets if not _is_trigger(each)]
    del widgets[:]
    widgets.extend(chosen)
    return bytes(sent.SerializeToString())


def with_sentence(recorded: Iterable[bytes], sentence: str, typed: str = SENTENCE) -> list[bytes]:
    """Return the messages with `typed` replaced by another sentence."""
    messages = []
    for message in map(BackMsg.FromString, recorded):
        for widget in message.rerun_script.widget_states.widgets:
            if widget.string_value == typed:
                widget.string_value = sentence
        messages.append(message.SerializeToString())
    return messages
