"""Running independent calls here or on a Ray cluster: ``--executor local`` or ``ray``.

A call is a function of the package and its arguments. A call whose worker died is made again. Large results are files
of a `Storage`, so that those of finished calls are never lost.
"""

import contextlib
import logging
import os
import socket
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.io.interruption import uninterrupted
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.version import __version__, code_state

ExecutorName = Literal["local", "ray"]
MOST_FAILURES = 3
"""Failures of a call after which the run stops."""
MOST_DEATHS = 10
"""Deaths of workers during a call after which the run stops: most are not the call's fault."""
_ANSWER_SECONDS = 10
"""Time in which the address of a cluster must accept a connection, and then answer."""
_ADDRESS_SETTINGS = {
    "RAY_py_gcs_connect_timeout_s": f"{_ANSWER_SECONDS}",
    "RAY_gcs_rpc_server_connect_timeout_s": "1",  # waited for twice
    "RAY_NUM_REDIS_GET_RETRIES": "1",
}
"""Of Ray, so that an address that is no Ray cluster ends soon."""
_WATCHED = 1000
"""Calls, the oldest first, that are waited for at a time: Ray checks each of them every time."""

T = TypeVar("T")
Calls = Mapping[str, tuple[Any, ...]]
"""Arguments of each call, by a name for messages."""


class Executor(ABC):
    """Makes calls in any order, each at least once."""

    def run(
        self,
        function: Callable[..., T],
        calls: Calls,
        step: str,
        progress: Progress,
        memory: int = 0,
        gpu: bool = False,
    ) -> list[T]:
        """Make all calls, and return their results in the order of ``calls``.

        Args:
            function: of a module of this package; calling it again does no harm.
            calls: the arguments of each call.
            step: name of the step, for progress.
            progress: called with (step, calls done, number of calls).
            memory: bytes that a call is expected to take; 0 if unknown.
            gpu: whether each call has a GPU of its own on clusters with GPUs.

        Raises:
            InputError: from a call; a call failed `MOST_FAILURES` times, names it; or no node has enough memory.
        """
        with contextlib.closing(self._made(function, calls, memory, gpu)) as made:
            progress(step, 0, len(calls))
            results = {}
            for name, result in made:
                results[name] = result
                progress(step, len(results), len(calls))
        return [results[name] for name in calls]

    @abstractmethod
    def _made(
        self, function: Callable[..., T], calls: Calls, memory: int, gpu: bool
    ) -> Generator[tuple[str, T], None, None]:
        """Make the calls of `run`; yields the name and result of each."""


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Makes one call after another in this process; calls use threads."""

    def _made(
        self, function: Callable[..., T], calls: Calls, memory: int, gpu: bool
    ) -> Generator[tuple[str, T], None, None]:
        for name, arguments in calls.items():
            yield name, function(*arguments)


@dataclass(frozen=True)
class RayExecutor(Executor):
    """Makes calls on a Ray cluster that is already connected; workers may die, and nodes may come and go."""

    threads: int
    """CPUs and threads of each call"""
    threads_per_gpu: int
    """those of each call that has a GPU of its own"""

    def _made(
        self, function: Callable[..., T], calls: Calls, memory: int, gpu: bool
    ) -> Generator[tuple[str, T], None, None]:
        import ray

        _check_memory(memory)
        gpus = int(gpu and any(node["Resources"].get("GPU") for node in _nodes()))
        threads = self.threads_per_gpu if gpus else self.threads
        remote: Any = ray.remote(num_cpus=threads, num_gpus=gpus, memory=memory, max_retries=0)(_call)
        failed: Counter[tuple[str, bool]] = Counter()
        here = str(Path.cwd())

        def start(name: str) -> Any:  # noqa: ANN401  an ObjectRef
            return remote.options(name=name).remote(code_state(), here, threads, function, calls[name])

        running = {start(name): name for name in calls}
        try:
            while running:
                (done,), _ = ray.wait(list(islice(running, _WATCHED)), num_returns=1)
                name = running.pop(done)
                try:
                    result = ray.get(done)
                except ray.exceptions.RayError as error:
                    _count_failure(name, error, failed)
                    running[start(name)] = name
                else:
                    yield name, result
        finally:
            for call in running:
                with contextlib.suppress(Exception):
                    ray.cancel(call)


@contextlib.contextmanager
def open_executor(name: ExecutorName, address: str | None = None, threads: int | None = None) -> Iterator[Executor]:
    """The executor; a connection to Ray that it opens is closed at the end.

    Args:
        name: ``local`` or ``ray``.
        address: of a Ray cluster, ``HOST:PORT``, ``ray://HOST:PORT`` or ``auto``; by default the connection of this
            process is used, or Ray is started on this machine.
        threads: CPUs and threads per call; by default the CPUs of the smallest node, or for calls with a GPU the
            CPUs per GPU.

    Raises:
        InputError: the cluster does not answer, or its nodes have no or another version of this package.
        MissingExtra: Ray is not installed.
    """
    if name == "local":
        if threads is not None:
            use_threads(threads)
        yield LocalExecutor()
        return
    if address not in (None, "auto"):
        for setting, value in _ADDRESS_SETTINGS.items():
            os.environ.setdefault(setting, value)
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    connected = ray.is_initialized()
    if connected and address not in (None, "auto"):
        raise InputError(f"--address {address}: this process is connected to a Ray cluster already; leave it out")
    try:
        if not connected:
            _connect(address)
        executor = RayExecutor(*_cpus(threads))
        _check_nodes()
        yield executor
    finally:
        if not connected:
            ray.shutdown()


def use_threads(threads: int) -> None:
    """Set the number of threads of numba kernels, at most one per core."""
    import numba

    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined,unused-ignore]
    numba.set_num_threads(min(threads, most))


def _call(state: str, folder: str, threads: int, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Make a call on a worker, with relative paths in ``folder``; nodes that join later are checked here."""
    if code_state() != state:
        raise InputError(
            f"{socket.gethostname()}: hf_vqa_mc {__version__} is not the same as on the machine that started the "
            "run; install the same version on all nodes"
        )
    with contextlib.suppress(OSError):  # where it is not mounted, all paths have to be absolute
        os.chdir(folder)
    use_threads(threads)
    return function(*arguments)


