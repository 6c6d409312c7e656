"""VQA's 18 candidates, compared with the paper's section 3 taken literally."""

import json
import lzma
from pathlib import Path

import numba
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.decoys.candidates import NumberedTexts
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.engines.vqa_candidates import read_plausible, vqa_candidates
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import check_triplets
from hf_vqa_mc.sources.table import text_lists, triplet_table
from hf_vqa_mc.text.normalisation import comparable
from tests.engines.vqa_candidates.literal_candidates import literal_candidates, made_triplets

POPULAR_IN_THE_PAPER = ["yes", "no", "2", "1", "white", "3", "red", "blue", "4", "green"]  # Sect. 3, real images
WORDS = ["is", "the", "a", "cat", "dog", "what", "color", "how", "many", "two", "2"]
TARGETS = ["yes", "no", "2", "two", "red", "Red.", "blue", "a cat", "on the mat", *"abcdefghijklmnop"]

questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.just("?!")
targets = st.sampled_from(TARGETS)
splits = st.sampled_from(["train", "validation"])
records = st.tuples(questions, targets, splits, st.lists(targets, min_size=1, max_size=10))


def decoys_of(triplets, **options):
    table, _ = vqa_candidates(triplets, **options)
    return table["orig_decoys"].to_pylist()


def varied(n=60):
    """Questions of four texts with many answers."""
    texts = ["what is this", "what color is the cat", "is it a dog", "how many cats"]
    return made_triplets([(texts[index % 4], f"answer {index * 7 % 41}") for index in range(n)])


@pytest.mark.parametrize("n_examples", [4, pytest.param(120, marks=pytest.mark.slow)])
def test_candidates_are_those_of_the_method_taken_literally(n_examples):
    @settings(max_examples=n_examples, deadline=None)
    @given(
        st.lists(records, min_size=1, max_size=40),
        st.sampled_from(["dataset", "split"]),
        st.dictionaries(st.integers(0, 39).map("q{}".format), st.lists(targets, max_size=5)),
        st.integers(0, 3),
    )
    def every(world, pool, plausible, seed):
        triplets = made_triplets(world)
        known = {name: texts for name, texts in plausible.items() if int(name[1:]) < len(world)}
        options = {"plausible": known, "pool": pool, "seed": seed}
        found, literal = decoys_of(triplets, **options), literal_candidates(triplets, **options)
        for mine, expected in zip(found, literal, strict=True):
            # where draws do not find all there is, the rest comes in an order of its own
            assert list(map(comparable, mine)) == list(map(comparable, expected)) or (
                sorted(map(comparable, mine)) == sorted(map(comparable, expected))
            )
            assert mine[:3] == expected[:3]

    every()


@pytest.mark.slow
def test_neighbours_are_exact_over_many_batches_of_real_questions(real_vqa):
    some = real_vqa.slice(0, 12_000)  # several segments of the trie
    positions = set(range(500, 12_000, 997))
    literal = literal_candidates(some, positions=positions)
    assert [decoys for index, decoys in enumerate(decoys_of(some)) if index in positions] == literal


@pytest.mark.slow
def test_every_question_of_real_vqa_has_18_distinct_candidates(real_vqa):
    some = real_vqa.slice(0, 20_000)
    table, statistics = vqa_candidates(some)
    for row in table.select(["target", "orig_decoys"]).to_pylist():
        assert len({comparable(text) for text in [row["target"], *row["orig_decoys"]]}) == 18
    assert statistics["candidates"] == {"18": 20_000}
    assert sum(statistics["decoys"].values()) == 17 * 20_000
    assert check_triplets(table, "made") is table


def test_the_ten_most_popular_answers_of_vqa_v1_are_those_that_the_paper_names(real_data):
    with lzma.open(real_data / "vqa_v1" / "textdump__answers_train2014_modal.txt.xz", "rt") as file:
        answers, (numbers,) = NumberedTexts.number([pa.array(file.read().splitlines())])
    assert [answers.texts[index] for index in answers.most_frequent(numbers)[:10]] == POPULAR_IN_THE_PAPER


def test_popular_answers_are_those_of_the_training_split():
    world = [("what", "rare")] * 2 + [("what", "common", "validation")] * 5
    assert vqa_candidates(made_triplets(world))[1]["popular"] == ["rare"]
    assert vqa_candidates(made_triplets([(*one[:2], "test") for one in world]))[1]["popular"] == ["common", "rare"]


def test_a_popular_answer_that_is_correct_occurs_once():
    world = [("is it", "yes")] * 9 + [("how many", "two")] * 5 + [("how many", "2")] * 4
    _, statistics = vqa_candidates(made_triplets(world))
    assert statistics["popular"] == ["two", "yes"]
    assert all(len(decoys) == 1 for decoys in decoys_of(made_triplets(world)))
    assert statistics["candidates"] == {"2": 18}


