"""The report as a file: what it shows, what it leaves out, and that text stays text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.report.pages import as_data
from hf_vqa_mc.report.report import report_html, report_values, strongest
from tests.report import audits, hostile


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found, self.texts, self.scripts, self._in = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self._in = tag

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in == "script":
            self.scripts.append(data)
        elif self._in != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def tags(self):
        return [tag for tag, _ in self.found]


def test_the_headline_is_the_strongest_shortcut_and_its_gain():
    page = Elements(report_html(audits.audit(), []))
    start = page.text.index("58.1%")
    assert "answered correctly without the image : 33.1 points above chance (25.0%)" in page.text[start:]
    assert page.text.index("question and answer prior", start) < page.text.index("Gain of each shortcut")


def test_probes_with_all_inputs_are_no_shortcuts():
    audit = audits.audit()
    for row in audit["shortcuts"]:
        row["inputs"] = "everything" if row["gain"] > 0.2 else row["inputs"]
    assert strongest(audit["shortcuts"])["name"] == "logistic regression: choices alone"
    assert "everything" in {row["inputs"] for row in audit["shortcuts"]}
    chart = report_values(audit)["chart"]
    assert all(line["row"]["inputs"] != "everything" for line in (*chart["shown"], *chart["rest"]))


def test_tiles_and_headline_show_the_shortcut_of_the_verdict_not_a_larger_gain_by_luck():
    audit = audits.audit()
    audit["shortcuts"].insert(0, audits.shortcut("lucky", "choices", "guesses", 0.9, False, 0.25, 0.01))
    audit["shortcuts"][0] |= {"alarm": False, "gain": 0.6, "accuracy": 0.85}
    values = report_values(audit)
    assert values["headline"]["row"]["alarm"]
    assert values["tiles"]["choices"]["name"] != "lucky"


def test_the_histogram_has_a_y_axis_and_no_empty_bars():
    audit = audits.audit()
    audit["bias"]["histogram"][3]["rows"] = 0
    found = report_values(audit)["histogram"]
    assert len(found["bars"]) == len(audit["bias"]["histogram"]) - 1
    assert found["ticks"][0] == {"y": 1.0, "share": 0.0}
    assert found["ticks"][-1]["y"] == pytest.approx(0.0)
    assert found["ticks"][-1]["share"] >= max(row["rows"] for row in audit["bias"]["histogram"]) / audit["rows"]


def test_bars_of_ambiguous_decoys_are_on_a_scale_and_reasons_without_decoys_have_none():
    audit = audits.audit()
    audit["ambiguous_decoys"]["reasons"] = {"some": 0.02, "none": 0.0}
    found = report_values(audit)["ambiguous"]
    assert found["top"] == 0.05
    assert found["reasons"] == {"some": (0.02, "40.00%")}
    text = Elements(report_html(audit, [])).text
    assert "Full bars are 5% of the decoys" in text
    assert "No decoys are flagged for: none" in text


def test_the_report_of_a_benchmark_without_shortcuts_says_so():
    found = {**audits.audit(strength=0.0), "not_tested": ["trained probes (--no-probes)", "images (none given)"]}
    page = Elements(report_html(found, []))
    expected = (
        "no shortcut is significantly above chance; not tested: trained probes (--no-probes); images (none given)."
    )
    assert expected in page.text
    assert "answered correctly" not in page.text


def test_the_headline_of_a_benchmark_without_images_does_not_mention_images():
    page = Elements(report_html({**audits.audit(), "images": 0}, []))
    assert "without the image" not in page.text
    assert "images none" in page.text


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("shortcuts", "Gain of each shortcut over chance"),
        ("per_type", "Gain by question type"),
        ("findings", "Other findings"),
        ("predictive_texts", "Words and choices that predict"),
        ("bias", "Distribution of bias"),
        ("not_run", "Not run"),
    ],
)
def test_sections_without_figures_are_omitted(key, title):
    whole = audits.audit()
    assert title in Elements(report_html(whole, [])).text
    empty = {"words": [], "choices": []} if key == "predictive_texts" else type(whole[key])()
    assert title not in Elements(report_html({**whole, key: empty}, [])).text


def test_rules_near_chance_are_folded_away_but_alarms_never():
    audit = audits.audit()
    audit["shortcuts"] += [
        audits.shortcut(f"rule {index}", "choices", "guesses", 0.0, False, 0.25, 0.01) for index in range(20)
    ]
    chart = report_values(audit)["chart"]
    assert len(chart["shown"]) + len(chart["rest"]) == 35
    assert len(chart["shown"]) == 12
    assert not any(line["row"]["alarm"] for line in chart["rest"])
    audit["shortcuts"].append(audits.shortcut("late", "choices", "inputs", 0.2, False, 0.25, 0.01))
    assert any(line["name"] == "late" for line in report_values(audit)["chart"]["shown"])


def test_the_page_loads_nothing():
    page = report_html(audits.audit(), audits.examples(3, kinds=True))
    assert not re.findall(r"""(?:src|href|url\()\s*=?\s*["']?(?!#|data:)[\w/]""", page.split("<script", 1)[0])
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "style=" not in page.split("<script", 1)[0]


def test_its_policy_names_the_checksums_of_its_own_script_and_style():
    page = report_html(audits.audit(), [])
    policy = next(one["content"] for tag, one in Elements(page).found if tag == "meta" and "http-equiv" in one)
    for name, element in (("script-src", "<script>"), ("style-src", "<style>")):
        content = page.split(element, 1)[1].split(f"</{element[1:]}", 1)[0]
        checksum = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name} 'sha256-{checksum}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_hostile_text_adds_no_element_and_no_attribute():
    audit, shown = audits.audit(), audits.examples(6, kinds=True, images=False)
    good = Elements(report_html(audit, shown))
    bad_page = report_html(hostile.spoilt(audit), hostile.questions(shown))
    bad = Elements(bad_page)
    allowed = set(good.tags)
    assert set(bad.tags) <= allowed | {"details", "summary"}
    assert bad.tags.count("script") == good.tags.count("script") == 2
    assert {name for _, one in bad.found for name in one} <= {name for _, one in good.found for name in one}
    assert bad_page.count("</script") == 2
    assert len(bad_page) < 2_000_000  # endless cells are cut
    assert "\x00" not in bad_page
    assert "1,000,00" in bad.text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_data_for_the_script_comes_out_as_it_went_in(value):
    text = as_data(value)
    assert json.loads(text) == value
    assert not set("<>&") & set(text)
    assert text.isascii()
