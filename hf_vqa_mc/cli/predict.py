"""``vqa-mc predict``: a trained model's picks, for ``vqa-mc score``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def predict(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder of vqa-mc train, or a name on the Hub.", show_default=False)
    ],
    dataset: Annotated[
        str, typer.Argument(help="A folder of vqa-mc build, or a dataset on the Hub.", show_default=False)
    ],
    config: Annotated[str, typer.Argument(help="Such as cocoqa_iou_qou.", show_default=False)],
    split: Annotated[
        str | None,
        typer.Option(help="By default test, else validation, else the only one.", show_default=False),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Folder of image features, as the model was trained with.", show_default=False),
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(help="The file of the model's word vectors, for words new to it.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; CONFIG-predictions.json by default.", show_default=False)
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave questions out whose images have no features, and count them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the figures as JSON.")] = False,
) -> None:
    """Let a trained model pick among the choices of a dataset, as it is.

    Example: vqa-mc predict runs/qa/best vqa_mc cocoqa_iou --word-vectors glove.6B.100d.txt

    With torchrun or accelerate launch (-m hf_vqa_mc predict ...) the processes share the questions.
    """
    from hf_vqa_mc.cli.train import is_main
    from hf_vqa_mc.extraction.backbones import file_name
    from hf_vqa_mc.io.atomic_file import check_place
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.training import predict as run
    from hf_vqa_mc.training.loop import write_predictions

    output = output or Path(f"{file_name(config)}-predictions.json")
    check_place(output, "--output", [Path(dataset), Path(checkpoint)])
    with steps_on_stderr(quiet=not is_main()) as progress:
        done = run(
            checkpoint,
            dataset,
            config,
            split=split,
            features=features,
            word_vectors=word_vectors,
            skip_missing=skip_missing,
            progress=progress,
        )
    if not is_main():
        return
    write_predictions(output, done.found)
    results = done.results
    if as_json:
        told = {"checkpoint": checkpoint, "dataset": dataset, "config": config, "split": done.split}
        sys.stdout.write(json.dumps({**told, "skipped": done.skipped, "results": results}, indent=1) + "\n")
        return
    skipped = f", {done.skipped:,} left out" if done.skipped else ""
    sys.stdout.write(
        f"{results['accuracy']:.1%} of {results['questions']:,} questions{skipped} of {config}, {done.split} "
        f"(chance {results['chance']:.1%}); wrote {output}\n"
    )
    if not done.skipped:
        sys.stdout.write(
            f"to see which decoys fool it: vqa-mc score {output} {dataset} {config} --split {done.split}\n"
        )
