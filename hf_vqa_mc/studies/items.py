"""The questions of a new study, sampled from a dataset, with their images and attention checks."""

import io
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any

from hf_vqa_mc.data.loading import NoChoices, chosen_split
from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError, shown, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.studies import STUDIES
from hf_vqa_mc.studies.kind import CAPTION, IMAGE, Item, StudyKind
from hf_vqa_mc.studies.options import StudyOptions
from hf_vqa_mc.studies.store import Settings

LONGEST_SIDE, CANDIDATE_SIDE = 900, 320  # pixels of the longer side: a question's image, and a candidate image
QUALITY = 85


@dataclass(frozen=True)
class Material:
    """All questions that a study can ask."""

    name: str  # dataset, config and split
    items: list[Item]  # ``pictures`` are indices of ``images``
    images: Sequence[Callable[[], bytes | None]]  # reads the content of an image file; None if there is none
    notes: tuple[str, ...] = ()  # see `Benchmark.notes`


def new_study(options: StudyOptions, progress: Progress) -> tuple[Settings, list[Item], list[bytes], tuple[str, ...]]:
    """Sample the questions of a study, in random order, and encode their images.

    Returns:
        Settings, items with attention checks at the end, the JPEGs that ``pictures`` of the items number, and notes
        on the dataset.
    """
    kind = STUDIES[options.kind]
    known = [one.name for one in kind.conditions]
    for name in set(options.conditions) - set(known):
        raise unknown_name(f"condition of a study of {kind.name}", name, known)
    conditions = [one for one in kind.conditions if not options.conditions or one.name in options.conditions]
    seen = {part for one in conditions for part in one.shows}
    for name, given, taken in (
        ("candidates", options.candidates is not None, kind.needs == "candidates"),
        ("captions", bool(options.captions), CAPTION in seen),
    ):
        if given != taken:
            verb = "does not apply to" if given else "is needed by"
            raise InputError(f"--{name} {verb} a study of {kind.name} ({', '.join(one.name for one in conditions)})")
    material: Material = kind.reads(options, progress)
    drawn = SeededRng(options.seed, "study").shuffled(range(len(material.items)))[: options.sample]
    items = [material.items[row] for row in drawn]
    if options.captions:
        items = _captioned(items, options)
    if IMAGE in seen:
        items, pictures = _with_pictures(material, items, kind.form.candidates, progress)
    else:
        items, pictures = [replace(item, pictures=[]) for item in items], []
    settings = Settings(
        study=secrets.token_hex(8),
        kind=kind.name,
        dataset=material.name,
        annotators={one.name: options.annotators or one.annotators for one in conditions},
        per_page=options.per_page,
        controls_per_page=options.controls,
        join=secrets.token_urlsafe(18),
    )
    return settings, [*items, *_controls(kind, settings, items, options.seed)], pictures, material.notes


def _captioned(items: list[Item], options: StudyOptions) -> list[Item]:
    """The items with the first caption of their image."""
    from hf_vqa_mc.engines.complementary.premise import captions_in

    captions: dict[str, str] = {}
    for image_id, caption in (one for path in options.captions for one in captions_in(path)):
        captions.setdefault(image_id, caption)
    for item in items:
        if item.known["image_id"] not in captions:
            raise InputError(
                f"--captions: no caption of image {item.known['image_id']!r}, question {shown(item.question_id)}; "
                "expected one of every image"
            )
    return [replace(item, caption=captions[item.known["image_id"]]) for item in items]


def _with_pictures(
    material: Material, items: list[Item], candidates: bool, progress: Progress
) -> tuple[list[Item], list[bytes]]:
    """The items with their images as JPEGs without metadata, each distinct one once and at its largest size."""
    sides: dict[int, int] = {}
    for item in items:
        for at, image in enumerate(item.pictures):
            sides[image] = max(sides.get(image, 0), CANDIDATE_SIDE if at and candidates else LONGEST_SIDE)
    example = {image: item.question_id for item in items for image in item.pictures}
    pictures: list[bytes] = []
    for image, side in sides.items():
        pictures.append(_jpeg(material.images[image](), side, f"{material.name}, question {shown(example[image])}"))
        progress("images", len(pictures), len(sides))
    numbers = {image: number for number, image in enumerate(sides)}
    return [replace(item, pictures=[numbers[one] for one in item.pictures]) for item in items], pictures


def _jpeg(content: bytes | None, side: int, location: str) -> bytes:
    """An image without metadata and at most so large."""
    from hf_vqa_mc.report.thumbnails import small_image

    if content is None:
        raise InputError(f"{location}: no image; give the folder with the images as --images, or remove the question")
    image = small_image(content, side)
    if isinstance(image, str):
        raise InputError(f"{location}: {image}; replace it, or remove the question")
    written = io.BytesIO()
    image.save(written, format="JPEG", quality=QUALITY)
    return written.getvalue()


