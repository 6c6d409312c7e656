"""Settings of an audit."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, FOLDER, POSITIVE, SEED, check_options, option, settings

AUDITED = FolderKind("vqa-mc audit")


@settings
class ProbeSettings:
    """Settings of the probes of an audit.

    Raises:
        InputError: a value is out of range; names the option.
    """

    probes: bool = option(
        "Train probes (logistic regression, random forest, neural network) in addition to heuristics and counts.",
        default=True,
    )
    time_limit: float = option(
        "Time limit in seconds for a whole audit; after it, no probe is trained on another fold.",
        default=600.0,
        check=POSITIVE,
        panel=ADVANCED,
    )
    features: Path | None = option(
        "Folder of image features from vqa-mc features; by default downscaled pixel values.",
        default=None,
        check=FOLDER,
    )
    seed: int = option("Random seed.", default=0, check=SEED, panel=ADVANCED)
    probe_rows: int = option(
        "Maximum number of rows used to train each probe.", default=20_000, check=AT_LEAST_ONE, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.features is not None and not self.probes:
            raise InputError(f"--features {self.features} is used only by probes; remove --features or --no-probes")
