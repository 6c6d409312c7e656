"""The papers' MLPs, trained on a benchmark's own rows, find what is planted and leave nothing behind."""

import numpy as np
import pytest

from hf_vqa_mc.audits.shortcut import ProbeInputs
from tests.audits.planted import MLPS, context_of, planted, ran


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


@pytest.mark.slow
def test_what_sees_the_image_finds_its_cue_and_nothing_is_left_behind(word_file, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    train, train_vectors, _ = planted("image cue", 1.0, 600, 0)
    table, vectors, truth = planted("image cue", 1.0, 150, 1)
    both = np.concatenate([vectors, train_vectors])
    found, _ = ran(context_of(table, train, vectors=both, mlps=True, word_vectors=word_file), MLPS)
    by_sight = {shortcut.sees: shortcut for shortcut in found.values()}
    assert list(by_sight) == list(ProbeInputs)
    assert by_sight[ProbeInputs.IMAGE].scores.mean() > 0.25 + 0.7 * truth
    assert by_sight[ProbeInputs.CHOICES].scores.mean() < 0.25 + 0.3 * truth
    for shortcut in found.values():
        np.testing.assert_allclose(shortcut.probabilities.sum(axis=1), 1)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("torchinductor")] == []  # torch's own


@pytest.mark.slow
def test_without_training_split_and_images_they_are_trained_on_the_other_folds(word_file, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.audits.probes.models.EPOCHS", 1.0)
    table, _, _ = planted("question cue", 1.0, 300, 0)
    found, _ = ran(context_of(table, mlps=True, word_vectors=word_file, probe_rows=200), MLPS)
    assert list(found) == ["mlp-a: choices alone", "mlp-qa: question and choices"]
    assert {shortcut.folds for shortcut in found.values()} == {5}


def test_one_epoch_on_a_training_split_gives_chances(word_file, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.audits.probes.models.EPOCHS", 1.0)
    train, table = planted("question cue", 1.0, 100, 0)[0], planted("question cue", 1.0, 30, 1)[0]
    found, _ = ran(context_of(table, train, mlps=True, word_vectors=word_file), MLPS[:1])
    np.testing.assert_allclose(found["mlp-a: choices alone"].probabilities.sum(axis=1), 1)
