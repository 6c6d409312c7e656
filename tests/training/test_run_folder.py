"""Copies of checkpoints."""

from hf_vqa_mc.training.run_folder import copy_checkpoint


def test_a_copied_checkpoint_lists_its_own_files(tmp_path):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").write_text("{}")
    copied = [tmp_path / "copy" / "config.json"]
    assert copy_checkpoint(tmp_path / "best", tmp_path / "copy") == copied
    (tmp_path / "copy" / "notes.txt").write_text("mine")
    assert copy_checkpoint(tmp_path / "best", tmp_path / "copy", overwrite=True) == copied
    assert (tmp_path / "copy" / "notes.txt").read_text() == "mine"
