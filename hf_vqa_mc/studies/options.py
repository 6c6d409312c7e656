"""The options of a new study."""

from pathlib import Path

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, SEED, option, settings
from hf_vqa_mc.studies import STUDIES

PER_PAGE = 20  # questions per page (Chao et al. 2018, supplement: a worker was paid for every 20)
SAMPLE = 1000  # questions of a study (Chao et al. 2018, Sect. 5.2)


@settings
class StudyOptions(BenchmarkOptions):
    """Make a study of a benchmark: one file with sampled questions, their images and, later, people's answers.

    An attention check asks for a certain answer; it shows who does not read. The file contains the correct answers and
    the annotators' links: keep it private.
    """

    kind: str = option(f"Kind of study: {', '.join(STUDIES)}.")
    output: Path = option(
        "File of the study.",
        default=Path("study.sqlite"),
        check=("a file name", lambda path: path.name),
    )
    sample: int = option("Number of random questions.", default=SAMPLE, check=AT_LEAST_ONE)
    seed: int = option("Random seed.", default=0, check=SEED)
    conditions: tuple[str, ...] = option(
        "Conditions, such as full,no-image; by default all of the kind. Nobody sees a question in two of them.",
        default=(),
        separator=",",
    )
    annotators: int | None = option(
        "Annotators per question and condition; by default as in the paper.",
        default=None,
        check=AT_LEAST_ONE,
    )
    per_page: int = option("Questions per page.", default=PER_PAGE, check=AT_LEAST_ONE, panel=ADVANCED)
    controls: int = option(
        "Attention checks per page, included in its questions.",
        default=1,
        check=("0 or more", lambda count: count >= 0),
        panel=ADVANCED,
    )
    captions: tuple[Path, ...] = option(
        "COCO's captions_*.json, for conditions that show a caption; may be repeated.", default=()
    )
    candidates: Path | None = option(
        "Images to pick from. picker: file of vqa-mc generate complementary for DATASET; picked-answers: picks.jsonl "
        "of the results of picker.",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        STUDIES.find(self.kind)
        if self.per_page <= self.controls:
            raise InputError(f"--controls {self.controls}: expected fewer than --per-page {self.per_page}")