def _count_failure(name: str, error: Any, failed: Counter[tuple[str, bool]]) -> None:  # noqa: ANN401  a RayError
    """Count the failure of a call, or the death of its worker; raise an error if making it again is of no use."""
    import ray

    if isinstance(error, ray.exceptions.LocalRayletDiedError):
        raise ConnectionError("Ray died on this machine; the same command resumes") from error
    is_failure = isinstance(error, ray.exceptions.RayTaskError)
    cause = error.cause if is_failure and isinstance(error.cause, Exception) else error
    if isinstance(cause, InputError):
        raise InputError(str(cause)) from error
    failed[name, is_failure] += 1
    reason = f"{type(cause).__name__}: {_first_line(cause)}"
    if is_failure and failed[name, True] == MOST_FAILURES:
        raise InputError(f"{name} failed {MOST_FAILURES} times, last with {reason}") from error
    if failed[name, False] == MOST_DEATHS:
        raise InputError(f"{name}: {MOST_DEATHS} workers died ({reason}); is there enough memory?") from error


def _connect(address: str | None) -> None:
    """Connect to a cluster, or start Ray on this machine."""
    import ray

    if address and address != "auto":
        parts = urlsplit(address if "://" in address else f"//{address}")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or not port:
            raise InputError(f"--address {address}: expected auto, HOST:PORT or ray://HOST:PORT")
        try:
            socket.create_connection((host, port), _ANSWER_SECONDS).close()
        except OSError as error:
            raise InputError(f"--address {address}: no answer ({error}); is the Ray cluster running?") from error
    try:
        with uninterrupted(), _quiet() if address else contextlib.nullcontext():
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises ConnectionError, RuntimeError, ValueError and others
        where = f"--address {address}" if address else "Ray could not be started"
        needs_token = "InvalidAuthToken" in str(error.__cause__)
        reason = "the cluster requires a token; set RAY_AUTH_MODE=token" if needs_token else _first_line(error)
        raise InputError(f"{where}: {reason}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drop what C++ prints: before it is connected, Ray has no setting for that."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as null:  # noqa: PTH123  no file
            os.dup2(null.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _cpus(wanted: int | None) -> tuple[int, int]:
    """CPUs of each call, by default those of the smallest node, and those of each call with a GPU."""
    resources = [node["Resources"] for node in _nodes()]
    usable = [cpus for own in resources if (cpus := int(own.get("CPU", 0)))]
    if not usable:
        raise InputError("the Ray cluster has no CPUs; start it with some (--num-cpus)")
    if wanted and wanted > max(usable):
        raise InputError(f"--workers {wanted}: no node of the Ray cluster has more than {max(usable)} CPUs")
    per_gpu = [max(int(own.get("CPU", 0) // own["GPU"]), 1) for own in resources if own.get("GPU")]
    return wanted or min(usable), wanted or min(per_gpu, default=1)


def _check_memory(memory: int) -> None:
    """Raise InputError unless a node has so many bytes."""
    most = max(node["Resources"].get("memory", 0) for node in _nodes())
    if memory > most:
        raise InputError(
            f"a call needs about {memory / 1e9:.1f} GB of memory, and no node of the Ray cluster has more than "
            f"{most / 1e9:.1f}; use smaller parts (--largest-part)"
        )


def _nodes() -> list[dict[str, Any]]:
    """The nodes that are alive."""
    import ray

    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call,unused-ignore]


def _check_nodes() -> None:
    """Raise InputError unless all nodes have this package in the same version."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def version_there() -> str | None:  # a local function is sent whole: the node may lack the package
        try:
            from hf_vqa_mc.version import code_state
        except ImportError:
            return None
        return code_state()

    probe = ray.remote(num_cpus=0)(version_there)
    nodes = {node["NodeID"]: node["NodeManagerHostname"] for node in _nodes()}
    found = {
        name: probe.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote()
        for node, name in nodes.items()
    }
    for name, answer in found.items():
        try:
            state = ray.get(answer, timeout=120)
        except ray.exceptions.RayError as error:
            raise InputError(f"node {name} of the Ray cluster: {_first_line(error)}") from error
        if state != code_state():
            which = "another version of" if state else "no"
            raise InputError(
                f"node {name} of the Ray cluster has {which} hf_vqa_mc; install {__version__} on all nodes"
            )


def _first_line(error: Exception) -> str:
    """The first line of an error's text that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
