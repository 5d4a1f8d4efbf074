"""How much memory and processor time the server takes while visitors change the head on Explore.

A real server, and no browser: a thousand visitors come, one by one, and each moves to other heads nine
times over the websocket and leaves. The memory is what the server's process holds.

Run: python -m benchmarks.memory [reruns] [--smoke]
Streamlit's environment variables change the server, such as STREAMLIT_RUNNER_POST_SCRIPT_GC=true.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.sync.client import ClientConnection

from benchmarks.report import parser
from tests.browser.server import Server, running

RERUNS = 10_000
OF_ONE_VISITOR = 10
WARM = 0.2  # of the reruns; after them, caches and session store have filled
FLAT = 1.1  # times the memory then
ROWS = 20
SECONDS = 60


def rerun(visit: ClientConnection, numbers: dict[str, int]) -> dict[str, str]:
    """Change these numbers, wait until the page has been drawn, and return each number box's id by its label.

    Args:
        visit: the open websocket.
        numbers: what the boxes of these ids are set to.
    """
    states = WidgetStates(widgets=[WidgetState(id=id_, double_value=value) for id_, value in numbers.items()])
    visit.send(BackMsg(rerun_script=ClientState(widget_states=states)).SerializeToString())
    boxes: dict[str, str] = {}
    while True:
        message = ForwardMsg.FromString(visit.recv(SECONDS, decode=False))
        if message.WhichOneof("type") == "script_finished":
            return boxes
        element = message.delta.new_element
        if element.WhichOneof("type") == "number_input":
            boxes[element.number_input.label] = element.number_input.id


def visit_once(server: Server, reruns: int) -> None:
    """One visitor: the opening page, then one head after the other, through all layers."""
    with server.websocket(server.url) as visit:
        boxes = rerun(visit, {})
        for number in range(1, reruns):
            rerun(visit, {boxes["Layer"]: 1 + number // 12 % 6, boxes["Head"]: 1 + number % 12})


def main(reruns: int, of_one_visitor: int) -> bool:
    """Print the table; return whether the memory stayed flat."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        process = psutil.Process(server.process.pid)
        megabytes: dict[int, float] = {}
        spent = sum(process.cpu_times()[:2])
        for done in range(of_one_visitor, reruns + 1, of_one_visitor):
            visit_once(server, of_one_visitor)
            if done * ROWS // reruns > (done - of_one_visitor) * ROWS // reruns:
                before, spent = spent, sum(process.cpu_times()[:2])
                megabytes[done] = process.memory_info().rss / 1e6
                each = 1e3 * (spent - before) / (reruns / ROWS)
                figures = f"{megabytes[done]:6.0f} MB   {each:5.1f} ms of processor time for each"
                print(f"{done:6,} reruns   {figures}", flush=True)
    warm = next(done for done in megabytes if done >= WARM * reruns)
    grown = max(each for done, each in megabytes.items() if done >= warm) / megabytes[warm]
    print(f"At most {grown:.2f} times the {megabytes[warm]:.0f} MB after {warm:,} reruns; target {FLAT}")
    return grown <= FLAT


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("reruns", type=int, nargs="?", default=RERUNS)
    asked = arguments.parse_args()
    flat = main(100, 5) if asked.smoke else main(asked.reruns, OF_ONE_VISITOR)
    sys.exit(not flat and not asked.smoke)
