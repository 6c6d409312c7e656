"""The papers' MLPs, trained on a benchmark's own rows, find what is planted and leave nothing behind."""

import time

import numpy as np
import pytest

from hf_vqa_mc.audits import number_rows
from hf_vqa_mc.audits.folds import folds_of
from hf_vqa_mc.audits.mlp_probes import mlp_probes
from hf_vqa_mc.audits.probed import NotRun
from tests.audits.planted import planted, split_of


@pytest.fixture(scope="module")
def word_file(tmp_path_factory):
    """Vectors in which every word is a dimension of its own."""
    from hf_vqa_mc.text.normalisation import words

    table, _, _ = planted("image cue", 1.0, 600, 0)
    texts = {*table["question"].to_pylist(), *(text for row in table["choices"].to_pylist() for text in row)}
    known = sorted({word for text in texts for word in words(text)})
    lines = [f"{word} {' '.join(str(int(word == other)) for other in known)}" for word in known]
    path = tmp_path_factory.mktemp("words") / "words.txt"
    path.write_text("\n".join([f"{len(known)} {len(known)}", *lines, ""]), "utf-8")
    return str(path)


def test_who_sees_the_image_finds_its_cue_and_nothing_is_left_behind(word_file, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    train, train_vectors, _ = planted("image cue", 1.0, 600, 0)
    table, vectors, truth = planted("image cue", 1.0, 150, 1)
    rows = number_rows({"train": train, "test": table})
    found = {
        probe.shortcut.knows: probe
        for probe in mlp_probes(
            split_of(table),
            rows["test"],
            np.zeros(150, np.int8),
            split_of(train, "train"),
            (vectors, train_vectors),
            word_vectors=word_file,
            most_rows=5000,
        )
    }
    assert list(found) == ["choices", "question", "image", "everything"]
    assert found["image"].shortcut.scores.mean() > 0.25 + 0.7 * truth
    assert found["choices"].shortcut.scores.mean() < 0.25 + 0.3 * truth
    for probe in found.values():
        np.testing.assert_allclose(probe.chances.sum(axis=1), 1)
    assert list(tmp_path.iterdir()) == []


def test_without_training_split_and_images_the_other_folds_are_learnt_from(word_file):
    table, _, _ = planted("question cue", 1.0, 300, 0)
    split = split_of(table)
    told = []
    found = list(
        mlp_probes(
            split,
            number_rows({"test": table})["test"],
            folds_of(split),
            None,
            word_vectors=word_file,
            most_rows=200,
            epochs=1,
            progress=lambda *step: told.append(step),
        )
    )
    assert [probe.shortcut.name for probe in found] == ["mlp-a: choices alone", "mlp-qa: question and choices"]
    assert all(probe.shortcut.folds == 5 for probe in found)
    assert told[-1] == ("probes (MLPs)", 10, 10)


def test_what_there_was_no_time_for_is_told(word_file):
    table, _, _ = planted("question cue", 1.0, 50, 0)
    split, rows = split_of(table), number_rows({"test": table})["test"]
    over = time.monotonic() - 1
    found = list(mlp_probes(split, rows, folds_of(split), None, word_vectors=word_file, most_rows=9, deadline=over))
    assert [type(one) for one in found] == [NotRun, NotRun]
