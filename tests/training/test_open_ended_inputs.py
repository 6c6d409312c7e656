"""Open-ended models that count, read captions or vectors of questions, or take layers of other models."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.hub.model_card import model_card, read_record
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.scoring.gqa import gqa_score
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predictions import Predictions, cell_boxes
from hf_vqa_mc.training.questions import Examples
from hf_vqa_mc.training.settings import TrainingSettings
from tests.extraction import tiny_models
from tests.scoring.test_gqa import question as gqa_question
from tests.training import toy_dataset


@pytest.fixture(scope="session")
def captions(toy, tmp_path_factory):
    """COCO captions that name the colour of each image, and others that do not."""
    path = tmp_path_factory.mktemp("captions") / "captions.json"
    paths = sorted((toy / toy_dataset.CONFIG).glob("*.parquet"))
    images = {image for file in paths for image in pq.read_table(file)["image_id"].to_pylist()}
    records = [
        {"id": number, "image_id": image, "caption": text}
        for number, (image, text) in enumerate(
            (image, text)
            for image in sorted(images)
            for text in (f"A {toy_dataset.colour_of(image)} picture.", "Another one.")
        )
    ]
    path.write_text(json.dumps({"info": {}, "annotations": records}))
    return path


def run(toy, output, model, **changes):
    given = {"epochs": 8, "batch_size": 20, "optimizer": "adam", **changes}
    return train(TrainingSettings(str(toy), toy_dataset.CONFIG, output=output, model=model, **given))


def test_a_prior_is_fitted_without_steps_and_can_be_resumed_and_predicted_with(toy, tmp_path):
    record = run(toy, tmp_path / "run", "popular-answer").record
    assert record["steps"] == 0
    assert record["finished"]
    assert record["results"]["test"]["accuracy"] == 0.5  # every second question has the same answer
    assert vm.predict(tmp_path / "run" / "best", str(toy), toy_dataset.CONFIG).results == record["results"]["test"]
    again = vm.train(
        str(toy), toy_dataset.CONFIG, output=tmp_path / "run", model="popular-answer", epochs=8, batch_size=20,
        optimizer="adam",
    )  # fmt: skip
    assert again.record["results"] == record["results"]


def test_the_nearest_image_among_the_nearest_questions_answers(toy, toy_features, tmp_path):
    without = run(toy, tmp_path / "without", "nearest-question").record["results"]["test"]["accuracy"]
    with_images = run(toy, tmp_path / "with", "nearest-neighbour", features=toy_features).record
    assert without < 0.75
    assert with_images["results"]["test"]["accuracy"] > 0.95
    found = vm.predict(tmp_path / "with" / "best", str(toy), toy_dataset.CONFIG, features=toy_features)
    assert found.results == with_images["results"]["test"]


def test_groups_come_from_a_column_that_the_dataset_must_have(toy, tmp_path):
    with pytest.raises(InputError, match="no column 'groups', by which the model groups questions"):
        run(toy, tmp_path / "run", "local-prior")


@pytest.mark.slow
def test_a_caption_tells_what_the_image_shows(toy, captions, tmp_path):
    result = run(toy, tmp_path / "run", "caption", captions=captions)
    both = run(toy, tmp_path / "q", "bow-q").model_folder, result.model_folder
    layers = tuple(map(str, both))
    joined = run(toy, tmp_path / "q-c", "concat-q-c", captions=captions, first_layers=layers)
    assert joined.record["results"]["test"]["accuracy"] > 0.95 > result.record["results"]["test"]["accuracy"]
    model, _ = load_checkpoint(joined.model_folder)
    for folder, name in zip(both, ("question", "caption"), strict=True):
        part, _ = load_checkpoint(folder)
        assert (model.first[name].weight == part.layers[0].weight).all()  # the first layers were not trained
    found = vm.predict(joined.model_folder, str(toy), toy_dataset.CONFIG, captions=captions)
    assert found.results == joined.record["results"]["test"]


def test_vectors_of_questions_are_averages(toy, tmp_path):
    result = run(toy, tmp_path / "run", "linear-q", word_vectors="corpus", learning_rate=0.03)
    assert result.record["results"]["test"]["accuracy"] == pytest.approx(0.625, abs=0.13)  # 0.5 and chance
    assert result.record["word_vectors"] is not None
    found = vm.predict(result.model_folder, str(toy), toy_dataset.CONFIG)
    assert found.results == result.record["results"]["test"]


def test_a_run_is_not_resumed_with_other_captions_but_with_the_same_in_another_file(toy, captions, tmp_path):
    path, moved = tmp_path / "captions.json", tmp_path / "moved.json"
    path.write_text(captions.read_text())
    before = run(toy, tmp_path / "run", "caption", captions=path, epochs=1).record
    path.rename(moved)
    assert run(toy, tmp_path / "run", "caption", captions=moved, epochs=1).record["results"] == before["results"]
    moved.write_text(captions.read_text().replace("picture", "drawing"))
    with pytest.raises(InputError, match="is a run whose captions_sha256 is"):
        run(toy, tmp_path / "run", "caption", captions=moved, epochs=1)


def test_word_vectors_initialise_an_lstm(toy, vectors, tmp_path):
    given = {"model_settings": {"lstm_size": 4, "word_size": toy_dataset.DIM}, "learning_rate": 1e-9, "epochs": 1}
    found, _ = load_checkpoint(run(toy, tmp_path / "run", "lstm-q", word_vectors=str(vectors), **given).model_folder)
    rows = dict(line.rstrip().split(" ", 1) for line in vectors.read_text().splitlines() if line.count(" ") > 1)
    _, processor = load_checkpoint(tmp_path / "run" / "best")
    word = next(one for one in processor.texts.words.words if one in rows)
    at = processor.texts.words.words.index(word) + 2
    assert found.words.weight[at].tolist() == pytest.approx([float(one) for one in rows[word].split()], abs=1e-5)
    with pytest.raises(InputError, match=f"or set --model-settings word_size={toy_dataset.DIM}"):
        run(toy, tmp_path / "other", "lstm-q", word_vectors=str(vectors))


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("hiecoatt-answers", {"level_size": 4}, "has 8 dimensions, the model's words 4; use vectors of that size"),
        ("deeper-lstm-q", {}, "has 8 dimensions, the model's words 200; use vectors of that size"),
        ("nmn", {"reads_question": False}, "with these --model-settings the model reads no words; remove it"),
    ],
)
def test_word_vectors_that_a_model_cannot_take_are_named(toy, vectors, tmp_path, model, changes, message):
    more = {} if model == "deeper-lstm-q" else {"features": toy_dataset.features(toy, tmp_path / "grid", grid=1)}
    with pytest.raises(InputError, match=message):
        run(toy, tmp_path / "run", model, word_vectors=str(vectors), model_settings=changes, **more)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("caption", {}, "caption needs --captions FILE"),
        ("bow-q", {"captions": "here.json"}, "--captions: bow-q does not use it; remove it"),
        ("linear-q", {}, "linear-q reads vectors of questions: add --word-vectors FILE"),
        ("concat-q-i", {}, "concat-q-i needs --first-layers CHECKPOINT of each of bow-q, image"),
        ("popular-answer", {"init_from": "x"}, "--init-from: popular-answer does not use it; remove it"),
        ("popular-answer", {"targets": "soft"}, "--targets: popular-answer does not use it; remove it"),
        ("lstm-q", {"init_from": "x", "word_vectors": "corpus"}, "--word-vectors: --init-from x has its own; remove"),
        ("mlp-qa", {"first_layers": ("x",)}, "--first-layers: mlp-qa does not use it"),
    ],
)
def test_options_that_a_model_lacks_or_does_not_use_are_named(toy, toy_features, tmp_path, model, changes, message):
    features = {"features": toy_features} if model == "concat-q-i" else {}
    with pytest.raises(InputError, match=message):
        run(toy, tmp_path / "run", model, **features, **changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"annotations": [{"image_id": 1}]}, r"annotations\[0\], field 'caption': it is missing"),
        ({"annotations": []}, "questions have no caption in"),
        ({"images": []}, "expected a field 'annotations'"),
        ({"annotations": [{"image_id": 1, "caption": "a"}]}, "questions have no caption in"),
    ],
)
def test_files_without_captions_are_refused(toy, tmp_path, content, message):
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        run(toy, tmp_path / "run", "caption", captions=path)


def test_first_layers_must_be_of_each_input_and_of_one_size(toy, captions, tmp_path):
    parts = {
        name: str(run(toy, tmp_path / name, name, epochs=0.1).model_folder) for name in ("bow-q", "popular-answer")
    }
    small = run(
        toy, tmp_path / "small", "caption", captions=captions, epochs=0.1, model_settings={"hidden_sizes": [7]}
    )
    for layers, message in (
        ((parts["popular-answer"],), "is not a checkpoint of bow-q, caption"),
        ((parts["bow-q"], parts["bow-q"]), "is not a checkpoint of caption"),
        ((parts["bow-q"],), "--first-layers: no checkpoint of caption; add it"),
        ((parts["bow-q"], str(small.model_folder)), "has a first layer of 7 units with tanh; expected 1000"),
    ):
        with pytest.raises(InputError, match=message):
            run(toy, tmp_path / "run", "concat-q-c", captions=captions, first_layers=layers)


@pytest.fixture(scope="session")
def toy_grid(toy, tmp_path_factory):
    return toy_dataset.features(toy, tmp_path_factory.mktemp("grid") / "vqa_mc_features", grid=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "least"),
    [
        ("mac", {"size": 32, "steps": 2}, 0.95),
        # linear in the colours, of which one lies between others
        ("mcb-a", {"lstm_size": 16, "sketch_size": 512, "attention_size": 16, "fixed_word_size": 3}, 0.85),
        ("bottom-up", {"size": 32}, 0.95),
        pytest.param(
            *("hiecoatt-answers", {"level_size": 32, "joint_size": 32, "encoder_dropout": 0.1}, 0.95),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_models_that_attend_to_a_grid_answer_what_the_image_shows(toy, toy_grid, tmp_path, name, settings, least):
    given = {"features": toy_grid, "model_settings": settings, "learning_rate": 0.003, "epochs": 15}
    result = run(toy, tmp_path / "run", name, **given)
    assert result.record["results"]["test"]["accuracy"] > least  # 0.6 without the image
    maps = tmp_path / "maps.json"
    found = vm.predict(result.model_folder, str(toy), toy_dataset.CONFIG, features=toy_grid, attentions=maps)
    assert found.results == result.record["results"]["test"]
    written = json.loads(maps.read_text())
    assert [one["questionId"] for one in written] == found.to_pandas()["question_id"].tolist()
    for one in written:
        assert [len(line) for line in one["attention"]] == [2, 2]
        assert sum(map(sum, one["attention"])) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("cell", "score"), [(1, 100), (2, 0)])
def test_the_scorer_finds_attention_to_the_cell_at_the_top_right_there(tmp_path, cell, score):
    no_choices = np.empty((1, 0), np.int64)
    of_row = (["q"], ["n"], np.array([0]), ["red"], [["red"]], no_choices, no_choices, np.array([-1]))
    questions = Examples("toy", *of_row, open_ended=True)
    attention = np.zeros(4, np.float32)
    attention[cell] = 1.0
    found = Predictions(questions, None, None, ["red"], {"red"}, [attention.reshape(2, 2).T])
    found.write_attentions(tmp_path / "maps.json", overwrite=False)
    top_right = {"x": 50, "y": 0, "w": 50, "h": 50}
    record = {
        "isBalanced": True,
        "imageId": "n",
        "question": "What color is it?",
        "answer": "red",
        "types": {"structural": "query", "semantic": "attr", "detailed": "colorQuery"},
        "groups": {"global": "color"},
        "semantic": [],
        "annotations": {"question": {"0": "a"}, "fullAnswer": {}},
    }
    graphs = {"n": {"width": 100, "height": 100, "objects": {"a": top_right}}}
    maps = json.loads((tmp_path / "maps.json").read_text())
    scores = gqa_score({"q": "red"}, {"q": record}, attentions=maps, scene_graphs=graphs, consistency=False)
    assert scores["grounding"] == score


@pytest.fixture(scope="session")
def toy_regions(toy, tmp_path_factory):
    """Of each image a region of its colour on the left, and one to three others on the right without its colour."""
    from hf_vqa_mc.data.dataset_images import dataset_images
    from tests.extraction.region_layouts import tsv

    folder, records = tmp_path_factory.mktemp("regions"), {}
    image_ids = dataset_images(str(toy), toy_dataset.CONFIG).image_ids
    for image_id in image_ids:
        rng = np.random.default_rng(int(image_id))
        features = rng.normal(0, 0.1, (int(rng.integers(2, 5)), 6))
        features[:, 5] += 1
        features[0] = np.append(np.array(toy_dataset.COLOURS[toy_dataset.colour_of(image_id)]) / 128 - 1, [1, 1, 0])
        boxes = np.array([[0, 0, 20, 20], *[[20, 0, 40, 20]] * (len(features) - 1)], np.float32)
        records[image_id] = features.astype(np.float32), boxes
    path = tsv(folder, records)
    return vm.features(str(toy), toy_dataset.CONFIG, regions=path, output=folder / "store").folder


@pytest.mark.slow
def test_bottom_up_attends_to_the_region_that_answers(toy, toy_regions, tmp_path):
    given = {"features": toy_regions, "model_settings": {"size": 32}, "learning_rate": 0.003, "epochs": 15}
    result = run(toy, tmp_path / "run", "bottom-up", **given)
    assert result.record["results"]["test"]["accuracy"] > 0.95  # 0.6 without the image
    maps = tmp_path / "maps.json"
    found = vm.predict(result.model_folder, str(toy), toy_dataset.CONFIG, features=toy_regions, attentions=maps)
    assert found.results == result.record["results"]["test"]
    written = {one["questionId"]: np.array(one["attention"]) for one in json.loads(maps.read_text())}
    colour = [of for name, of in written.items() if name.endswith("-0")]
    assert all(of.shape[1] == 5 and of[:, 4].sum() == pytest.approx(1, abs=1e-4) for of in colour)
    assert np.mean([of[of[:, 2] <= 0.5, 4].sum() for of in colour]) > 0.7  # the region on the left
    card = model_card(read_record(result.model_folder), "some/name")
    assert "regions with 6 dimensions each" in " ".join(card.split())


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mac", {"size": 16, "steps": 2}),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                ("nmn", {"size": 16, "lstm_size": 16}),
                ("rau", {"size": 16, "lstm_size": 16, "attention_size": 16}),
                ("hiecoatt-answers", {"level_size": 16, "joint_size": 16}),
                ("mcb-a", {"lstm_size": 16, "sketch_size": 64, "attention_size": 16, "fixed_word_size": 3}),
            )
        ),
    ],
)
def test_models_with_attention_take_regions(toy, toy_regions, tmp_path, name, sizes):
    result = run(toy, tmp_path / "run", name, features=toy_regions, model_settings=sizes, epochs=0.3)
    maps = tmp_path / "maps.json"
    found = vm.predict(result.model_folder, str(toy), toy_dataset.CONFIG, features=toy_regions, attentions=maps)
    assert found.results == result.record["results"]["test"]
    for one in json.loads(maps.read_text()):
        assert np.sum(one["attention"], axis=0)[4] == pytest.approx(1, abs=1e-4)


def test_a_model_of_the_whole_image_rejects_regions(toy, toy_regions, tmp_path):
    with pytest.raises(InputError, match=r"has regions per image, bow-q-i takes one vector; create these with"):
        run(toy, tmp_path / "run", "bow-q-i", features=toy_regions)


@pytest.mark.slow
def test_bottom_up_learns_from_the_regions_of_a_detector(toy, tmp_path):
    """With random weights, whose features depend on the colour nevertheless."""
    pictures = toy_dataset.draw(tmp_path / "pictures", sum(toy_dataset.IMAGES.values()))
    detector = str(tiny_models.detr(tmp_path / "tiny-detr"))
    given = {"images": pictures, "detector": detector, "output": tmp_path / "store"}
    features = vm.features(str(toy), toy_dataset.CONFIG, **given).folder
    settings = {"features": features, "model_settings": {"size": 32}, "learning_rate": 0.003, "epochs": 10}
    result = run(toy, tmp_path / "run", "bottom-up", **settings)
    assert result.record["results"]["test"]["accuracy"] > 0.8  # 0.6 without the image
    maps = tmp_path / "maps.json"
    found = vm.predict(result.model_folder, str(toy), toy_dataset.CONFIG, features=features, attentions=maps)
    assert found.results == result.record["results"]["test"]
    (first, *_) = json.loads(maps.read_text())
    assert np.sum(first["attention"], axis=0)[4] == pytest.approx(1, abs=1e-4)

    stored = ImageFeatures(features).tensors(["0003", "0007"])
    _, processor = load_checkpoint(result.model_folder)
    processor = processor.with_options(backbone=detector)
    for name, made in processor.image_tensors([pictures / "0003.png", pictures / "0007.png"], 2).items():
        np.testing.assert_allclose(made, stored[name], atol=1e-4)
    from transformers import pipeline

    answer = pipeline("open-ended-vqa", model=str(result.model_folder), backbone=detector)
    image_ids = [f"{number:04d}" for number in range(200, 260)]
    counts = {len(one.boxes) for one in ImageFeatures(features).regions(image_ids)}
    assert len(counts) > 1
    asked = [{"image": pictures / f"{image_id}.png", "question": "What colour is it?"} for image_id in image_ids]
    by_id = dict(zip(found.found.questions.question_ids, found.found.texts, strict=True))
    answers = [one["answer"] for (one,) in answer(asked, top_k=1, batch_size=8)]
    assert answers == [by_id[f"test-{image_id}-0"] for image_id in image_ids]


@pytest.mark.slow
def test_a_pipeline_cannot_compute_imported_regions(toy, toy_regions, tmp_path):
    folder = run(toy, tmp_path / "run", "bottom-up", features=toy_regions, epochs=0.1).model_folder
    with pytest.raises(InputError, match=r"add features DIR with those of .*-imported-regions, as in training"):
        vm.predict(folder, str(toy), toy_dataset.CONFIG)
    _, processor = load_checkpoint(folder)
    with pytest.raises(InputError, match="which are read from files; use vqa-mc predict"):
        processor.image_backbone()


def test_the_cells_of_a_crop_are_boxes_in_that_part_of_the_image():
    boxes = cell_boxes(2, np.array([0.25, 0.0, 0.75, 1.0]))
    edges = [[0.25, 0, 0.5, 0.5], [0.5, 0, 0.75, 0.5], [0.25, 0.5, 0.5, 1], [0.5, 0.5, 0.75, 1]]
    np.testing.assert_allclose(boxes, edges)
    np.testing.assert_allclose(cell_boxes(1, np.array([-0.1, 0.0, 1.1, 1.0])), [[0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("box", "share"), [([0.1, 0.2, 0.3, 0.4], 100), ([0.1, 0.2, 0.5, 0.4], 50), ([0.6, 0, 1, 1], 0)]
)
def test_attention_on_one_box_has_the_grounding_of_that_box(tmp_path, box, share):
    attended = np.array([[*box, 0.8], [0.5, 0.5, 1, 1, 0.2]], np.float32)
    questions = SimpleNamespace(question_ids=["1"])
    Predictions(questions, None, attention=[attended]).write_attentions(tmp_path / "maps.json", False)
    (written,) = json.loads((tmp_path / "maps.json").read_text())
    annotations = {"question": {"0": "a"}, "fullAnswer": {}, "answer": {}}
    graph = {"width": 70, "height": 140, "objects": {"a": {"x": 7, "y": 28, "w": 14, "h": 28}}}
    record = gqa_question(annotations=annotations)
    given = {"attentions": {"1": written["attention"]}, "scene_graphs": {"n1": graph}}
    assert gqa_score({"1": "lamp"}, {"1": record}, **given)["grounding"] == pytest.approx(0.8 * share, abs=1e-3)


@pytest.mark.slow
def test_attention_of_a_backbone_that_crops_is_to_boxes_inside_the_crop(toy, tmp_path):
    pictures = toy_dataset.draw(tmp_path / "pictures", sum(toy_dataset.IMAGES.values()))
    backbone = str(tiny_models.resnet(tmp_path / "tiny-resnet"))
    given = {"images": pictures, "backbone": backbone, "grid": 2}
    stored = vm.features(str(toy), toy_dataset.CONFIG, output=tmp_path / "store", **given)
    again = vm.features(str(toy), toy_dataset.CONFIG, output=tmp_path / "store", **given)
    assert (again.computed, again.views) == (0, stored.views)
    features = ImageFeatures(stored.folder)
    left, top, right, bottom = features.views(["0003"])[0]  # of 16 x 20 pixels
    np.testing.assert_allclose([left, top, right, bottom], [0.0625, 0.15, 0.9375, 0.85], atol=0.01)
    settings = {"features": features.folder, "model_settings": {"size": 8}, "epochs": 0.1}
    folder = run(toy, tmp_path / "run", "bottom-up", **settings).model_folder
    maps = tmp_path / "maps.json"
    vm.predict(folder, str(toy), toy_dataset.CONFIG, features=features.folder, attentions=maps)
    attention = np.array(json.loads(maps.read_text())[0]["attention"])
    np.testing.assert_allclose(
        [*attention[:, :2].min(0), *attention[:, 2:4].max(0)], [left, top, right, bottom], atol=1e-5
    )
    assert len(attention) == 4 and attention[:, 4].sum() == pytest.approx(1, abs=1e-4)


def test_only_models_with_a_grid_have_attention_maps(toy, tmp_path):
    folder = run(toy, tmp_path / "run", "bow-q", epochs=0.1).model_folder
    with pytest.raises(InputError, match="is not an open-ended model that attends to a grid or regions"):
        vm.predict(folder, str(toy), toy_dataset.CONFIG, attentions=tmp_path / "maps.json")


def test_word_vectors_that_mcb_does_not_train_stay_as_given(toy, toy_features, vectors, tmp_path):
    settings = {"lstm_size": 8, "sketch_size": 64, "fixed_word_size": toy_dataset.DIM}
    given = {"features": toy_features, "model_settings": settings, "word_vectors": str(vectors), "epochs": 1}
    model, processor = load_checkpoint(run(toy, tmp_path / "run", "mcb", **given).model_folder)
    rows = dict(line.rstrip().split(" ", 1) for line in vectors.read_text().splitlines() if line.count(" ") > 1)
    for at, word in enumerate(processor.texts.words.words, 2):
        expected = [float(one) for one in rows[word].split()] if word in rows else [0.0] * toy_dataset.DIM
        assert model.fixed_words.weight[at].tolist() == pytest.approx(expected, abs=1e-6)
