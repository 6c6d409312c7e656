"""A kind of study from outside the package works everywhere without further edits."""

from contextlib import closing

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.studies import STUDIES
from hf_vqa_mc.studies.items import read_questions
from hf_vqa_mc.studies.kind import CHOOSE, IMAGE, QUESTION, Condition, Outcome, StudyKind
from hf_vqa_mc.studies.measures import counts, share
from hf_vqa_mc.studies.store import Study
from tests.studies import worlds
from tests.studies.test_web import call, joined, send, tasks_of
from tests.studies.worlds import serving


def outcome(answered):
    row = {"condition": "rude", **counts(answered), **share(answered, lambda one: one.value == 1, "share_rude")}
    items = [{"question_id": one.item.question_id, "rude": one.value} for one in answered]
    return Outcome({"conditions": [row]}, [row], items, lambda folder: None)


@pytest.fixture
def added():
    shown = (IMAGE, QUESTION)
    condition = Condition("rude", "Is this question rude?", shown, annotators=2, options=("no", "yes"))
    STUDIES.add(
        StudyKind("rudeness", "Rude questions", "people say what is rude", "a test", CHOOSE, (condition,),
                  results=outcome, reads=read_questions)
    )  # fmt: skip
    yield
    del STUDIES["rudeness"]


def test_it_is_created_served_and_evaluated(added, tmp_path):
    path = worlds.new_study(tmp_path, "rudeness", rows=4, controls=0)
    with closing(Study(path)) as study, serving(study) as address:
        link = joined(address, study)
        page = call(f"{link}page", b"")[3]
        assert page.count(b"Is this question rude?") == 4 and b"Rude questions" in page
        assert {send(link, task, number % 2)[0] for number, task in enumerate(tasks_of(page))} == {200}
    result = vm.study_results(path, output=tmp_path / "results")
    assert result.to_dict()["conditions"][0]["share_rude"] == 0.5 and "rude" in repr(result)
    assert "unfinished: rude has 4 of 8 answers" in repr(result)
