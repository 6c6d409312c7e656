"""A decoy kind and a variant of another package work everywhere without further edits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import datasets
import numpy as np
import pytest
from numpy.typing import NDArray

import hf_vqa_mc as vm
from hf_vqa_mc.decoys import CHOICE_KINDS, VARIANTS, ChoiceKind, Method, Variant
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets, new_memory, try_targets
from hf_vqa_mc.errors import CountMismatch
from hf_vqa_mc.hub.model_card import model_card, read_record
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from tests.hub.checkpoints import RECORD, write_record
from tests.sources import fixtures


def take_longest(
    decoys: DecoyTable, pool: NDArray[np.int64], indexed: IndexedTriplets, progress: Callable[[int], None]
) -> None:
    """The longest targets of the pool."""
    texts, targets = indexed.candidates.texts, indexed.triplets.targets
    longest = np.array(sorted(pool.tolist(), key=lambda one: -len(texts[targets[one]])))
    tables = indexed.tables
    memory = new_memory(decoys, tables)
    for done, triplet in enumerate(pool.tolist(), 1):
        try_targets(decoys, triplet, longest, indexed.triplets, memory, 0, tables, len(longest))
        progress(done)


LONGEST = ChoiceKind(
    name="longest",
    label="longest",
    colour="#123456",
    dark_colour="#fedcba",
    definition="the longest correct answers of the dataset",
    caption="they are long",
    card="**Longest**: the longest correct answers of the dataset.",
    methods=(Method(name="longest", label="longest", take=take_longest, size="n_random"),),
)
VARIANT = Variant("iou_longest", ("iou", "longest"), "IoU decoys and the longest answers", "nowhere", remedies=True)


@pytest.fixture(scope="module", autouse=True)
def added() -> Iterator[None]:
    CHOICE_KINDS.add(LONGEST)
    VARIANTS.add(VARIANT)
    yield
    del VARIANTS[VARIANT.name]
    del CHOICE_KINDS[LONGEST.name]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    fixtures.write_cocoqa(folder / "cocoqa")
    with pytest.warns(CountMismatch):
        vm.build("cocoqa", data_dir=folder / "cocoqa", output=folder / "vqa_mc", variants=["iou_longest"])
    return folder / "vqa_mc"


CONFIG = "cocoqa_iou_longest"


def test_it_is_built_with_statistics_and_on_the_card(built: Path) -> None:
    rows = datasets.load_dataset(str(built), CONFIG, split="test")
    names = rows.features["choice_kinds"].feature.names
    assert names == ["target", "orig", "iou", "qou", "random", "set", "longest"]
    assert "longest" in {names[kind] for kinds in rows["choice_kinds"] for kind in kinds}
    card = (built / "README.md").read_text("utf-8")
    assert "- **Longest**: the longest correct answers of the dataset." in card
    assert "- `iou_longest`: the target and IoU decoys and the longest answers" in card
    assert "**longest**: " in card
    assert '"longest": {' in (built / "statistics.json").read_text("utf-8")


def test_a_preview_shows_it(built: Path) -> None:
    assert "longest decoys: they are long" in vm.preview(built, CONFIG, rows=5)._repr_html_()


def test_an_audit_reads_its_rows(built: Path) -> None:
    assert len(vm.audit(built, CONFIG).to_pandas())


@pytest.mark.slow
def test_a_remedy_makes_it_for_another_benchmark(untrained_report_probes: None) -> None:
    rng, colours = Random(1), ["red", "blue", "dark green", "white", "black", "light yellow"]
    table = [
        {"image": f"{row // 4}.jpg", "question": f"what is it {row % 7}?", "choices": (c := rng.sample(colours, 3))}
        | {"answer": rng.choice(c)}
        for row in range(60)
    ]
    made = vm.remedy(datasets.Dataset.from_list(table), variant="iou_longest", label="answer")
    kinds = {kind for split in made.dataset.values() for kinds in split["choice_kinds"] for kind in kinds}
    assert kinds == {"target", "iou", "longest"}
    assert "IoU decoys and the longest answers" in repr(made)


def test_scores_and_model_cards_name_it(tmp_path: Path) -> None:
    found = mc_accuracy([0], [1], choices=[["a", "b"]], choice_kinds=[[6, 0]])
    assert found["chosen_kinds"]["longest"] == 1.0
    test = {**RECORD["results"]["test"], "chosen_kinds": {"target": 0.5, "longest": 0.5}}
    record = write_record(tmp_path / "best", config=CONFIG, results={"test": test})
    card = model_card(read_record(record), "ada/mlp")
    assert "Longest decoys are" in card or "longest decoys are the longest correct answers of the dataset" in card
    assert "100.0% are longest decoys" in card
