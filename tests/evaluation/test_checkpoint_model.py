"""Checkpoints of vqa-mc train: they score as in training, and without the image as with features of zeros."""

from pathlib import Path

import numpy as np
import pytest

import hf_vqa_mc as vm
from tests.evaluation import worlds

CONFIG = {"epochs": 25, "batch_size": 12, "optimizer": "adam", "learning_rate": 0.01}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A dataset folder whose answer is the image's color, with features."""
    from datasets import Features, Image, List, Value

    folder = tmp_path_factory.mktemp("made")
    frame = worlds.benchmark(48)
    features = {name: Value("string") for name in ("question_id", "image_id", "question", "question_type")}
    features |= {"image": Image(), "choices": List(Value("string")), "label": Value("int64")}
    import datasets

    rows = datasets.Dataset.from_pandas(frame, features=Features(features), preserve_index=False)
    rows = rows.add_column(
        "answer", [choices[label] for choices, label in zip(frame.choices, frame.label, strict=True)]
    )
    (folder / "made").mkdir()
    for split in ("train", "validation", "test"):
        rows.to_parquet(folder / "made" / f"{split}-0.parquet")
    lines = [f"  - split: {split}\n    path: {split}-*.parquet" for split in ("train", "validation", "test")]
    head = "\n".join(["---", "configs:", "- config_name: colors", "  data_files:", *lines, "---", ""])
    (folder / "made" / "README.md").write_text(head)
    made = vm.features(str(folder / "made"), "colors", backbone="pixels", output=folder / "features")
    return folder, frame, made.folder


@pytest.mark.parametrize(
    ("model", "settings"), [("mlp-iqa", {"hidden_size": 32}), pytest.param("bow-q-i", {}, marks=pytest.mark.slow)]
)
def test_what_it_saw_in_training_is_gone_without_the_image(made, tmp_path, model, settings):
    folder, _, features = made
    given = {"word_vectors": "corpus"} if model == "mlp-iqa" else {}
    run = vm.train(
        str(folder / "made"), "colors", model=model, features=features, output=tmp_path / "run",
        model_settings=settings, **CONFIG, **given,
    )  # fmt: skip
    inputs = ["full", "no-image", "no-question", "choices-only"]
    result = vm.evaluate(str(folder / "made"), "colors", model=run.model_folder, inputs=inputs)
    found = result.to_pandas().set_index("input").accuracy
    assert found["full"] == run.record["results"]["test"]["accuracy"] > 0.9
    assert found["no-image"] < 0.6 and found["choices-only"] < 0.6
    assert result.evaluation.run["method"] == "scores"


@pytest.fixture
def word_file(tmp_path):
    path = tmp_path / "vectors.txt"
    words = "what color is the shape red green blue yellow".split()
    path.write_text("".join(f"{word} {at} 1 {at % 3}\n" for at, word in enumerate(words)))
    return path


def test_words_that_were_not_in_training_are_skipped_with_a_warning_or_need_their_file(made, tmp_path, word_file):
    folder, frame, features = made
    other = frame.assign(question=[f"unseen {text}" for text in frame.question])
    for vectors in ("corpus", str(word_file)):
        run = vm.train(
            str(folder / "made"), "colors", model="mlp-iqa", features=features, output=tmp_path / Path(vectors).stem,
            model_settings={"hidden_size": 32}, word_vectors=vectors, **CONFIG | {"epochs": 1},
        )  # fmt: skip
        if vectors == "corpus":
            with pytest.warns(UserWarning, match="1 words .* were skipped: 'unseen'"):
                assert len(vm.evaluate(other, model=run.model_folder, inputs=["full"]).per_question) == 48
        else:
            with pytest.raises(vm.InputError, match=r"1 words .*'unseen'; give the file"):
                vm.evaluate(other, model=run.model_folder, output=tmp_path / "evaluated")
            assert not (tmp_path / "evaluated").exists()
            vm.evaluate(other, model=run.model_folder, inputs=["choices-only"])
            vm.evaluate(other, model=run.model_folder, inputs=["full"], word_vectors=str(word_file))


@pytest.mark.slow
def test_a_choice_outside_the_vocabulary_is_never_picked(made, tmp_path):
    folder, frame, features = made
    run = vm.train(
        str(folder / "made"), "colors", model="bow-q-i", features=features, output=tmp_path / "run", **CONFIG
    )
    changed = frame.assign(choices=[[*choices[:3], "unknown"] for choices in frame.choices])
    changed = changed[[label < 3 for label in changed.label]]
    result = vm.evaluate(changed, model=run.model_folder, inputs=["full"])
    picked = result.per_question["full_picked"]
    assert set(picked) <= {0, 1, 2}
    assert np.mean(result.per_question["full_score"]) > 0.9
