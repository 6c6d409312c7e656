"""VQA2: VQA with each question asked of two similar images that call for different answers; no choices."""

from dataclasses import replace
from functools import partial

from hf_vqa_mc.sources import vqa
from hf_vqa_mc.sources.files import RemoteFile
from hf_vqa_mc.sources.source import Source
from hf_vqa_mc.sources.vqa2_pairs import VQA2_PAIRS

PREFIX = "v2_"
TASKS = ("OpenEnded",)  # there are no multiple-choice files of VQA2

VQA2 = Source(
    name="vqa2",
    title="VQA v2 (balanced real images)",
    description="VQA balanced: most questions are asked of two similar images and have different answers, ten by as "
    "many people each; no choices are published.",
    homepage="https://visualqa.org/download.html",
    licence="CC-BY-4.0",
    citation="""@inproceedings{goyal2017making,
  title={Making the {V} in {VQA} Matter: Elevating the Role of Image Understanding in Visual Question Answering},
  author={Goyal, Yash and Khot, Tejas and Summers-Stay, Douglas and Batra, Dhruv and Parikh, Devi},
  booktitle={Proceedings of the IEEE Conference on Computer Vision and Pattern Recognition},
  pages={6904--6913},
  year={2017}
}""",
    read=partial(vqa.read, prefix=PREFIX, tasks=TASKS),
    image_numbering="COCO",
    image_hint=vqa.COCO_IMAGES,
    expected_counts={"train": 443_757, "validation": 214_354},
    downloads=(
        RemoteFile(
            url=f"{vqa.BASE}v2_Questions_Train_mscoco.zip",
            holds=("v2_OpenEnded_mscoco_train2014_questions.json",),
            sha256="05a64b6e2582d06d7585f5429674a9a33851878be1bff9f8668cdcf792df611e",
            size=7_239_401,
        ),
        RemoteFile(
            url=f"{vqa.BASE}v2_Questions_Val_mscoco.zip",
            holds=("v2_OpenEnded_mscoco_val2014_questions.json",),
            sha256="e71f6c5c3e97a51d050f28243e262b28cd0c48d11a6b4632d769d30d3f93222a",
            size=3_494_929,
        ),
        RemoteFile(
            url=f"{vqa.BASE}v2_Annotations_Train_mscoco.zip",
            holds=("v2_mscoco_train2014_annotations.json",),
            sha256="fb101bcefe91422c543c2bb6d70af11eb3119d0ff745ae283d09acdf66250853",
            size=21_708_861,
        ),
        RemoteFile(
            url=f"{vqa.BASE}v2_Annotations_Val_mscoco.zip",
            holds=("v2_mscoco_val2014_annotations.json",),
            sha256="0caae7c8d1dafd852727f5ac046bc1efca9b72026bd6ffa34fc489f3a7b3291e",
            size=10_518_930,
        ),
        RemoteFile(
            url=f"{vqa.BASE}v2_Complementary_Pairs_Train_mscoco.zip",
            holds=("v2_mscoco_train2014_complementary_pairs.json",),
        ),
        RemoteFile(
            url=f"{vqa.BASE}v2_Complementary_Pairs_Val_mscoco.zip",
            holds=("v2_mscoco_val2014_complementary_pairs.json",),
        ),
    ),
    consensus=True,
    open_ended=(VQA2_PAIRS,),
    scored_as_published=True,
)

VQA2_MINUS = replace(
    VQA2,
    name="vqa2_minus",
    title="VQA2⁻ (VQA v2 without yes and no)",
    description=f"{VQA2.description} Questions whose answer is yes or no are left out.",
    read=partial(vqa.read_minus, prefix=PREFIX, tasks=TASKS),
    open_ended=(),  # its pairs are VQA2's
    expected_counts={"validation": 134_813},  # Chao et al. 2018, Table 10
)
