"""Small models for the audits' tests."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _small_models():
    """A tenth of the trees, one network and few steps: enough for what is planted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_vqa_mc.audits.probes.models.TREES", 20)
        patch.setattr("hf_vqa_mc.audits.probes.set_network.LEAST_STEPS", 30)
        patch.setattr("hf_vqa_mc.audits.probes.set_network.NETWORKS", 1)
        yield
