"""A run, or the asking of a checkpoint, that torchrun starts in several processes."""

import json
import sys
from pathlib import Path

import numpy as np

from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predicting import predict
from hf_vqa_mc.training.settings import TrainingSettings


def main(task: str, arguments: str, result: str) -> None:
    """Train or predict with these arguments; each process writes its result."""
    import os

    given = json.loads(arguments)
    given["features"] = given["features"] and Path(given["features"])
    if task == "train":
        done = train(TrainingSettings(**{**given, "output": Path(given["output"])}))
        came_to: object = done.record["results"]
    else:
        found = predict(**given).found
        np.save(f"{result}.logits.{os.environ.get('RANK', '0')}.npy", found.logits)
        came_to = found.results()
    Path(f"{result}.{os.environ.get('RANK', '0')}.json").write_text(json.dumps(came_to))


if __name__ == "__main__":
    main(*sys.argv[1:])
