"""Audits that visitors of `audit_server` ask for.

Each is a ``vqa-mc audit`` in a process of its own, one at a time: a damaged or huge benchmark ends that process, not
the server. It has no Hub token, so that nobody reads private datasets of the owner. Its folder, with upload, downloads
and caches, is removed at its end. Reports are in memory only, at addresses that cannot be guessed.
"""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from threading import Lock, Timer

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import first_line

MEGABYTES, HUB_MEGABYTES = 100, 2000
"""Largest upload, and largest repository on the Hub."""
ROWS = 20_000
"""Rows of each split that are audited: the first ones."""
SECONDS, MOST_SECONDS = 300, 900
"""Time in which probes are trained, and after which an audit is ended."""
WAITING = 5
"""Maximum number of audits that have not ended."""
KEPT, KEPT_SECONDS = 20, 3600
"""Maximum number and age of reports."""
ERROR = "vqa-mc: "
"""Beginning of the line that says why a command failed."""
SERVED = {"report.html": "text/html", "audit.json": "application/json", "badge.svg": "image/svg+xml"}
"""Files of an audit that are served, and their types."""


@dataclass
class Job:
    """An audit that a visitor asked for."""

    folder: Path
    dataset: str
    """name of a file in the folder, or of a dataset on the Hub"""
    config: str = ""
    state: str = "waiting"
    """or running, done, failed"""
    text: str = ""
    """the last finished step, or why it failed"""
    files: dict[str, bytes] = field(default_factory=dict)
    ended: float = 0.0


class Jobs:
    """The audits of a server; ``folder`` is for uploads and running audits."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock, self._worker = folder, Lock(), ThreadPoolExecutor(1)
        self._by_key: dict[str, Job] = {}
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def new(self, dataset: str, config: str = "") -> tuple[str, Job]:
        """A new job and its key; raises InputError if too many have not ended."""
        with self._lock:
            self._forget()
            if sum(not job.ended for job in self._by_key.values()) >= WAITING:
                raise InputError("too many audits are waiting; try again in some minutes")
            key = secrets.token_urlsafe(18)
            self._by_key[key] = Job(Path(tempfile.mkdtemp(dir=self._folder)), dataset, config)
            return key, self._by_key[key]

    def find(self, key: str) -> Job:
        """The job with a key; raises KeyError if there is none, or it was forgotten."""
        with self._lock:
            self._forget()
            return self._by_key[key]

    def _forget(self) -> None:
        """Drop old reports."""
        ended = sorted(((job.ended, key) for key, job in self._by_key.items() if job.ended), reverse=True)
        for number, (at, key) in enumerate(ended):
            if number >= KEPT or time.monotonic() - at > KEPT_SECONDS:
                del self._by_key[key]

    def start(self, job: Job) -> None:
        """Audit when all before it have ended."""
        self._worker.submit(self._run, job)

    def end(self, job: Job, state: str, text: str = "") -> None:
        """Keep what is shown of a job, and remove everything else."""
        job.state, job.text, job.ended = state, text, time.monotonic()
        rmtree(job.folder, ignore_errors=True)

    def close(self) -> None:
        """End the running audit; the others are not started."""
        self._closed = True
        self._worker.shutdown(wait=False, cancel_futures=True)
        _kill(self._process)
        self._worker.shutdown()

    def _run(self, job: Job) -> None:
        job.state = "running"
        try:
            if "/" in job.dataset:
                _check_size(job.dataset)
            code = self._audit(job)
            if code == 0:
                job.files = {name: (job.folder / "report" / name).read_bytes() for name in SERVED}
                self.end(job, "done")
            elif job.text.startswith(ERROR):
                self.end(job, "failed", job.text.removeprefix(ERROR))
            else:
                self.end(job, "failed", f"it took too long, or too much memory (last step: {job.text or 'none'})")
        except Exception as error:  # whatever it is, the next audit starts
            self.end(job, "failed", first_line(error))

    def _audit(self, job: Job) -> int:
        """Run the audit; its exit code."""
        options = ["--output=report", f"--limit={ROWS}", f"--time-limit={SECONDS}"]
        names = [job.dataset, *([job.config] if job.config else [])]
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "hf_vqa_mc", "audit", *options, "--", *names],
            cwd=job.folder,
            env=_environment(job.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as self._process:
            with suppress(OSError):  # without memory, the kernel ends the audit, not the server
                Path(f"/proc/{self._process.pid}/oom_score_adj").write_text("1000")
            timer = Timer(0 if self._closed else MOST_SECONDS, _kill, [self._process])
            timer.start()
            try:
                for line in self._process.stderr or ():
                    if line.strip() and "warning: " not in line and not job.text.startswith(ERROR):
                        job.text = line.strip()[:1000]
                return self._process.wait()
            finally:
                timer.cancel()
                _kill(self._process)


def _check_size(dataset: str) -> None:
    """Raise InputError if a repository on the Hub is private, missing or too large."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    name, _, revision = dataset.partition("@")
    try:
        info = HfApi(token=False).dataset_info(name, revision=revision or None, files_metadata=True)
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise InputError(f"{dataset}: no such public dataset or revision on the Hub (it answers {status})") from None
    except Exception as error:  # of httpx, or of another client
        raise InputError(f"the Hub cannot be reached ({first_line(error)}); try again later") from None
    size = sum(one.size or 0 for one in info.siblings or ()) / 10**6
    if size > HUB_MEGABYTES:
        raise InputError(f"{dataset} has {size:,.0f} MB; at most {HUB_MEGABYTES:,} are read here")


def _environment(folder: Path) -> dict[str, str]:
    """That of an audit: without tokens, and with all caches in its folder."""
    kept = {name: value for name, value in os.environ.items() if "TOKEN" not in name and "KEY" not in name}
    return {**kept, "HF_HOME": str(folder / ".hub"), "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "TMPDIR": str(folder)}


def _kill(process: "subprocess.Popen[str] | None") -> None:
    """End a process and all that it started, unless it has ended."""
    if process is not None and process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
