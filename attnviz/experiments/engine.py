"""Forward passes on other machines: each model is a deployment of Ray Serve, and what it did comes back.

`ATTNVIZ_ENGINE=ray://10.0.0.5:6379` names a cluster that runs already and of which this machine is a part; on
its machines the same attnviz is installed. `ray://local` begins one on this machine. Without the setting
every pass runs in this process.

What Ray sends is unpacked by pickle: who can reach the cluster can run anything on the server.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any

from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput
from attnviz.errors import AttnvizError, WrongSetting
from attnviz.experiments.on_ray import HERE, begin, imported
from attnviz.interventions.edit import Edits
from attnviz.models import resolve
from attnviz.trace import Trace
from attnviz.trace_io import VERSION

SETTING = "ATTNVIZ_ENGINE"
"""The environment variable with the cluster; unset: this process."""

_SCHEME = "ray://"
_THREADS = "OMP_NUM_THREADS"  # as many as here: with others, the last bits of the figures differ
_AT_ONCE = 2  # passes of each copy; where more wait, Ray begins another copy
_PATIENCE_SECONDS = 300.0  # a model may first have to be loaded there

_lock = threading.Lock()
_deployed: dict[str, Any] = {}


class Deployed:
    """What each copy of a model on the cluster is."""

    def __init__(self, name: str) -> None:
        self._model: Model = loading.load(name)

    def trace(self, given: ModelInput, edits: Edits) -> Trace:
        """One forward pass."""
        return self._model.trace(given, edits=edits)


def is_remote() -> bool:
    """Whether forward passes are sent to a cluster."""
    return bool(os.environ.get(SETTING))


def trace(name: str, given: ModelInput, edits: Edits = ()) -> Trace:
    """`loading.trace`, on the cluster if there is one: the same figures to 1e-6.

    Raises:
        WrongSetting: the setting names no cluster.
        AttnvizError: as there; or the cluster cannot be reached, or does not answer.
    """
    if not is_remote():
        return loading.trace(name, given, edits)
    entry = resolve.entry(name)
    # Traces of another form, or other files of the model, are another deployment.
    of = hashlib.sha256(repr((VERSION, name, entry.files_digest)).encode()).hexdigest()[:16]
    with _lock:
        if of not in _deployed:
            _deployed[of] = _deploy(name, f"attnviz-{of}")
    import ray

    try:
        found: Trace = _deployed[of].trace.remote(given, tuple(edits)).result(timeout_s=_PATIENCE_SECONDS)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AttnvizError):
            raise error.cause from None
        raise
    except (ray.exceptions.RayError, TimeoutError) as error:
        raise AttnvizError(
            "The machines that run this model do not answer. Try again; if this stays so, tell who runs this "
            "server."
        ) from error
    return found


def _deploy(name: str, called: str) -> Any:
    """The handle of the model's deployment, which another server may have begun before."""
    setting = os.environ[SETTING]
    if not setting.startswith(_SCHEME):
        raise WrongSetting(f"{SETTING} should be {_SCHEME}HOST:PORT or {_SCHEME}{HERE}, and is “{setting}”.")
    address = setting.removeprefix(_SCHEME)
    ray = imported(address)
    try:
        from ray import serve
    except ImportError as error:
        raise AttnvizError(
            f"{SETTING} needs Ray Serve, which is not installed. Put it right with: "
            f'python -m pip install "ray[serve]=={ray.__version__}"'
        ) from error
    if not ray.is_initialized():
        begin(ray, os.cpu_count() or 1, address)
    serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
    if called in serve.status().applications:
        return serve.get_app_handle(called)
    options = {"num_cpus": 1, "runtime_env": {"env_vars": {_THREADS: os.environ.get(_THREADS, "2")}}}
    deployment: Any = serve.deployment(
        Deployed, num_replicas="auto", max_ongoing_requests=_AT_ONCE, ray_actor_options=options
    )
    return serve.run(deployment.bind(name), name=called, route_prefix=None)
