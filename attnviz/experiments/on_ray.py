"""Parallel work on several processors or machines with Ray; each process loads the model once."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from attnviz.errors import AttnvizError
from attnviz.importing import need_extra

Given = TypeVar("Given")
Done = TypeVar("Done")

_TIMEOUT_SECONDS = 5.0
_QUEUED_PARTS = 2  # per worker, so that none waits for work; more would take more memory
_STORE_BYTES = 256 * 2**20  # size of Ray's object store, which transfers parts and results


def share(
    workers: int, address: str | None = None
) -> Callable[[Callable[[Given], Done], Iterator[Given]], Iterator[Done]]:
    """Return a parallel `map` that yields results in order of completion.

    Usage statistics and the dashboard are disabled. Without an address, no port is open to other machines.

    Args:
        workers: Number of worker processes.
        address: Address of a running cluster with attnviz installed on its machines; None uses this machine.

    Raises:
        AttnvizError: Ray is not installed; or, when the work begins, the cluster cannot be reached.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address is None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # binds Ray's ports to localhost on import
    need_extra("ray")
    import ray

    def shared(work: Callable[[Given], Done], given: Iterator[Given]) -> Iterator[Done]:
        where: dict[str, Any] = {"num_cpus": workers, "object_store_memory": _STORE_BYTES}
        if address is not None:
            _check_reachable(address)  # Ray itself would retry for minutes
            where = {"address": address}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **where)
        task: Any = ray.remote(num_cpus=1)(lambda part: work(part))  # noqa: PLW0108 - Ray rejects a `partial`
        waiting: list[Any] = []
        try:
            for each in given:
                if len(waiting) >= workers * _QUEUED_PARTS:
                    [done], waiting = ray.wait(waiting)
                    yield ray.get(done)
                waiting.append(task.remote(each))
            while waiting:
                [done], waiting = ray.wait(waiting)
                yield ray.get(done)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AttnvizError):
                raise error.cause from None
            raise
        finally:
            ray.shutdown()

    return shared


def _check_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _TIMEOUT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise AttnvizError(
            f"Cannot connect to Ray at {address} ({error}). Start it there with “ray start --head” and use "
            "HOST:PORT, or omit --address to use this machine only."
        ) from error
