"""Ray and fsspec: calls on the machines of a cluster, and files that all of them read and write."""

import contextlib
import json
import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.io.atomic import link_or_copy
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.version import __version__, code_state

RETRIES = 10  # times that a call is made again whose worker died, or whose storage did not answer
ANSWER_SECONDS = 10  # time in which the address of a cluster must accept a connection

T = TypeVar("T")


@contextlib.contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """Connect to a Ray cluster, or start Ray on this machine without an address; an existing connection is used."""
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    if ray.is_initialized():
        yield
        return
    if address and address != "auto":
        host, _, port = address.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            raise InputError(
                f"--address {address}: no Ray cluster answers; expected auto, or its HOST:PORT or ray://HOST:PORT"
            ) from error
    try:
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises ConnectionError, RuntimeError, ValueError and others
        where = f"--address {address}" if address else "Ray could not be started"
        raise InputError(f"{where}: {first_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def map(
    call: Callable[..., T],
    items: Mapping[str, Sequence[Any]],
    step: str,
    progress: Progress,
    *,
    workers: int | None = None,
    memory: int = 0,
    gpu: bool = False,
) -> list[T]:
    """Make calls on the cluster that is `connected`; a call whose worker dies is made again.

    Args:
        call: a function of this package; calling it again does no harm.
        items: arguments of each call, by a name for messages.
        step: name of the step, for progress.
        progress: called with (step, calls done, number of calls).
        workers: CPUs and threads of each call; by default the CPUs of the smallest node, or per GPU.
        memory: bytes that a call is expected to take; 0 if unknown.
        gpu: whether each call has a GPU of its own on clusters with GPUs.

    Returns:
        The results, in the order of ``items``.

    Raises:
        InputError: from a call; a call failed, names it; or no node has so many CPUs or so much memory.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call,unused-ignore]
    gpus = int(gpu and any(node.get("GPU") for node in nodes))
    with_gpu = [node["CPU"] // node["GPU"] for node in nodes if node.get("GPU")]
    cpus = workers or max(int(min(with_gpu if gpus else (node["CPU"] for node in nodes if node.get("CPU")))), 1)
    if not any(node.get("CPU", 0) >= cpus and node.get("memory", 0) >= memory for node in nodes):
        raise InputError(
            f"no node of the Ray cluster has {cpus} CPUs and {memory / 1e9:.1f} GB of memory for a call; use fewer "
            "CPUs (--workers), or smaller parts (--largest-part)"
        )
    options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "memory": memory}
    options |= {"max_retries": RETRIES, "retry_exceptions": [OSError]}
    remote: Any = ray.remote(**options)(_call)
    first = code_state(), str(Path.cwd()), cpus, call
    running = {remote.options(name=name).remote(*first, *arguments): name for name, arguments in items.items()}
    results: dict[str, T] = {}
    progress(step, 0, len(items))
    try:
        while running:
            (done,), _ = ray.wait(list(running), num_returns=1)
            name = running.pop(done)
            try:
                results[name] = ray.get(done)
            except ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None) or error
                reason = str(cause) if isinstance(cause, InputError) else f"{name} failed: {first_line(cause)}"
                raise InputError(reason) from error
            progress(step, len(results), len(items))
    finally:  # an interrupted command leaves no calls
        for unfinished in running:
            ray.cancel(unfinished)
    return [results[name] for name in items]


def _call(state: str, folder: str, threads: int, call: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
    """Make a call on a worker, with relative paths in ``folder``."""
    if code_state() != state:
        raise InputError(f"{socket.gethostname()} has another hf_vqa_mc; install version {__version__} on all nodes")
    with contextlib.suppress(OSError):  # where it is not mounted, all paths have to be absolute
        os.chdir(folder)
    use_threads(threads)
    return call(*arguments)


def use_threads(threads: int) -> None:
    """Set the number of threads of numba kernels, at most one per core."""
    import numba

    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined,unused-ignore]
    numba.set_num_threads(min(threads, most))


def is_url(location: str) -> bool:
    """Whether a location is an fsspec URL, such as ``s3://bucket/folder``, and not a path."""
    return "://" in location


