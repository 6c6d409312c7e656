"""A Python whose slow imports are done: a server imports them once and forks itself for each new process.

Only modules that read no settings of ours or of Hugging Face from the environment are imported beforehand. A forked
process has the hash seed and the resource limits of the server, and signals reach the client only: tests of these need
``sys.executable``.
"""

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

SLOW = (
    "gensim.models",
    "numba",
    "pandas",
    "pyarrow.dataset",
    "scipy.stats",
    "sklearn.ensemble",
    "torch._dynamo",
    "torch.distributed.tensor",
)
CLIENT = """\
#!{python} -ISB
import marshal, os, socket, sys
arguments, environment = sys.argv[1:], dict(os.environ)
if arguments[:1] == ["-u"]:  # of torchrun
    del arguments[0]
if os.path.basename(sys.argv[0]) == "vqa-mc":
    arguments[:0] = ["-m", "hf_vqa_mc"]
settings = {{name: value for name, value in environment.items() if name.startswith("PYTHON")}}
for name in ("PYTHONPATH", "PYTHON_EXEC"):
    settings.pop(name, None)
others = environment.get("LOCAL_RANK", "0") != "0"  # processes that work together have different hash seeds
forked = arguments[:1] in (["-c"], ["-m"]) and not others and settings == {settings} and hasattr(os, "pidfd_open")
if not forked:
    os.execv({python!r}, [{python!r}, *arguments])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = marshal.dumps((arguments, environment, os.getcwd()))
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    status = server.recv(1)
os._exit(status[0] if status else 1)
"""


@contextlib.contextmanager
def start_server(folder: Path) -> Iterator[None]:
    """Write ``bin/python`` and ``bin/vqa-mc``, whose processes are forks of a server until the end of the context."""
    address, environment = str(folder / "socket"), {**os.environ}
    environment.pop("PYTHONPATH", None)
    settings = {name: value for name, value in environment.items() if name.startswith("PYTHON")}
    for name in ("python", "vqa-mc"):
        client = folder / "bin" / name
        client.parent.mkdir(exist_ok=True)
        client.write_text(CLIENT.format(python=sys.executable, address=address, settings=settings))
        client.chmod(0o755)
    if not hasattr(os, "pidfd_open"):  # not Linux: the programs start real processes
        yield
        return
    command = [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')", address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as server:  # ends with its standard input
        assert server.stdout.readline() == b"ready\n"
        yield


def serve(address: str) -> tuple[list[str], dict[str, str], str]:
    """Fork for each request, and return it in the forked process; end when the standard input is closed."""
    for name in SLOW:
        importlib.import_module(name)
    gc.freeze()  # so that a collection in a forked process does not copy every page
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ)
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        key, _ = waiting.select()[0]
        if key.fileobj == 0:
            os._exit(0)
        if key.data is not None:
            finish(waiting, *key.data)
            continue
        client, _ = listener.accept()
        head, files, *_ = socket.recv_fds(client, 8, 3)
        with client.makefile("rb") as stream:
            request = marshal.loads(stream.read(int.from_bytes(head, "big")))
        process = os.fork()
        if not process:
            for number, file in enumerate(files):
                os.dup2(file, number)
            listener.close()
            client.close()
        for file in files:
            os.close(file)
        if not process:
            return request
        ended = os.pidfd_open(process)
        for end in (client, ended):
            waiting.register(end, selectors.EVENT_READ, (client, process, ended))


def finish(waiting: selectors.BaseSelector, client: socket.socket, process: int, ended: int) -> None:
    """Send the status of a process that has ended, or end it, as its client has."""
    os.kill(process, signal.SIGKILL)  # does nothing if it has ended
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(bytes([status if status >= 0 else 128 - status]))
    for end in (client, ended):
        waiting.unregister(end)
    client.close()
    os.close(ended)


def run(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run ``python ARGUMENTS`` in this process."""
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")
    sys.modules["numpy"].random.seed()  # from the operating system, as in a new process
    (option, code), sys.argv = arguments[:2], arguments[1:]
    if option == "-m":
        runpy.run_module(code, run_name="__main__", alter_sys=True)
        return
    sys.argv[0] = option
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), vars(main))  # noqa: S102


def ended(arguments: list[str], environment: dict[str, str], folder: str) -> int:
    """The status of a process that ran ``python ARGUMENTS``."""
    try:
        run(arguments, environment, folder)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    status = ended(*serve(sys.argv[1]))
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # without a collection of all imported modules, which takes half a second
