"""Copies of checkpoints."""

from types import SimpleNamespace

from hf_vqa_mc.training.run_folder import TrainResult


def test_a_copied_checkpoint_lists_its_own_files(tmp_path):
    run, copy = TrainResult(SimpleNamespace(output=tmp_path), {}, "held_out", None), tmp_path / "copy"
    run.model_folder.mkdir()
    (run.model_folder / "config.json").write_text("{}")
    assert run.save(copy) == [copy / "config.json"]
    (copy / "notes.txt").write_text("mine")
    assert run.save(copy, overwrite=True) == [copy / "config.json"]
    assert (copy / "notes.txt").read_text() == "mine"
