import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, shuffled, text_hashes

BITS = st.integers(0, 2**64 - 1)


def splitmix64(start: int, first: int, second: int) -> int:
    """With Python's integers, which do not wrap by themselves."""
    mask = 2**64 - 1
    bits = start
    for number in (first, second):
        bits = ((bits ^ number) + 0x9E3779B97F4A7C15) & mask
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & mask
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
        bits ^= bits >> 31
    return bits


@given(BITS, BITS, BITS, st.integers(1, 2**31 - 1))
def test_draws_are_those_of_splitmix64(start: int, first: int, second: int, size: int) -> None:
    bits = splitmix64(start, first, second)
    assert draw(np.uint64(start), np.uint64(first), np.uint64(second)) == bits
    assert below(np.uint64(bits), size) == (bits >> 32) * size >> 32 < size


def test_a_draw_depends_on_seed_purpose_question_and_number() -> None:
    starts = [purpose_hash(seed, purpose) for seed in (0, 1, -1) for purpose in ("iou", "qou")]
    hashes = text_hashes(["q1", "q2"])
    assert len({int(draw(start, q, n)) for start in starts for q in hashes for n in range(5)}) == 6 * 2 * 5


def test_hashes_are_those_of_blake2b_on_every_machine() -> None:
    """What ``printf abc | b2sum -l 64`` prints, lowest byte first."""
    assert text_hashes(["abc", "日本"]).tolist() == [0x5995D533D814BBD8, 0x3A9B54E1CF3533E8]


@given(st.lists(BITS, min_size=1, max_size=30, unique=True), BITS, BITS, st.data())
def test_leaving_things_out_leaves_the_order_of_the_others_as_it_is(
    things: list[int], start: int, first: int, data: st.DataObject
) -> None:
    hashes = np.array(things, np.uint64)
    order = shuffled(np.uint64(start), np.uint64(first), hashes)
    assert sorted(order.tolist()) == list(range(len(things)))
    kept = data.draw(st.sets(st.sampled_from(things), min_size=1))
    some = np.array([thing for thing in things if thing in kept], np.uint64)
    assert some[shuffled(np.uint64(start), np.uint64(first), some)].tolist() == [
        thing for thing in hashes[order].tolist() if thing in kept
    ]
