"""A visit to Explore as a browser makes it: every message that it sends.

It opens heads, follows tokens, changes the view and the sentence. `benchmarks.visitors` repeats it. Each run
makes its own recording, since the names of widgets change with the app.
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
    """A message of the browser, and whether the server has answered it to the end."""

    message: bytes
    answered: bool = False


Clicks = Callable[[Page, str], Iterator[Callable[[], object]]]


# The recorded visitor -------------------------------------------------------------------------------------


def clicks(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """What the recorded visitor does; the server is asked each time."""
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
    """The messages of a browser whose visitor does all that `clicks` says.

    Raises:
        RuntimeError: the browser sent a message before the one before was answered.
    """
    exchanges: list[Exchange] = []
    hasty: list[Exchange] = []

    def sent(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101 (Streamlit sends nothing else)
        if BackMsg.FromString(message).WhichOneof("type") == "rerun_script":
            hasty.extend(exchange for exchange in exchanges[-1:] if not exchange.answered)
            exchanges.append(Exchange(message))

    def received(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101
        answer = ForwardMsg.FromString(message)
        if answer.WhichOneof("type") == "script_finished":  # unless it was broken off for another
            exchanges[-1].answered = answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def watch(socket: WebSocket) -> None:
        socket.on("framesent", sent)
        socket.on("framereceived", received)

    with visitor(browser) as page:
        page.on("websocket", watch)
        for click in clicks(page, server.url):
            before = len(exchanges)
            click()
            end = time.monotonic() + TIMEOUT_SECONDS
            while len(exchanges) == before or not exchanges[-1].answered:
                if time.monotonic() > end:
                    raise RuntimeError(f"The server was not asked, or did not answer: {click}")
                page.wait_for_timeout(20)
    if hasty:
        raise RuntimeError("The browser did not wait for an answer: what was recorded cannot be replayed.")
    return [exchange.message for exchange in exchanges]


# The visitors who repeat it -------------------------------------------------------------------------------


def _is_pick(widget: WidgetState) -> bool:
    """Whether it tells of a click, which is told once, and not of a choice, which stays."""
    return str(widget.WhichOneof("value")).endswith("trigger_value")


def anew(message: bytes) -> bytes:
    """What a browser sends first when it comes back: the same choices without the click, for the whole page.

    A server that does not know the visit knows no part of its page, and would not answer for one.
    """
    sent = BackMsg.FromString(message)
    sent.rerun_script.fragment_id = ""
    widgets = sent.rerun_script.widget_states.widgets
    chosen = [each for each in widgets if not _is_pick(each)]
    del widgets[:]
    widgets.extend(chosen)
    return bytes(sent.SerializeToString())


def with_sentence(recorded: Iterable[bytes], sentence: str, typed: str = SENTENCE) -> list[bytes]:
    """The messages of a visitor who types this sentence instead of the one that was `typed`."""
    messages = []
    for message in map(BackMsg.FromString, recorded):
        for widget in message.rerun_script.widget_states.widgets:
            if widget.string_value == typed:
                widget.string_value = sentence
        messages.append(message.SerializeToString())
    return messages
