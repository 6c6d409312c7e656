"""Small forests for the audits' tests."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _small_forests():
    """A tenth of the trees: enough for what is planted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_vqa_mc.audits.probes.pair_models.TREES", 20)
        yield
