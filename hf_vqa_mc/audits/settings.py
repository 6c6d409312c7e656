"""Settings of an audit."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import AT_LEAST_ONE, POSITIVE, SEED, check_options, option, settings

PROBES = "Probes"


@settings
class ProbeSettings:
    """What an audit trains and measures.

    Raises:
        InputError: a value is out of range; names the option.
    """

    probes: bool = option(
        "Train probes (logistic regression, random forest); else only count.", default=True, panel=PROBES
    )
    probe_rows: int = option(
        "Rows used to train each probe, at most.", default=20_000, check=AT_LEAST_ONE, panel=PROBES
    )
    time_limit: float = option(
        "Seconds after which no further probe starts training.", default=600.0, check=POSITIVE, panel=PROBES
    )
    word_vectors: str | None = option(
        "Word2vec, GloVe or .kv file, gensim-data name, or corpus: to find decoys that are similar to the target, and "
        "for --mlps.",
        default=None,
        panel=PROBES,
    )
    mlps: bool = option("Also train the papers' MLPs, which takes minutes.", default=False, panel=PROBES)
    features: Path | None = option(
        "Folder of vqa-mc features for the probes that see images; by default downscaled pixel values.",
        default=None,
        panel=PROBES,
    )
    language_model: str | None = option(
        "Causal language model (folder or Hub name) that answers without the image.", default=None, panel=PROBES
    )
    seed: int = option("Random seed.", default=0, check=SEED, panel=PROBES)

    def __post_init__(self) -> None:
        check_options(self)
        if self.features is not None and not (self.probes or self.mlps):
            raise InputError(f"--features {self.features} is for probes; leave out --features or --no-probes")
        if self.mlps and self.word_vectors is None:
            raise InputError("--mlps needs word vectors: add --word-vectors FILE, a gensim-data name, or corpus")
