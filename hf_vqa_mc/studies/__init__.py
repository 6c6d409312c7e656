"""Human studies: people answer questions of a benchmark on a web page, and their answers become results.

``store`` keeps a study in one file, ``web`` shows it, the other modules declare the kinds of study.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.studies.kind import StudyKind

STUDIES: "Listing[StudyKind]" = Listing(
    "kind of study",
    lazy={
        "ambiguity": "hf_vqa_mc.studies.choosing:AMBIGUITY",
        "conditions": "hf_vqa_mc.studies.choosing:CONDITIONS",
        "answers": "hf_vqa_mc.studies.writing:ANSWERS",
        "majority": "hf_vqa_mc.studies.writing:MAJORITY",
        "requirements": "hf_vqa_mc.studies.choosing:REQUIREMENTS",
        "picker": "hf_vqa_mc.studies.complementary:PICKER",
        "picked-answers": "hf_vqa_mc.studies.complementary:PICKED_ANSWERS",
    },
)
