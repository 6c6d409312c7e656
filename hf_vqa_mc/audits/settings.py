"""Settings of an audit."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import AT_LEAST_ONE, POSITIVE, SEED, check_options, option, settings

AUDITS = Path("vqa_mc_audit")
"""Default folder of the folders of audits."""
PROBES, LARGE = "Probes", "Large benchmarks"


@settings
class ProbeLimits:
    """Settings of every verb that audits: whether probes are trained, and for how long."""

    probes: bool = option(
        "Train probes (logistic regression, random forest, neural network) in addition to heuristics and counts.",
        default=True,
        panel=PROBES,
    )
    probe_rows: int = option(
        "Maximum number of rows used to train each probe.", default=20_000, check=AT_LEAST_ONE, panel=PROBES
    )
    time_limit: float = option(
        "Time limit in seconds for a whole audit; after it, no probe is trained on another fold.",
        default=600.0,
        check=POSITIVE,
        panel=PROBES,
    )


@settings
class ProbeSettings(ProbeLimits):
    """Settings of the probes of an audit.

    Raises:
        InputError: a value is out of range; names the option.
    """

    cross_fit: bool = option(
        "With a training split, also fit trained probes on other rows of the audited split, once per fold (up to five "
        "times the time). Counts always are.",
        default=False,
        panel=PROBES,
    )
    word_vectors: str | None = option(
        "Word vectors to find decoys similar to the target, and for --mlps: word2vec, GloVe or .kv file, gensim-data "
        "name, or corpus.",
        default=None,
        panel=PROBES,
    )
    mlps: bool = option("Also train the papers' MLPs (takes minutes).", default=False, panel=PROBES)
    features: Path | None = option(
        "Folder of image features from vqa-mc features; by default downscaled pixel values.",
        default=None,
        panel=PROBES,
    )
    language_model: str | None = option(
        "Causal language model (folder or Hub name) used as a text-only probe.", default=None, panel=PROBES
    )
    largest_part: int | None = option(
        "Divide the rows by image into random parts of this many on average (1,000 or more): counts are made "
        "within each part, and memory grows with the part. Trained probes are those of the first part.",
        default=None,
        check=("1,000 or more", lambda value: value >= 1000),
        panel=LARGE,
    )
    seed: int = option("Random seed.", default=0, check=SEED, panel=PROBES)

    def __post_init__(self) -> None:
        check_options(self)
        if self.features is not None and not (self.probes or self.mlps):
            raise InputError(f"--features {self.features} is used only by probes; remove --features or --no-probes")
        if self.mlps and self.word_vectors is None:
            raise InputError("--mlps needs word vectors: add --word-vectors FILE, a gensim-data name, or corpus")
        if self.largest_part is not None and self.word_vectors == "corpus":
            raise InputError("--largest-part cannot be used with --word-vectors corpus; give a file")
