"""Runs where inspect-ai is: evaluates tasks with models that have a known habit.

python run_inspect.py FOLDER REQUESTS : REQUESTS is JSON, a list of {"task", "model", ...arguments of inspect_ai.eval};
prints json, a list of {"scores": {score: {metric: value}}, "prompts": [[text, number of images]..]} or {"error"}
"""

import json
import re
import sys
from pathlib import Path

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ContentImage, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import SolverSpec

PROMPTS = []


def always_first(choices):
    return "A"


def longest(choices):
    return max(choices, key=lambda letter: len(choices[letter]))


def mute(choices):
    return "?"


def model(habit):
    def answer(messages, *_):
        parts = messages[-1].content
        parts = [ContentText(text=parts)] if isinstance(parts, str) else parts
        text = "".join(part.text for part in parts if isinstance(part, ContentText))
        PROMPTS.append([text, sum(isinstance(part, ContentImage) for part in parts)])
        choices = dict(re.findall(r"^([A-Z])\) (.*)$", text, flags=re.MULTILINE))
        output = ModelOutput.from_content("mock", f"ANSWER: {habit(choices)}")
        output.usage = ModelUsage()  # else the mock downloads a tokenizer
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def main(folder, requests):
    found = []
    for request in json.loads(requests):
        PROMPTS.clear()
        if solver := request.pop("solver", None):
            name, arguments = solver
            request["solver"] = SolverSpec(name, arguments, arguments)
        task, habit = request.pop("task"), model(globals()[request.pop("model")])
        options = {"log_dir": str(Path(folder) / "logs"), "display": "none", "max_samples": 1}
        try:
            (log,) = inspect_eval(task, model=habit, **options, **request)
        except (ValueError, TypeError) as error:
            found.append({"error": str(error)})
            continue
        assert log.status == "success", log.error
        scores = {one.name: {name: metric.value for name, metric in one.metrics.items()} for one in log.results.scores}
        found.append({"scores": scores, "prompts": [*PROMPTS]})
    sys.stdout.write(json.dumps(found) + "\n")


main(*sys.argv[1:])
