"""Wrong options, files and columns give one line, before anything slow is imported or written."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCENE_GRAPHS = Path(__file__).parents[1] / "engines" / "gqa" / "example_sceneGraphs.json"
SLOW = ("torch", "datasets", "transformers", "sklearn", "numba", "scipy.stats", "scipy.sparse")
SLOW += "hf_vqa_mc.audits.auditing", "hf_vqa_mc.remedies.judgement", "hf_vqa_mc.report.audit"
MISTAKES = dict(
    line.split(" -> ") if " -> " in line else (line, "")
    for line in """\
audit nofile.csv
audit a/b/c
audit ~/nofile
audit rows.docx
audit rows.csv --seed -1 -> --seed -1: expected 0 or more
audit rows.csv --fail-above 5 -> --fail-above 5.0: expected a number from 0 to less than 1
audit rows.csv --question nothing -> unknown column of
audit rows.csv --output rows.csv -> would replace or change an input
audit rows.csv --no-probes --features empty -> --features empty is used only by probes
audit rows.csv --fail-on-regression 0 -> --fail-on-regression needs --against FILE
audit rows.csv --against nofile.json -> nofile.json: no such file
remedy nofile.csv
remedy rows.csv --question nothing
remedy rows.csv --strategy mend -> --strategy mend: expected one of repair, closed, iou_qou, prune, best
remedy rows.csv --prune 1 -> --prune 1.0: expected a number
remedy rows.csv --variant orig -> --variant orig: expected one of iou
remedy rows.csv --decoys-per-set 0 -> --decoys-per-set 0: expected 1 or more
remedy rows.csv --prune 0.1 --word-vectors corpus -> --word-vectors is an option of --strategy
remedy rows.csv --strategy repair --prune 0.1 -> --prune is an option of --strategy prune, not of repair
remedy rows.csv --strategy repair --guarantee choices -> an option of --strategy closed, not of repair
remedy rows.csv --strategy repair --variant iou -> an option of --strategy closed and iou_qou, not of
remedy rows.csv --strategy closed --variant iou -> --variant iou is of --strategy iou_qou, not of closed
remedy rows.csv --strategy iou_qou --variant sets -> --variant sets is of --strategy closed, not of iou_qou
remedy rows.csv --decoys-per-set 2 -> an option of --strategy iou_qou and best, not of repair
remedy rows.csv --variant iou --budget 0.2 -> an option of --strategy repair and best, not of iou_qou
remedy rows.csv --coverage 0.9 -> an option of --strategy closed and best, not of repair
remedy rows.csv --set-size 4 -> an option of --strategy closed and best, not of repair
remedy rows.csv --preset plausible -> an option of --strategy closed, iou_qou and best, not of repair
remedy rows.csv --output rows.csv -> rows.csv
remedy rows.csv --output other.jsonl -> expected a .csv file, as rows.csv
remedy rows.csv --output no/such/place.csv -> no/such
describe nofile.csv
describe rows.csv --figures nothing
describe rows.csv --captions nofile.json
describe rows.csv --against-config x -> give the second dataset with --against
lint nofile.csv
lint rows.csv --question nothing
lint rows.csv --output x.txt -> --output x.txt: expected a file with one of the suffixes .csv, .jsonl, .json, .parquet
survey empty --output x.txt -> suffixes .html, .csv, .json, .md
survey empty -> empty: no files
compare a.json b.json --items x.md -> suffixes .csv, .json, .parquet
compare a.json b.json --items x.csv --output x.csv -> are the same file
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
generate complementary rows.csv default --features . --output out.txt -> suffixes .jsonl, .parquet
train rows.csv --output run --model nothing
predict ./nofolder rows.csv
transfer nofile.csv --output run
transfer rows.csv --output run --recipe nofile.yaml
transfer rows.csv --output run --word-vectors none.txt -> --word-vectors none.txt: expected an existing
study create rows.csv --kind condition -> unknown kind of study 'condition': did you mean 'conditions'?
study serve none.sqlite -> no such file; make a study with vqa-mc study create
generate tdiuc --output out -> no annotations given
generate gqa nofile.json --output out -> no such file
generate gqa graphs.json --output out --splits train=0.7,val -> val
generate gqa graphs.json --output out --splits train=0.7 -> add up to 1
generate gqa graphs.json --output out --splits trian=1 -> did you mean 'train'
generate gqa graphs.json --output out --shares quary=0.2 -> did you mean 'query'
generate gqa graphs.json --output out --shares verify=0 -> verify is 0
generate gqa graphs.json --output out --shares verify=0.7,query=0.7 -> add up to 1.4
generate gqa graphs.json --output out --objects objects.txt -> attributes
build cocoqa --data-dir empty --word-vectors nofile.txt
build coco -> unknown source 'coco'
""".splitlines()
)
"""Command to what its message has; all are written so that no file is needed but those of the test."""
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
    for name in ("rows.docx", "other.jsonl"):
        (tmp_path / name).write_text("{}\n")
    shutil.copy(SCENE_GRAPHS, tmp_path / "graphs.json")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    command = [sys.executable, "-c", RUN, json.dumps([SLOW, list(MISTAKES)[::every]])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wrong = {
        mistake: found
        for mistake, (code, loaded, output) in json.loads(done.stdout).items()
        for last in output.splitlines()[-1:]
        if (found := (code, loaded, last)) != (2, [], last)
        or not (last.startswith("vqa-mc: ") and MISTAKES[mistake] in last)
    }
    assert not wrong, json.dumps(wrong, indent=1)
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
