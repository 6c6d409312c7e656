"""Layouts of questions and programs; a network of modules gives the same for any mixture of them as one by one."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.layouts import ATTENDING, MODULES, layout_text, layouts, program_layout
from hf_vqa_mc.models.question_texts import NODE, PADDING, UNKNOWN, QuestionTexts, QuestionWords, layout_words
from tests.models.plain_open_ended import answers_of_units, plain_module_network

TREE = "compare[{}](measure[is](find[cat]), measure[is](find[dog]))"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What color is the cat?", "describe[color](find[cat])"),
        ("Is there a red circle?", "measure[is](combine[and](find[red], find[circle]))"),
        ("How many dogs are on the bed?", "measure[how many](combine[and](find[dogs], transform[on](find[bed])))"),
        ("What is to the right of the car?", "describe[what](transform[to the right of](find[car]))"),
        ("What is the man holding?", "describe[what](transform[holding](find[man]))"),
        ("What animal is this?", "describe[animal](find[animal])"),
        ("Are there cats or dogs?", "measure[is](combine[or](find[cats], find[dogs]))"),
        ("Is it a cup but not a plate?", "measure[is](combine[except](find[cup], find[plate]))"),
        (
            "What color is the jacket of the man next to the car?",
            "describe[color](combine[and](find[jacket], transform[of](combine[and](find[man], "
            "transform[next to](find[car])))))",
        ),
        ("What is this?", "describe[what](find[_])"),
        ("Name the sport.", "describe[name](find[sport])"),
        ("", "describe[_](find[_])"),
    ],
)
def test_questions_become_layouts(question, expected):
    assert layout_text(layouts([question], "text")[0]) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("select: cat->query: color [0]", "describe[color](find[cat])"),
        ("select: scene->verify weather: cloudy [0]", "measure[is](combine[and](find[scene], find[cloudy]))"),
        (
            "select: table->filter color: not(red) [0]->relate: apple,on,s [1]->exist: ? [2]",
            "measure[is](combine[and](transform[on s](combine[except](find[table], find[red])), find[apple]))",
        ),
        ("select: cat->exist: ? [0]->select: dog->exist: ? [2]->and:  [1, 3]", TREE.format("and")),
        (
            "select: cat->select: dog->choose older:  [0, 1]",
            "compare[older](describe[name](find[cat]), describe[name](find[dog]))",
        ),
        ("select: a->choose color: red|tan [0]", "compare[choose](describe[red](find[a]), describe[tan](find[a]))"),
        ("select: all->same color:  [0]", "describe[same color](find[all])"),
    ],
)  # fmt: skip
def test_programs_become_layouts(program, expected):
    assert layout_text(program_layout(program)) == expected


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "step '' is not 'operation: argument"),
        ("select: cat->query: color [1]", r"step 'query: color \[1\]' is not"),
        ("select: cat->paint: red [0]", "no operation 'paint' on 1 inputs; known: select"),
        ("select: cat->and:  [0]", "no operation 'and' on 1 inputs"),
        ("query: color", "no operation 'query' on 0 inputs"),
        ("select: cat->filter color: red [0]", "ends with an attention; expected an operation with an answer"),
        ("select: cat->exist: ? [0]->query: color [1]", "query: describe takes attentions"),
        ("select: cat->select: dog->or:  [0, 1]", "or: compare takes answers"),
    ],
)
def test_programs_that_cannot_be_laid_out_are_named(program, message):
    with pytest.raises(InputError, match=message):
        program_layout(program)


SOME = st.sampled_from(["is", "what", "the", "cat", "and", "or", "not", "on", "left", "of", "to", "next"])
TEXT = st.one_of(st.text(max_size=40), st.lists(SOME, max_size=130).map(" ".join))


@given(st.lists(TEXT, min_size=1, max_size=5))
def test_any_question_has_a_layout_with_inputs_before_their_node(questions):
    for layout in layouts(questions, "text"):
        assert layout[-1].module not in ATTENDING
        for number, node in enumerate(layout):
            assert all(one < number and layout[one].module in ATTENDING for one in node.inputs)


def test_words_of_one_question_only_are_unknown_and_survive_saving():
    words = layout_words(["is the cat red", "is the cat on the mat", "is it on"], "text")
    assert set(words) == {"is", "and", "cat", "on"}
    texts = QuestionTexts(layout_words=words)
    assert texts.array("question_layouts", ["is it a zebra"])[0, 0, 1] == UNKNOWN
    assert QuestionTexts.stored(Path(), texts.as_json()) == texts


@st.composite
def nodes(draw, most=12):
    """Nodes of a random layout with up to so many: module, word, both inputs, depth."""
    rows = []
    for _ in range(draw(st.integers(0, most - 2))):
        maps = [at for at, row in enumerate(rows) if row[0] <= len(ATTENDING)]
        answers = [at for at, row in enumerate(rows) if row[0] > len(ATTENDING)]
        kinds = ["find"] + ["transform", "combine", "describe", "measure"] * bool(maps) + ["compare"] * bool(answers)
        rows.append(_node(draw, draw(st.sampled_from(kinds)), maps, answers, rows))
    for module in ("find", draw(st.sampled_from(["describe", "measure"]))):
        rows.append(_node(draw, module, [at for at, row in enumerate(rows) if row[0] <= len(ATTENDING)], [], rows))
    return rows


def _node(draw, module, maps, answers, rows):
    count = {"find": 0, "combine": 2, "compare": 2}.get(module, 1)
    inputs = [draw(st.sampled_from(answers if module == "compare" else maps)) for _ in range(count)]
    depth = max([rows[one][4] + 1 for one in inputs], default=0)
    return [MODULES.index(module) + 1, draw(st.integers(1, 5)), *inputs, *[0] * (2 - count), depth]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(nodes(), min_size=1, max_size=5), st.booleans(), st.integers(0, 99))
def test_any_mixture_of_layouts_gives_the_results_and_gradients_of_one_by_one(rows, reads_question, seed):
    declared = MODELS["nmn"]
    torch.manual_seed(seed)
    given = {"size": 6, "word_size": 5, "lstm_size": 4, "reads_question": reads_question, "dropout": 0.0}
    labels = {"id2label": {0: "yes", 1: "no", 2: "two"}, "label2id": {"yes": 0, "no": 1, "two": 2}}
    config = declared.config(given, image_size=3, vocabulary_size=7, layout_words=6, **labels)
    model = declared.model_class(config).double()
    tensors = torch.zeros(len(rows), max(map(len, rows)), NODE, dtype=torch.long)
    for at, row in enumerate(rows):
        tensors[at, : len(row)] = torch.tensor(row)
    given = {
        "question_indices": torch.randint(1, 7, (len(rows), 3)),
        "question_layouts": tensors,
        "image_grid": torch.randn(len(rows), 9, 3).double(),
    }
    found = []
    for compute in (lambda: model(**given).logits, lambda: plain_module_network(model, **given)):
        model.zero_grad()
        logits = compute()
        logits.square().sum().backward()
        zeros = (torch.zeros_like(one) if one.grad is None else one.grad.clone() for one in model.parameters())
        found.append([logits.detach(), *zeros])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)


def test_attention_is_that_of_the_last_module_that_attends():
    questions = ["is the cat on the mat", "is the mat red"]
    made = QuestionTexts(QuestionWords.of(questions), layout_words=layout_words(questions * 2, "text"))
    sizes = {name: size for name, size in made.sizes.items() if name in ("vocabulary_size", "layout_words")}
    config = MODELS["nmn"].config({"size": 6, "word_size": 5, "lstm_size": 4}, image_size=3, **sizes, num_labels=2)
    model = MODELS["nmn"].model_class(config).eval()
    tensors = made.tensors(MODELS["nmn"].inputs, questions=questions) | {"image_grid": torch.randn(2, 4, 3)}
    (attention,) = model(**tensors).attentions
    torch.testing.assert_close(attention.sum(1), torch.ones(2))
    alone = made.tensors(["question_layouts"], questions=questions[1:])["question_layouts"]
    (again,) = model(**{**{name: one[1:] for name, one in tensors.items()}, "question_layouts": alone}).attentions
    torch.testing.assert_close(again, attention[1:])


@pytest.mark.parametrize("answers_by", ["first", "mean", "last"])
def test_all_units_are_trained_and_the_chosen_ones_answer(answers_by):
    declared = MODELS["rau"]
    torch.manual_seed(0)
    given = {"size": 6, "word_size": 5, "lstm_size": 4, "attention_size": 3, "steps": 3, "answers_by": answers_by}
    labels = {"id2label": {0: "yes", 1: "no"}, "label2id": {"yes": 0, "no": 1}}
    model = declared.model_class(declared.config(given, image_size=3, vocabulary_size=7, **labels)).eval()
    tensors = {"question_indices": torch.tensor([[2, 3, PADDING], [4, 5, 6]]), "image_grid": torch.randn(2, 4, 3)}
    units = torch.stack([torch.stack(one) for one in answers_of_units(model, **tensors)], 1)  # (steps, batch, answers)
    expected = {"first": units[0], "mean": units.mean(0), "last": units[-1]}[answers_by]
    torch.testing.assert_close(model(**tensors).logits, expected)
    targets = torch.tensor([1, 0])
    output = model(**tensors, labels=targets)
    torch.testing.assert_close(output.logits, expected)
    torch.testing.assert_close(output.loss, sum(torch.nn.functional.cross_entropy(one, targets) for one in units))
    assert len(output.attentions) == len(model(**tensors).attentions) == (3 if answers_by == "mean" else 1)