def test_answers_given_without_the_image_come_first():
    found = decoys_of(varied(), plausible={"q0": ["a lamp", "A lamp!", "answer 0", "a chair", "a table", "a bed"]})
    assert found[0][:3] == ["a lamp", "a chair", "a table"]
    _, statistics = vqa_candidates(
        varied(), plausible={"q0": ["a lamp", "A lamp!", "answer 0", "a chair", "a table", "a bed"], "other": ["x"]}
    )
    assert statistics["plausible"]["given"] == 3
    assert statistics["plausible"]["given_not_taken"] == {
        "the correct answer": 1,
        "repeated": 1,
        "another human answer": 0,
        "more than wanted": 1,
    }
    assert statistics["plausible"]["given_for_unknown_questions"] == 1


def test_a_question_without_words_has_no_plausible_answers():
    _, statistics = vqa_candidates(made_triplets([("?!", "yes"), ("?!", "no"), ("what", "cat")]))
    assert statistics["decoys"]["plausible"] == 0


def test_other_annotators_answers_are_kept():
    world = [("what", "cat", "train", ["cat"] * 5 + ["dog"] * 3 + ["cow"]), ("what", "dog"), ("what", "cow")]
    world += [(f"who {index}", f"n{index}") for index in range(30)]
    table, _ = vqa_candidates(made_triplets(world))
    assert {"dog", "cow"} <= set(table["orig_decoys"].to_pylist()[0][:3])


def test_the_same_seed_gives_the_same_candidates_on_any_number_of_threads():
    first = decoys_of(varied(), seed=5)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert decoys_of(varied(), seed=5) == first
    finally:
        numba.set_num_threads(threads)
    assert decoys_of(varied(), seed=6) != first


def test_repetitions_of_a_question_do_not_all_get_the_same_plausible_answers():
    found = decoys_of(made_triplets([("what is this", f"answer {index}") for index in range(100)]))
    assert len({tuple(decoys[:3]) for decoys in found}) > 50


def test_the_variants_take_the_candidates_as_original_decoys():
    table, _ = vqa_candidates(varied())
    (variant,) = build_variants(table, ["orig"], None, Settings())
    assert variant.statistics["choices_per_row"]["train"] == {"18": 60}


def test_plausible_answers_are_in_lower_case_where_all_correct_answers_are():
    lower = [("what is this", answer) for answer in ("cat", "dog", "bird")]
    assert decoys_of(made_triplets(lower), plausible={"q0": ["A Lamp", "DOG"]})[0] == ["a lamp", "dog", "bird"]
    mixed = [*lower, ("who is this", "Tom")]
    found = decoys_of(made_triplets(mixed), plausible={"q0": ["A Lamp", "DOG"]})
    assert found[0][:2] == ["A Lamp", "DOG"]


def test_a_plausible_file_of_another_dataset_is_refused():
    with pytest.raises(InputError, match=r"none of their 1 question ids, such as '99', is one of the dataset"):
        vqa_candidates(varied(), plausible={"99": ["cat"]})


@pytest.mark.slow
def test_words_repeated_more_often_than_16_bits_hold_are_compared_exactly():
    world = [("why " * 200 + "now", "a"), ("why now", "b"), ("now", "c"), ("why why now", "d")]
    assert decoys_of(made_triplets(world)) == literal_candidates(made_triplets(world))


READ = {"1": ["yes", "no"], "2": ["cat"]}


@pytest.mark.parametrize(
    "value",
    [
        READ,
        [{"question_id": 1, "answers": [" yes", "no\n"]}, {"question_id": "2", "answers": ["cat"]}],
        [{"question_id": 1, "answers": [{"answer": "yes"}, {"answer": "no"}]}, {"question_id": 2, "answers": ["cat"]}],
    ],
)
def test_both_forms_are_read(tmp_path, value):
    path = tmp_path / "plausible.json"
    path.write_text(json.dumps(value))
    assert read_plausible(path) == READ


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"1": "yes"}', "'1', field 'answers': .* found 'yes'"),
        ('{"1": ["yes", 2]}', "'1', field 'answers'"),
        ('{"1": [" "]}', "'1', field 'answers'"),
        ('[{"answers": ["a"]}]', r"record\[0\], field 'question_id': it is missing"),
        (
            '[{"question_id": 1.5, "answers": ["a"]}]',
            "field 'question_id': expected a whole number .or text., found 1.5",
        ),
        ("[]", "expected records in the list"),
        ('"yes"', "expected a JSON object"),
        ("", "expected a JSON object"),
        ('{"1": ["yes"', "truncated"),
    ],
)
def test_malformed_files_are_refused_with_the_location(tmp_path, content, complaint):
    path = tmp_path / "plausible.json"
    path.write_text(content)
    with pytest.raises(InputError, match=complaint) as error:
        read_plausible(path)
    assert str(path) in str(error.value)


@pytest.fixture(scope="module")
def real_vqa(real_data: Path) -> pa.Table:
    with lzma.open(real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz") as file:
        found = json.load(file)
    return triplet_table(
        question_id=[str(record["question_id"]) for record in found],
        image_id=[str(record["image_id"]) for record in found],
        split=["train" if record["coco_split"] == "train2014" else "validation" for record in found],
        question=[record["question"] for record in found],
        target=[record["multiple_choice_answer"] for record in found],
        answers=text_lists([record["answer"] for record in found]),
        image_file=[""] * len(found),
    )
