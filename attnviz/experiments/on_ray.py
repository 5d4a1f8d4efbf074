"""The same work on several processors or machines at once, by Ray: one model in each of its actors."""

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
"""The address that means: processes of this machine, begun for this work and ended with it."""

# 0 closes the ports to other machines.
_DOORS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_REPORTS = "RAY_USAGE_STATS_ENABLED"
_TIMEOUT_SECONDS = 5.0
_START_SECONDS = 120.0  # each actor imports torch, on a busy machine next to others
_AHEAD = 2  # parts that wait at each actor, so that none idles; more would hold more of the text in memory
_MEMORY = 256 * 2**20  # bytes of Ray's own store, through which parts and sums go


def share(
    workers: int, address: str = LOCAL
) -> Callable[[Callable[[Given], Done], Iterator[Given]], Iterator[Done]]:
    """Return a `map` by so many actors, each with one processor, in the order in which they are done.

    Nothing is sent to Ray's makers, no dashboard is served, and unless an address is given nothing listens to
    other machines.

    Args:
        address: of a running cluster with attnviz on its machines; or `LOCAL`.

    Raises:
        AttnvizError: Ray is not installed; or, when the work begins, no cluster is at the address, or it has
            not room for so many actors.
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
    """Import Ray without usage reports; unless an address is given, it listens to this machine alone.

    Raises:
        AttnvizError: it is not installed.
    """
    os.environ[_REPORTS] = "0"
    if address == LOCAL:
        os.environ[_DOORS] = "0"  # read when ray is imported
    need_extra("ray")
    import ray

    return ray


class Worker:
    """What each actor is: it loads the model with its first part."""

    def ready(self) -> bool:
        """True, once it has started."""
        return True

    def do(self, work: Callable[[Given], Done], given: Given) -> Done:
        """A piece of work."""
        return work(given)


def _shared_out(
    ray: ModuleType, work: Callable[[Given], Done], given: Iterator[Given], workers: int
) -> Iterator[Done]:
    """Each piece goes to the actor that has least to do; what is found comes as it is done."""
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
                "A worker of Ray ended before its work was done, for example out of memory."
            ) from error
        yield found


def _wait_for(ray: ModuleType, actors: list[Any]) -> None:
    """An actor for which there is no processor would wait for one for good, and its parts with it."""
    _, missing = ray.wait(
        [actor.ready.remote() for actor in actors], num_returns=len(actors), timeout=_START_SECONDS
    )
    if missing:
        raise AttnvizError(
            f"Of {len(actors)} workers {len(missing)} did not start within {_START_SECONDS:.0f} seconds; Ray "
            f"has {ray.cluster_resources().get('CPU', 0):.0f} processors, and each needs one. "
            "Use fewer workers, or try again when the machines are less busy."
        )


def _begin(ray: ModuleType, workers: int, address: str) -> None:
    """Reach the cluster at an address, or begin one of so many processors `LOCAL`.

    Raises:
        AttnvizError: there is none at the address.
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
            f"There is no Ray at {address} ({error}). Start it there with “ray start --head”, and give "
            "HOST:PORT; or leave --address out to use this machine alone."
        ) from error
