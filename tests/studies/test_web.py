"""The pages over HTTP: what they show and hide, what they accept, and twenty annotators at once."""

import html
import json
import re
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from hf_vqa_mc.studies.store import Study
from tests.report import hostile
from tests.studies import worlds
from tests.studies.worlds import serving

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(address, content=None, kind="application/json"):
    """Status, address after redirections, headers and content of a reply."""
    request = urllib.request.Request(address, content, {"Content-Type": kind})
    try:
        with OPENER.open(request, timeout=60) as reply:
            return reply.status, reply.url, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.url, error.headers, error.read()


def joined(address, study):
    """The personal link of a new annotator."""
    status, link, _, _ = call(f"{address}/join/{study.settings.join}", b"")
    assert status == 200 and re.fullmatch(rf"{address}/a/[\w-]{{24}}/", link)
    return link


def tasks_of(page):
    """The tasks of a page."""
    return [int(number) for number in re.findall(rb'data-task="(\d+)"', page)]


def send(link, task, value=1, seconds=1.5):
    """The status and text of the reply to an answer."""
    status, _, _, text = call(f"{link}answer", json.dumps({"task": task, "value": value, "seconds": seconds}).encode())
    return status, text.decode()


@pytest.fixture
def opened(tmp_path):
    """Opens a study of some kind and serves it: the study and its address."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def opened(*arguments, **options):
            study = stack.enter_context(closing(Study(worlds.new_study(tmp_path, *arguments, **options))))
            return study, stack.enter_context(serving(study))

        yield opened


@pytest.mark.parametrize(
    ("condition", "question", "image"), [("full", 1, 1), ("no-question", 0, 1), ("no-image", 1, 0)]
)
def test_what_a_condition_hides_is_not_sent(opened, condition, question, image):
    study, address = opened(conditions=condition, controls=0)
    link = joined(address, study)
    _, _, headers, page = call(f"{link}page", b"")
    assert (b"What colour is thing" in page) == question and (b"<img" in page) == image
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    status, _, _, content = call(f"{link}picture/{tasks_of(page)[0]}/0")
    assert (status, content[:2]) == (200, b"\xff\xd8") if image else status == 404
    other = joined(address, study)
    assert call(f"{other}picture/{tasks_of(page)[0]}/0")[0] == 404
    assert call(f"{link}picture/{tasks_of(page)[0]}/7")[0] == 404


def test_whoever_joins_starts_once_and_gets_questions(opened):
    study, address = opened(conditions="full")
    assert b"<button" in call(f"{address}/join/{study.settings.join}")[3]
    _, link, _, page = call(f"{address}/join/{study.settings.join}", b"")
    assert tasks_of(page) and tasks_of(page) == tasks_of(call(link)[3])
    personal = f"{address}/a/{study.tokens(2)[1]}/"
    assert b"Start" in call(personal)[3] and tasks_of(call(f"{personal}page", b"")[3])
    study, address = opened("ambiguity", rows=1, annotators=1)
    replies = [call(f"{address}/join/{study.settings.join}", b"")[3] for _ in range(2)]
    assert tasks_of(replies[0]) and b"That is all" in replies[1]


def test_pages_do_not_depend_on_the_labels(tmp_path):
    pages = []
    for name, shift in (("one", 0), ("other", 1)):
        rows = worlds.benchmark()
        rows["label"] = (rows["label"] + shift) % 4
        (tmp_path / name).mkdir()
        path = worlds.new_study(tmp_path / name, "ambiguity", dataset=rows, controls=0)
        with closing(Study(path)) as study, serving(study) as address:
            link = joined(address, study)
            pages.append([call(f"{link}page", b"")[3], call(f"{link}picture/1/0")[3]])
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_twenty_annotators_lose_nothing_and_get_no_question_in_two_conditions(opened):
    study, address = opened(per_page=6, annotators=5, rows=20)

    def annotate(number):
        link = joined(address, study)
        acknowledged = 0
        while tasks := tasks_of(call(f"{link}page", b"")[3]):
            for task in tasks:
                status, _ = send(link, task, number % 4)
                acknowledged += status == 200
        return acknowledged

    with ThreadPoolExecutor(20) as pool:
        acknowledged = sum(pool.map(annotate, range(20)))
    answers = study.answers()
    assert len(answers) == acknowledged
    counted = Counter((one.item.question_id, one.condition) for one in answers if not one.item.control)
    assert set(counted.values()) == {5} and len(counted) == 60
    assert max(Counter((one.item.question_id, one.annotator) for one in answers).values()) == 1
    assert all(done == wanted for done, wanted in study.progress().values())


def test_invalid_requests_change_nothing(opened):
    study, address = opened(conditions="full")
    link, other = joined(address, study), joined(address, study)
    task = tasks_of(call(f"{link}page", b"")[3])[0]
    for value in (4, None, "<b>", [1], {}):
        assert send(link, task, value)[0] == 400
    for seconds in (-1, 1e9, float("nan"), float("inf"), "x", None):
        assert send(link, task, 1, seconds)[0] == 400
    for content in (b"", b"{", b"[]", b"\xff\xfe", b'{"task": 1}', b"[" * 16_000, b'{"a": "' + b"x" * 20_000 + b'"}'):
        assert call(f"{link}answer", content)[0] == 400
    body = json.dumps({"task": task, "value": 1, "seconds": 1}).encode()
    assert call(f"{link}answer", body, "text/plain")[0] == 400  # as a form of another site would send it
    assert send(other, task)[0] == 400 and send(link, 10**30)[0] == 400
    assert send(f"{address}/a/unknown/", task)[0] == 404
    assert study.answers() == []
    assert send(link, task) == (200, "saved")


def test_strangers_see_no_more_than_that_they_need_a_link(opened):
    study, address = opened(conditions="full")
    for path in ("/", "/join/wrong", "/a/unknown/", "/nothing", "/a/unknown/picture/1/0"):
        status, _, _, page = call(address + path)
        assert status == 404 and b"by invitation" in page
    assert call(f"{address}/join/wrong", b"")[0] == 404
    with serving(study, joinable=False) as closed:
        assert call(f"{closed}/join/{study.settings.join}", b"")[0] == 404
        assert call(f"{closed}/a/{study.tokens(1)[0]}/")[0] == 200


def test_hostile_texts_are_text(opened):
    rows = worlds.benchmark()
    texts = [text.encode("utf-8", "replace").decode() or "empty" for text in hostile.TEXTS]
    rows["question"] = texts
    rows["choices"] = [[f"{texts[(row + at) % 12]}{at}" for at in range(4)] for row in range(12)]
    study, address = opened("ambiguity", dataset=rows, per_page=13)
    page = call(f"{joined(address, study)}page", b"")[3].decode()
    shown = page.split("<main")[1].split("<script")[0]
    assert set(re.findall(r"<(script|svg|style|link|iframe)", shown)) == set()
    assert "onerror=" not in re.sub(r">[^<]*<", "><", shown)
    assert html.escape("<img src=x onerror=") in shown and len(page) < 200_000
