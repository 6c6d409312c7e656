"""``hf_vqa_mc.study_serve`` and ``vqa-mc study serve``: the web pages of a study."""

import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import AT_LEAST_ONE, option, settings, verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of


@settings
class StudyServeSettings:
    """Serve a study to annotators until Ctrl-C; the same command resumes it.

    Every answer is on the disk before the page reports it as saved. On this computer only, unless --host is given; put
    a reverse proxy with HTTPS in front of it for the internet.
    """

    study: Path = option("File of vqa-mc study create.", kw_only=False)
    host: str = option("Address to listen on; 0.0.0.0 for all networks.", default="127.0.0.1")
    port: int = option(
        "Port to listen on; 0 for any free one.", default=7860, check=("0 to 65535", range(65536).__contains__)
    )
    url: str | None = option("Address by which annotators reach the server, for the printed links.", default=None)
    links: int | None = option(
        "Print this number of personal links, one per annotator. By default one link by which anyone can join.",
        default=None,
        check=AT_LEAST_ONE,
    )


@dataclass(frozen=True, eq=False, repr=False)
class StudyServeResult(Result):
    """The progress of a study."""

    progress: dict[str, tuple[int, int]]  #: answers so far and answers wanted, by condition

    def report(self) -> Report:
        """The answers of each condition."""
        yield from (f"{name}: {done:,} of {wanted:,} answers" for name, (done, wanted) in self.progress.items())

    def to_dict(self) -> dict[str, Any]:
        """The answers of each condition."""
        return {name: {"answers": done, "wanted": wanted} for name, (done, wanted) in self.progress.items()}

    def to_pandas(self) -> Frame:
        """One row per condition."""
        return frame_of([{"condition": name, **row} for name, row in self.to_dict().items()])


@verb(
    StudyServeSettings,
    "vqa-mc study serve study.sqlite",
    "vqa-mc study serve study.sqlite --host 0.0.0.0 --url https://study.example.org --links 20",
)
def study_serve(settings: StudyServeSettings, progress: Progress) -> StudyServeResult:
    """Serve a study.

    Returns:
        The progress of the study when the server ends.

    Raises:
        InputError: the file is not a study, or the port cannot be used.
    """
    from hf_vqa_mc.studies.store import Study
    from hf_vqa_mc.studies.web import Pages, Server

    with (
        closing(Study(settings.study)) as study,
        Server(Pages(study, joinable=not settings.links), settings.host, settings.port) as server,
    ):
        address = (settings.url or f"http://{settings.host}:{server.server_address[1]}").rstrip("/")
        paths = [f"join/{study.settings.join}"]
        if settings.links:
            paths = [f"a/{token}/" for token in study.tokens(settings.links)]
        sys.stdout.write("".join(f"{address}/{path}\n" for path in paths))
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
        return StudyServeResult(dict(study.progress()))
