"""Wrong options, files and columns are reported before anything slow is imported."""

import json
import subprocess
import sys

import pytest

SLOW = ("torch", "datasets", "transformers", "sklearn", "numba", "scipy.stats", "scipy.sparse")
SLOW += "hf_vqa_mc.audits.auditing", "hf_vqa_mc.remedies.judgement", "hf_vqa_mc.report.audit_folder"
MISTAKES = """\
audit nofile.csv
audit a/b/c
audit ~/nofile
audit rows.docx
audit rows.csv --seed -1
audit rows.csv --question nothing
audit rows.csv --output rows.csv
remedy nofile.csv
remedy rows.csv --question nothing
describe nofile.csv
describe rows.csv --figures nothing
describe rows.csv --captions nofile.json
lint nofile.csv
lint rows.csv --question nothing
verify nofile.json rows.csv
evaluate nofile.csv --model ./nofolder
evaluate rows.csv --model ./nofolder
evaluate rows.csv --question nothing --model ./nofolder
evaluate rows.csv --model ./nofolder --method nothing
judge nofile.csv --model wordnet
judge rows.csv --model wordnet --question nothing
preview nofile.csv
preview rows.csv --question nothing
export lm-eval nofile.csv --output out
export lm-eval rows.csv --question nothing --output out
score nofile.json rows.csv
features nofile.csv
train nofile.csv --output run
train rows.csv --output run --features nofolder
train rows.csv --output run --word-vectors nofile.txt
push model ada/mlp --folder nofolder
generate complementary rows.csv default --features . --output out.txt
train rows.csv --output run --model nothing
predict ./nofolder rows.csv
transfer nofile.csv --output run
transfer rows.csv --output run --recipe nofile.yaml
generate gqa nofile.json --output out
build cocoqa --data-dir empty --word-vectors nofile.txt
""".splitlines()
RUN = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from hf_vqa_mc.cli import main

slow, mistakes, found, before = *json.loads(sys.argv[1]), {}, set()
for mistake in mistakes:  # one after another: what the first has imported, the next do not import again
    sys.argv, text = ["vqa-mc", *mistake.split()], io.StringIO()
    try:
        with redirect_stderr(text), redirect_stdout(text):
            main()
    except SystemExit as end:
        loaded = before ^ set(slow).intersection(sys.modules)
        found[mistake], before = [end.code, sorted(loaded), text.getvalue()[-4000:]], before | loaded
print(json.dumps(found))
"""


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_mistakes_are_reported_before_anything_slow_is_imported(every, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("question,A,B,answer\n" + "What is it?,cat,dog,A\n" * 4)
    (tmp_path / "rows.docx").write_text("rows")
    command = [sys.executable, "-c", RUN, json.dumps([SLOW, MISTAKES[::every]])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for mistake, (code, loaded, output) in json.loads(done.stdout).items():
        assert (code, loaded) == (2, []), (mistake, output)
        assert output.splitlines()[-1].startswith("vqa-mc: "), mistake
