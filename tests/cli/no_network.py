"""Processes that cannot reach any network."""

import os
import subprocess
import sys
from pathlib import Path

NO_NETWORK = """\
import pathlib, socket
def refuse(*address):
    with (pathlib.Path(__file__).parent / "requests").open("a") as requests:
        requests.write(f"{address}\\n")
    raise OSError("no network")
socket.getaddrinfo = socket.socket.connect = refuse
"""
"""A sitecustomize.py: processes that find it cannot reach any network, and leave a note if they try."""


def without_network(folder, *packages):
    """The environment of processes that have none, and find a note of it in the folder."""
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {
        "HF_HOME": str(folder / "home"),
        "PYTHONPATH": ":".join([str(folder), *map(str, packages), *filter(None, sys.path)]),
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
    }
    guard = [sys.executable, "-c", "import socket; print(socket.getaddrinfo.__name__)"]
    assert subprocess.run(guard, env=environment, capture_output=True, text=True).stdout == "refuse\n"
    return environment
