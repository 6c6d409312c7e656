"""Runs where lmms-eval is: loads exported tasks as it does, runs them on a model that always says "B.".

python run_lmms_eval.py FOLDER OUTPUT NAME.. : prints json, {"results": {..}, "prompts": [[prompt, [image sizes]], ..]}
It writes the samples, as --log_samples does, to OUTPUT.
"""

import argparse
import json
import sys

from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.loggers import EvaluationTracker
from lmms_eval.tasks import TaskManager

ASKED = []


class AlwaysB(lmms):
    """Says B, and remembers what it was shown."""

    def generate_until(self, requests):
        for request in requests:
            prompt, _, doc_to_visual, doc_id, task, split = request.args
            images = doc_to_visual(self.task_dict[task][split][doc_id])
            ASKED.append([prompt, [image.size for image in images]])
        return ["B." for _ in requests]

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        raise NotImplementedError


def main(folder, output, *names):
    manager = TaskManager(include_path=folder, include_defaults=False)
    tracker = EvaluationTracker(output_path=output)
    tracker.general_config_tracker.model_name_sanitized = "always-b"
    evaluated = simple_evaluate(
        AlwaysB(),
        tasks=list(names),
        task_manager=manager,
        bootstrap_iters=0,
        force_simple=True,
        log_samples=True,
        cli_args=argparse.Namespace(output_path=output, process_with_media=False),
    )
    tracker.date_id = "today"
    for task, rows in evaluated["samples"].items():
        tracker.save_results_samples(task_name=task, samples=rows)
    sys.stdout.write(json.dumps({"results": evaluated["results"], "prompts": ASKED}, default=str) + "\n")


main(*sys.argv[1:])