def _controls(kind: StudyKind, settings: Settings, items: list[Item], seed: int) -> list[Item]:
    """Attention checks, as many as one annotator needs who answers all questions."""
    of_page = settings.per_page - settings.controls_per_page
    made = []
    for number in range(-(-len(items) // of_page) * settings.controls_per_page):
        rng = SeededRng(seed, "attention check", str(number))
        model = rng.pick(items)
        choices = list(dict.fromkeys(model.choices or kind.conditions[0].options))
        text, expected = kind.form.control(rng, [""] * len(model.pictures[1:]) if kind.form.candidates else choices)
        pictures = model.pictures if kind.form.candidates else []
        known = {"expected": expected}
        made.append(Item(f"attention check {number + 1}", text, choices, pictures, control=True, known=known))
    return made


def read_choices(options: StudyOptions, progress: Progress) -> Material:
    """Multiple-choice questions; choices without an order are shuffled."""
    from hf_vqa_mc.data.questions import presented_questions
    from hf_vqa_mc.data.reading import load

    benchmark = load(options, progress)
    questions = presented_questions(benchmark, "study", hide_answers=False)
    split, labels = benchmark.test, questions.labels or []
    if split.images is None and split.images_missing:
        raise InputError(f"{split.location}: {split.images_missing}")
    answers, image_ids = (split.rows[name].to_pylist() for name in ("answers", "image_id"))
    counts = [questions.source.count(row) if questions.source else 0 for row in questions.image_rows]
    files = [(row, at) for row, count in zip(questions.image_rows, counts, strict=True) for at in range(count)]
    ends, items = [0, *accumulate(counts)], []

    def read(row: int, at: int) -> bytes | None:
        contents = questions.source.read(row) if questions.source else ()
        return contents[at] if contents else None

    for row, question_id in enumerate(questions.question_ids):
        texts, image = questions.choices[row], questions.images[row]
        known = {"image_id": image_ids[row], "label": labels[row], "order": [*questions.order(row)]}
        known["answers"] = answers[row] or [texts[labels[row]]]
        pictures = list(range(ends[image], ends[image + 1])) if image >= 0 else []
        items.append(Item(question_id, questions.questions[row], texts, pictures, known=known))
    name = ", ".join(filter(None, [public_name(benchmark.dataset), benchmark.config, split.name]))
    return Material(name, items, [partial(read, *one) for one in files], benchmark.notes)


def read_questions(options: StudyOptions, progress: Progress) -> Material:
    """Questions with their answers but without choices, of an open-ended config or a multiple-choice benchmark."""
    try:
        material = read_choices(options, progress)
        return replace(material, items=[replace(item, choices=[]) for item in material.items])
    except NoChoices:
        pass
    from hf_vqa_mc.data.loading import load_splits
    from hf_vqa_mc.training.questions import read_questions as read_open_ended

    dataset = options.dataset_name
    config, _ = load_splits(dataset, options.config)
    read = read_open_ended(dataset, config, open_ended=True)
    split = chosen_split(list(read.splits), options.split, f"{dataset}, {config}")
    questions = read.splits[split]
    columns = zip(questions.question_ids, questions.texts, questions.image_ids, questions.answers, strict=True)
    items = []
    for name, text, image, answers in columns:
        known = {"image_id": image, "answers": list(filter(None, answers))}
        items.append(Item(name, read.texts[text], [], [], known=known))
    name = f"{public_name(dataset)}, {config}, {split}"
    return with_images(name, options, config, items, lambda item: [item.known["image_id"]])


def with_images(
    name: str, options: StudyOptions, config: str, items: list[Item], images_of: Callable[[Item], list[str]]
) -> Material:
    """The items with the images that ``images_of`` names, of ``options.images`` or of the dataset.

    They are searched for when the first one is read, since not every study shows images.
    """
    from hf_vqa_mc.data.dataset_images import dataset_images
    from hf_vqa_mc.data.stored_images import find_by_id

    wanted = list(dict.fromkeys(image_id for item in items for image_id in images_of(item)))
    numbers = {image_id: number for number, image_id in enumerate(wanted)}

    @cache
    def source() -> Any:  # noqa: ANN401  a source of images by id
        folder = options.images
        return find_by_id(folder, wanted) if folder else dataset_images(options.dataset_name, config).source

    def read(image_id: str) -> bytes | None:
        return source().read(image_id) if image_id in source() else None

    items = [replace(item, pictures=[numbers[one] for one in images_of(item)]) for item in items]
    return Material(name, items, [partial(read, one) for one in wanted])
