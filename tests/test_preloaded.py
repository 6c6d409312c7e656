"""Forked processes with slow imports done do what new ones do."""

import os
import subprocess
import sys
import time

import pytest

PROGRAM = """
import os, sys
print(sys.argv, os.getcwd(), sorted(os.environ), __name__, sys.stdin.read(), sys.path)
print("a note", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def both(preloaded, tmp_path):
    """What a forked and what a new process make of the same arguments."""

    def both(*arguments, **environment):
        return [
            subprocess.run(
                [python, *arguments],
                cwd=tmp_path,
                env={**os.environ, **environment},
                input="given",
                capture_output=True,
                text=True,
            )
            for python in (preloaded / "python", sys.executable)
        ]

    return both


def test_arguments_input_output_and_status_are_those_of_a_new_process(both, tmp_path):
    forked, new = both("-c", PROGRAM, "3", "a b", PYTHONPATH=f"{tmp_path}/one:{tmp_path}")
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    assert forked.returncode == 3
    assert "given" in forked.stdout


def test_an_exception_is_status_1_with_a_traceback(both):
    forked, new = both("-c", "raise ValueError('wrong')")
    assert forked.returncode == new.returncode == 1
    assert forked.stderr.splitlines()[-1] == new.stderr.splitlines()[-1] == "ValueError: wrong"


def test_two_forked_processes_draw_different_random_numbers(preloaded):
    code = "import random, numpy; print(random.random(), numpy.random.random())"
    drawn = [subprocess.check_output([preloaded / "python", "-c", code]) for _ in range(2)]
    assert len({number for numbers in drawn for number in numbers.split()}) == 4


def test_a_process_ends_with_its_client(preloaded, tmp_path):
    code = "import os, time; open('process', 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([preloaded / "python", "-c", code], cwd=tmp_path, timeout=3)
    process = int((tmp_path / "process").read_text())
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("it goes on")
