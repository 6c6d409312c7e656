"""The page of a dataset card: what the folder holds, how it was made, and what its numbers say."""

from typing import Any

from hf_vqa_mc.dataset.card_open_ended import is_open, open_table, open_text, plain
from hf_vqa_mc.dataset.card_statistics import statistics_text
from hf_vqa_mc.dataset.inventory import IMAGES, PREFERRED, PREVIEW, Inventory, configs_of, pictured
from hf_vqa_mc.decoys import CHOICE_KINDS, VARIANTS, methods
from hf_vqa_mc.schema import SPLITS

PAPER = """@inproceedings{chao2018being,
  title     = {Being Negative but Constructively: Lessons Learnt from Creating Better Visual Question Answering
               Datasets},
  author    = {Chao, Wei-Lun and Hu, Hexiang and Sha, Fei},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies},
  year      = {2018}
}"""

PAPER_AND = "the paper whose method made it, and "

WHAT_IT_IS = """\
Questions about images, each with the correct answer and **decoys made so that shortcuts lead to it less often**. In
most multiple-choice VQA datasets a machine that sees only the answers, or the answers and one of question and image,
does far better than chance, because the decoys give themselves away. Chao, Hu and Sha (NAACL 2018) make them anew from
the dataset's own answers; how far that goes here, the tables below say:

{kinds}

Both are correct answers elsewhere, so that having been seen as one tells less (neutrality). A decoy that means what
the target means, or another decoy of its set, is turned away.
"""

OPEN_ENDED = """\
Questions about images with their answers and all else that their files say of them, without choices; the figures below
say how far the answers alone give themselves away.
"""

COLUMNS = """\
| column | type | meaning |
|---|---|---|
| question_id, image_id, question | string | |
| choices | list of string | shuffled, as published |
| label | int64 | index of the correct answer in `choices` |
| choice_kinds | list of class label | which set each choice is of: {kinds} |
| choice_fallback | list of bool | it stands in for a decoy of its kind that could not be found |
| answers | list of string | the human answers, for consensus scoring |
| question_type, answer_type | string | as the source gives them, else "" |
"""