def check_url(option: str, location: str) -> None:
    """Raise InputError for a URL with credentials, which messages would show, or without a folder in the bucket."""
    if location.startswith("file:"):
        raise InputError(f"{option} {location}: give a path instead of a URL")
    path = location.partition("://")[2].strip("/")
    if "@" in path.partition("/")[0]:
        raise InputError(f"{option}: a URL must not hold a user or password; credentials come from the environment")
    if is_url(location) and "/" not in path:
        raise InputError(f"{option} {location}: give a folder in the bucket ({location.rstrip('/')}/vqa_mc)")


def contains(folder: str, location: str) -> bool:
    """Whether a location is a folder or in it."""
    if is_url(folder) or is_url(location):
        return f"{location.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    return Path(os.path.realpath(location)).is_relative_to(os.path.realpath(folder))


@dataclass(frozen=True)
class Storage:
    """A folder, by path or fsspec URL, whose files appear complete or not at all; errors are OSError."""

    location: str  # credentials come from the environment, never from the URL

    def path(self, name: str = "") -> str:
        """The location of a file, for messages."""
        return f"{self.location.rstrip('/')}/{name}".rstrip("/")

    @contextlib.contextmanager
    def _access(self, name: str) -> Iterator[tuple[Any, str]]:
        """The file system and the file's path in it; errors name the file and are of one type."""
        import fsspec

        fresh = {"use_listings_cache": False} if is_url(self.location) else {}  # other machines write, too
        try:
            files, root = fsspec.url_to_fs(self.location, **fresh)
        except (ImportError, ValueError) as error:
            raise InputError(f"{self.location}: {error}") from error
        try:
            yield files, f"{root.rstrip('/')}/{name}".rstrip("/")
        except (InputError, FileNotFoundError):
            raise
        except Exception as error:  # clients of object stores raise errors of many types
            raise OSError(f"{self.path(name)}: {first_line(error)}") from error

    def exists(self, name: str = "") -> bool:
        """Whether there is a file or folder."""
        with self._access(name) as (files, path):
            return bool(files.exists(path))

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, at any depth, sorted."""
        with self._access(folder) as (files, path):
            return sorted(os.path.relpath(name, path) for name in files.find(path))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self._access(name) as (files, path):
            return bytes(files.cat_file(path))

    def read_json(self, name: str) -> Any:  # noqa: ANN401  any JSON
        """The content of a JSON file."""
        return json.loads(self.read(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file; it appears in one step, as object stores do, elsewhere renamed when complete."""
        with self._access(name) as (files, path):
            if is_url(self.location):
                files.pipe_file(path, content)
                return
            partial = Path(f"{path}.{uuid.uuid4().hex}.partial")
            partial.parent.mkdir(parents=True, exist_ok=True)
            try:
                partial.write_bytes(content)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)

    def write_json(self, name: str, value: Any) -> None:  # noqa: ANN401  any JSON
        """Write a JSON file."""
        self.write(name, json.dumps(value).encode())

    def copy(self, name: str, to: "Storage", new_name: str) -> None:
        """Copy a file to another folder: a hard link on one disk; an object store copies without a transfer."""
        with self._access(name) as (files, path), to._access(new_name) as (_, new_path):
            if not (is_url(self.location) or is_url(to.location)):
                Path(new_path).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(Path(path), Path(new_path))
            elif self.location.partition("://")[0] == to.location.partition("://")[0]:
                files.cp_file(path, new_path)
            else:
                to.write(new_name, self.read(name))

    def remove(self, name: str = "") -> None:
        """Remove a file, or a folder with all files; nothing if it is missing."""
        with self._access(name) as (files, path):
            if files.exists(path):
                files.rm(path, recursive=True)

    def remove_if_empty(self) -> None:
        """Remove the folder unless it holds files; most object stores have no folders."""
        with contextlib.suppress(OSError), self._access("") as (files, path):
            files.rmdir(path)
