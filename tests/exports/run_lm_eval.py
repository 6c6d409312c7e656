"""Runs where lm-eval is: loads exported tasks as it does, runs a model that prefers long texts.

python run_lm_eval.py FOLDER NAME.. : prints json, {task: {"results": {..}, "samples": [..]}}; writes the samples, as
--log_samples does, to FOLDER-samples
"""

import json
import sys

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager


class Longest(LM):
    """Finds longer texts likelier."""

    def loglikelihood(self, requests):
        self.requests_seen = [list(request.args) for request in requests]
        return [(float(len(text)), False) for _, text in self.requests_seen]

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError

    def generate_until(self, requests):
        raise NotImplementedError


def main(folder, *names):
    model = Longest()
    manager = TaskManager(include_path=folder, include_defaults=False)
    evaluated = simple_evaluate(model, tasks=list(names), task_manager=manager, bootstrap_iters=0, log_samples=True)
    samples = {
        task: [{key: row[key] for key in ("doc", "target", "arguments", *row["metrics"])} for row in rows]
        for task, rows in evaluated["samples"].items()
    }
    tracker = EvaluationTracker(output_path=f"{folder}-samples")
    tracker.date_id, tracker.general_config_tracker.model_name_sanitized = "today", "longest"
    for task, rows in evaluated["samples"].items():
        tracker.save_results_samples(task_name=task, samples=rows)
    sys.stdout.write(json.dumps({"results": evaluated["results"], "samples": samples}, default=str) + "\n")


main(*sys.argv[1:])