def card_text(inventory: Inventory) -> str:
    """The whole page, in Markdown."""
    sources = inventory["sources"]
    choices = has_choices(inventory)
    parts = [
        f"# {title(inventory)}",
        WHAT_IT_IS.format(kinds=_kinds(inventory)) if choices else OPEN_ENDED,
        *_picture(inventory),
        _loading(inventory),
        "## Configs",
        _config_table(inventory),
        *(
            [_variants_named(inventory), "## Columns", COLUMNS.format(kinds=", ".join(CHOICE_KINDS))]
            if choices
            else []
        ),
        *(_source_text(name, entry) for name, entry in sources.items()),
        "## Licence and citation",
        _licences(sources),
        f"If you use this dataset, please cite {PAPER_AND if choices else ''}the sources:",
        "\n\n".join(f"```bibtex\n{text.strip()}\n```" for text in _citations(sources, choices)),
        "*Written by vqa-mc build; every figure above is in `statistics.json`.*\n",
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _kinds(inventory: Inventory) -> str:
    """The kinds of decoys of the preferred variant and of all in the folder."""
    built = {config["variant"] for config in configs_of(inventory).values()}
    sets = {name for variant in VARIANTS.values() if variant.name in {PREFERRED, *built} for name in variant.sets}
    kinds = dict.fromkeys(kind for name, (kind, _) in methods().items() if name in sets and kind.card)
    return "\n".join(f"- {kind.card}" for kind in kinds)


def has_choices(inventory: Inventory) -> bool:
    """Whether the folder holds a multiple-choice config."""
    return any(config["variant"] != IMAGES and not is_open(config) for config in configs_of(inventory).values())


def title(inventory: Inventory) -> str:
    """The card's title."""
    titles = ", ".join(entry["about"]["title"] for entry in inventory["sources"].values())
    return f"VQA-MC: {titles}, {'remedied' if has_choices(inventory) else 'open-ended'}"


def example_text(example: dict[str, Any]) -> str:
    """A question as people see it, its choices with their kinds."""
    lines = [f"> **{plain(example['question'])}** (image {example['image_id']}, {example['split']})", ">"]
    for position, choice in enumerate(example["choices"]):
        kind = list(CHOICE_KINDS)[example["choice_kinds"][position]]
        kind = "**target**" if position == example["label"] else kind
        kind += ", fall-back" if example["choice_fallback"][position] else ""
        lines.append(f"> {position}. {plain(choice)} ({kind})")
    return "\n".join(lines)


def percent(share: float) -> str:
    """A share in [0, 1] as text."""
    return f"{100 * share:.1f}%"


def measured_split(statistics: dict[str, Any]) -> str | None:
    """The split whose prior rule the tables show: test, else validation, else train."""
    return next((split for split in reversed(SPLITS) if split in statistics.get("prior_rule", {})), None)


def _picture(inventory: Inventory) -> list[str]:
    config = pictured(inventory)
    if config is None:
        return []
    told = f"Questions of {config}: each with its image, the decoys set by set, and the correct answer"
    return [f"![{told}]({PREVIEW})", f"*{told}.*"]


def _loading(inventory: Inventory) -> str:
    default = inventory["default"]
    lines = [
        "```python",
        "from datasets import load_dataset",
        "",
        f'ds = load_dataset("vqa_mc", "{default}")  # from the folder that holds this one, else "NAMESPACE/vqa_mc"',
    ]
    with_images = [name for name in inventory["sources"] if f"{name}_{IMAGES}" in configs_of(inventory)]
    if with_images:
        own = inventory["sources"][with_images[0]]["configs"]
        asked = sorted((is_open(config), name) for name, config in own.items() if config["variant"] != IMAGES)
        shown = default if default in own else asked[0][1]
        lines += ["", "import hf_vqa_mc", f'ds = hf_vqa_mc.with_images(load_dataset("vqa_mc", "{shown}"))']
    return "\n".join([*lines, "```"])


def _config_table(inventory: Inventory) -> str:
    configs = configs_of(inventory)
    parts = [_choices_table(inventory)] if has_choices(inventory) else []
    parts += ["\n".join(lines) for lines in [open_table(configs, inventory["default"])] if lines]
    parts += [
        f"`{name}`: {config['splits'][IMAGES]['rows']:,} images, each once (image_id, image)."
        for name, config in configs.items()
        if config["variant"] == IMAGES
    ]
    return "\n\n".join(parts)


def _choices_table(inventory: Inventory) -> str:
    lines = [
        "| config | train | validation | test | choices | prior rule | chance |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, config in configs_of(inventory).items():
        if config["variant"] == IMAGES or is_open(config):
            continue
        rows = [f"{config['splits'][s]['rows']:,}" if s in config["splits"] else "" for s in SPLITS]
        split = measured_split(config["statistics"])
        prior = config["statistics"]["prior_rule"][split] if split else {}
        figures = [percent(prior[key]) if key in prior else "" for key in ("accuracy", "chance")]
        shown = f"`{name}`" + (" (default)" if name == inventory["default"] else "")
        lines.append(f"| {' | '.join([shown, *rows, choices_text(config['statistics']), *figures])} |")
    note = (
        "*Prior rule*: choosing the answer that is most often correct, relative to how often it is a choice, in the "
        "training split (eq. 2 of the paper), without looking at image or question; on the test split, else on the "
        "validation split. The nearer to *chance*, the less the answers alone give away."
    )
    return "\n".join([*lines, "", note])


def choices_text(statistics: dict[str, Any]) -> str:
    """How many choices a row has: "7", or "3 to 7"."""
    sizes = sorted({int(size) for split in statistics["choices_per_row"].values() for size in split})
    return f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _variants_named(inventory: Inventory) -> str:
    named = {config["variant"] for config in configs_of(inventory).values() if not is_open(config)}
    return "\n".join(
        f"- `{name}`: the target and {variant.description}" for name, variant in VARIANTS.items() if name in named
    )


def _source_text(name: str, entry: dict[str, Any]) -> str:
    about, configs = entry["about"], entry["configs"]
    asked = {config: c for config, c in configs.items() if c["variant"] != IMAGES and not is_open(c)}
    longest = max(asked.values(), key=lambda config: len(config["example"]["choices"]), default=None)
    shown = asked.get(f"{name}_{PREFERRED}") or longest
    parts = [f"## {about['title']} (`{name}`)", f"{about['description']} [{about['homepage']}]({about['homepage']})"]
    if shown:
        parts += [example_text(shown["example"])]
    parts += ["### How it was made", _making(name, entry)]
    parts += ["### What the numbers say", statistics_text(asked)] if asked else []
    parts += open_text(configs)
    if f"{name}_{IMAGES}" not in configs and not any(config["embedded_images"] for config in asked.values()):
        parts += [f"Images: {about['image_hint']} `vqa-mc build {name} --images DIR` adds them."]
    return "\n\n".join(parts)


def _making(name: str, entry: dict[str, Any]) -> str:
    made = entry["made_with"]
    if not made["settings"]:
        return (
            f"hf_vqa_mc {made['version']}; the records of its files, with nothing added. The same files and version "
            "give the same bytes."
        )
    vectors = made["word_vectors"]
    lines = [
        f"hf_vqa_mc {made['version']}, {made['triplets']:,} questions, {made['decoys']} decoys. "
        + (
            f"Similar questions by the word vectors *{vectors['name']}* ({vectors['dim']} numbers a word, "
            f"sha256 `{vectors['sha256']}`)."
            if vectors
            else "No word vectors were needed."
        ),
        *_made_candidates(made.get("orig_made")),
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| {setting} | {value} |" for setting, value in sorted(made["settings"].items())),
        "",
        "The same files, vectors, settings and version give the same bytes.",
    ]
    return "\n".join(lines)


def _made_candidates(made: dict[str, Any] | None) -> list[str]:
    """How the decoys of ``orig`` came to be, where no publisher gave them."""
    if not made:
        return []
    decoys, human = made["decoys"], made["also_human_answers"]["any"]["questions"]
    popular = ", ".join(plain(answer) for answer in made["popular"])
    return [
        "",
        "No publisher gave the decoys of the variants with `orig`: they were made as those of VQA's multiple-choice "
        f"task (Antol et al. 2015, Sect. 3): {decoys['plausible']:,} plausible ones "
        f"({made['plausible']['given']:,} given by people, the others answers to similar questions), "
        f"{decoys['popular']:,} of the most popular answers ({popular}) and {decoys['random']:,} random ones. "
        f"As there, another annotator's answer may be among them: in {human:,} of {made['questions']:,} questions.",
    ]


def _licences(sources: dict[str, Any]) -> str:
    about = [entry["about"] for entry in sources.values()]
    return "\n".join(f"- {source['title']} (questions and answers): {source['licence']}" for source in about)


def _citations(sources: dict[str, Any], choices: bool) -> list[str]:
    return [*([PAPER] if choices else []), *dict.fromkeys(entry["about"]["citation"] for entry in sources.values())]
