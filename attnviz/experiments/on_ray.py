"""Parallel work on several processors or machines by Ray, with one model per actor."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from attnviz.errors import AttnvizError
from attnviz.importing import need_extra

Given = TypeVar("Given")
Done = TypeVar("Done")

LOCAL = "local"
"""Address of a temporary Ray instance on this machine, which ends with the work."""

_BIND_ALL_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0" binds Ray's ports to localhost
_USAGE_STATS_VARIABLE = "RAY_USAGE_STATS_ENABLED"
_TIMEOUT_SECONDS = 5.0
_START_SECONDS = 120.0  # each actor imports torch, which is slow on a busy machine
_AHEAD = 2  # queued parts per actor, so that none idles; more would keep more of the text in memory
_MEMORY = 256 * 2**20  # bytes of Ray's object store, which transfers parts and results


def share(
    workers: int, address: str = LOCAL
) -> Callable[[Callable[[Given], Done], Iterator[Given]], Iterator[Done]]:
    """Return a parallel `map` that yields results in order of completion.

    Usage statistics and the dashboard are off, and with `LOCAL` no port is open to other machines.

    Args:
        workers: Number of actors, each with one processor.
        address: Address of a running cluster with attnviz on its machines, or `LOCAL`.

    Raises:
        AttnvizError: Ray is not installed; or, when the work begins, there is no cluster at the address, or
            it has too few processors.
    """
    ray = _imported(address)

    def shared(work: Callable[[Given], Done], given: Iterator[Given]) -> Iterator[Done]:
        _begin(ray, workers, address)
        try:
            yield from _shared_out(ray, work, given, workers)
        finally:
            ray.shutdown()

    return shared


def _imported(address: str) -> ModuleType:
    """Import Ray with usage statistics off; with `LOCAL`, its ports are bound to localhost.

    Raises:
        AttnvizError: Ray is not installed.
    """
    os.environ[_USAGE_STATS_VARIABLE] = "0"
    if address == LOCAL:
        os.environ[_BIND_ALL_VARIABLE] = "0"  # read when ray is imported
    need_extra("ray")
    import ray

    return ray


class Worker:
    """An actor; it loads the model with its first part."""

    def ready(self) -> bool:
        """Return True once the actor has started."""
        return True

    def do(self, work: Callable[[Given], Done], given: Given) -> Done:
        """Do one part of the work."""
        return work(given)


def _shared_out(
    ray: ModuleType, work: Callable[[Given], Done], given: Iterator[Given], workers: int
) -> Iterator[Done]:
    """Give each part to the next free actor, and yield results in order of completion."""
    remote = ray.remote(num_cpus=1)(Worker)
    actors = [remote.remote() for _ in range(workers)]
    _wait_for(ray, actors)
    waiting: dict[Any, Any] = {}
    for actor in actors * _AHEAD:
        if (each := next(given, None)) is not None:
            waiting[actor.do.remote(work, each)] = actor
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        actor = waiting.pop(done)
        if (each := next(given, None)) is not None:
            waiting[actor.do.remote(work, each)] = actor
        try:
            found: Done = ray.get(done)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AttnvizError):
                raise error.cause from None
            raise
        except ray.exceptions.RayActorError as error:
            raise AttnvizError(
                "A Ray worker died before its work was done; it may have run out of memory."
            ) from error
        yield found


def _wait_for(ray: ModuleType, actors: list[Any]) -> None:
    """Wait until all actors have started: one without a processor would wait forever."""
    _, missing = ray.wait(
        [actor.ready.remote() for actor in actors], num_returns=len(actors), timeout=_START_SECONDS
    )
    if missing:
        raise AttnvizError(
            f"{len(missing)} of {len(actors)} workers did not start within {_START_SECONDS:.0f} seconds. Ray "
            f"has {ray.cluster_resources().get('CPU', 0):.0f} processors, and each worker needs one. "
            "Use fewer workers, or try again when the machines are less busy."
        )


def _begin(ray: ModuleType, workers: int, address: str) -> None:
    """Connect to the cluster at an address, or start one with this number of processors for `LOCAL`.

    Raises:
        AttnvizError: there is no cluster at the address.
    """
    alone: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": _MEMORY}
    if address != LOCAL:
        _check_reachable(address)  # Ray itself would try for minutes
    ray.init(
        address=address, log_to_driver=False, logging_level="error", **(alone if address == LOCAL else {})
    )


def _check_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _TIMEOUT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise AttnvizError(
            f"Cannot connect to Ray at {address} ({error}). Start it there with “ray start --head” and use "
            "HOST:PORT, or omit --address to use this machine only."
        ) from error
