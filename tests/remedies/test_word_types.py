import pytest

from hf_vqa_mc.remedies.replacement_filters import of_shared_type

APPLIANCES = ["microwave", "washer", "toaster"]
CASES = [
    ("dishwasher", APPLIANCES, True),
    ("omaha", APPLIANCES, False),
    ("electric dryer", APPLIANCES, True),
    ("horse", ["dog", "zebra", "sofa"], True),
    ("lamp", ["dog", "zebra", "sofa"], False),
    ("to ride", ["to talk", "to eat", "smoking"], True),
    ("red bus", ["to talk", "to eat", "smoking"], False),
    ("eating", ["riding a horse", "skiing", "park"], True),
    ("park", ["riding a horse", "skiing", "lake"], False),
    ("7", ["12", "30", "none"], True),
    ("seven", ["12", "30", "none"], False),
    ("lamp", ["dog"], True),  # one other choice shares nothing
    ("lamp", ["xyzzy", "qwrty"], True),
    ("zebra", ["dog", "red", "green"], True),  # the target is not of the type of the decoys
]


@pytest.mark.parametrize(("text", "others", "expected"), CASES)
def test_a_text_must_be_of_the_form_and_type_that_the_target_shares_with_most_others(text, others, expected):
    target, *rest = (other.split() for other in others)
    assert of_shared_type(text.split(), target, rest) is expected
