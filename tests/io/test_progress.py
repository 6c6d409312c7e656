"""Progress in logs: a line per finished step, and every ten seconds one with what is done."""

import pytest

from hf_vqa_mc.io import progress as module
from hf_vqa_mc.io.progress import steps_on_stderr


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_long_steps_report_done_and_total_every_ten_seconds(clock, capsys):
    with steps_on_stderr() as progress:
        for done in range(0, 5001, 1000):
            progress("counting", done, 5000)
            clock[0] += 4.0
        progress("counting", 5000, 5000)
    assert capsys.readouterr().err == "counting: 3,000 of 5,000\ncounting: 5,000 of 5,000\n"


def test_quiet_reports_nothing(clock, capsys):
    with steps_on_stderr(quiet=True) as progress:
        clock[0] += 11.0
        progress("probes", 0, 24)
        progress("probes", 24, 24)
    assert capsys.readouterr().err == ""
