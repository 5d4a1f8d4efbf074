"""Measure the server's memory and CPU time while visitors change the head on Explore.

A thousand visitors, one after the other, connect to a real server by websocket, without a browser. Each
visitor selects nine heads and disconnects. The memory is the resident memory of the server's process.

Run: python -m benchmarks.memory [reruns] [--smoke]
Streamlit's environment variables, such as STREAMLIT_RUNNER_POST_SCRIPT_GC=true, apply to the server.
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
RERUNS_PER_VISITOR = 10
WARM_UP = 0.2  # fraction of the reruns after which the caches and the session store are full
MAX_GROWTH = 1.1  # relative to the memory after the warm-up
ROWS = 20
TIMEOUT_SECONDS = 60


def rerun(visit: ClientConnection, numbers: dict[str, int]) -> dict[str, str]:
    """Set number inputs, wait until the script has run, and return the ids of all number inputs by label.

    Args:
        visit: the open websocket.
        numbers: the values to set, by the ids of the inputs.
    """
    states = WidgetStates(widgets=[WidgetState(id=id_, double_value=value) for id_, value in numbers.items()])
    visit.send(BackMsg(rerun_script=ClientState(widget_states=states)).SerializeToString())
    inputs: dict[str, str] = {}
    while True:
        message = ForwardMsg.FromString(visit.recv(TIMEOUT_SECONDS, decode=False))
        if message.WhichOneof("type") == "script_finished":
            return inputs
        element = message.delta.new_element
        if element.WhichOneof("type") == "number_input":
            inputs[element.number_input.label] = element.number_input.id


def visit_once(server: Server, reruns: int) -> None:
    """Simulate one visitor, who opens the page and then selects heads."""
    with server.websocket(server.url) as visit:
        inputs = rerun(visit, {})
        for number in range(1, reruns):
            rerun(visit, {inputs["Layer"]: 1 + number // 12 % 6, inputs["Head"]: 1 + number % 12})


def main(reruns: int, reruns_per_visitor: int) -> bool:
    """Print the table; return whether the memory stayed within the limit."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        process = psutil.Process(server.process.pid)
        megabytes: dict[int, float] = {}
        spent = sum(process.cpu_times()[:2])
        for done in range(reruns_per_visitor, reruns + 1, reruns_per_visitor):
            visit_once(server, reruns_per_visitor)
            if done * ROWS // reruns > (done - reruns_per_visitor) * ROWS // reruns:
                before, spent = spent, sum(process.cpu_times()[:2])
                megabytes[done] = process.memory_info().rss / 1e6
                each = 1e3 * (spent - before) / (reruns / ROWS)
                figures = f"{megabytes[done]:6.0f} MB   {each:5.1f} ms of CPU time per rerun"
                print(f"{done:6,} reruns   {figures}", flush=True)
    warm = next(done for done in megabytes if done >= WARM_UP * reruns)
    growth = max(each for done, each in megabytes.items() if done >= warm) / megabytes[warm]
    print(
        f"Maximum: {growth:.2f} × the {megabytes[warm]:.0f} MB after {warm:,} reruns; target: {MAX_GROWTH} ×"
    )
    return growth <= MAX_GROWTH


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("reruns", type=int, nargs="?", default=RERUNS)
    options = arguments.parse_args()
    met = main(100, 5) if options.smoke else main(options.reruns, RERUNS_PER_VISITOR)
    sys.exit(not met and not options.smoke)
