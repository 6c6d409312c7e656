import errno

import pytest
from huggingface_hub import HfApi

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.push import hub_errors
from hf_vqa_mc.hub.shipment import Shipment, check_name

SHIPMENT = Shipment("dataset", "ada/vqa_mc", (), "a message")
SIGNED = "PUT https://storage.example/object?X-Signature=5ec7e7&more=1 broke off"


def said_of(error):
    with pytest.raises(Exception) as raised, hub_errors(SHIPMENT, HfApi(endpoint="https://hub.example")):
        raise error
    assert raised.value.__cause__ is None
    return raised.value


@pytest.mark.parametrize("kind", [RuntimeError, PermissionError, OSError])
def test_an_upload_that_breaks_off_is_reported_without_the_signature_of_its_address(kind):
    error = said_of(kind(SIGNED))
    assert isinstance(error, ConnectionError)
    assert "X-Signature" not in str(error)
    assert str(error) == (
        "sending to https://hub.example failed (PUT https://storage.example/object?... broke off); "
        "push again to resume"
    )


def test_a_nested_timeout_is_a_connection_error():
    wrapped = RuntimeError("Error while uploading 'x' to the Hub.")
    wrapped.__cause__ = TimeoutError("timed out")
    error = said_of(wrapped)
    assert isinstance(error, ConnectionError)
    assert str(error) == "https://hub.example cannot be reached (timed out); push again to resume"


def test_a_card_rejected_by_the_hub_is_an_input_error():
    error = said_of(ValueError('Invalid metadata in README.md.\n- "license" must be one of [mit]'))
    assert isinstance(error, InputError)
    assert str(error).startswith("the Hub rejects the card of ada/vqa_mc: Invalid metadata in README.md.")


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "No such file", "x"), TypeError("ours"), InputError("clear")])
def test_errors_of_this_machine_and_our_own_stay_as_they_are(error):
    assert said_of(error) is error


@pytest.mark.parametrize(
    "name",
    ["", "ada", "ada/", "/x", "a/b/c", "ada/a b", "ada/-x", "ada/x.", "ada/a--b", "ada/x.git", "ada/ü", "ada/.."],
)
def test_what_is_no_repository_is_rejected(name):
    with pytest.raises(InputError, match="expected"):
        check_name(name)
