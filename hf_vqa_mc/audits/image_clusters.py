"""Images that look alike, and the main directions in which they differ."""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.text_crosses import NONE, ImageSigns

CLUSTERS = (8, 64)
"""How many groups images are put into, roughly and finely."""
ROWS_A_CLUSTER = 20
DIRECTIONS = 16
LEARNT_FROM = 20_000
"""Rows that groups and directions are found in at most."""


def image_signs(vectors: NDArray[np.float32], seed: int) -> ImageSigns:
    """The groups of images and their main directions, found without labels.

    Args:
        vectors: float32 (rows, numbers); rows of no image are not a number (nan).
        seed: of the groups' beginnings.
    """
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    there = np.isfinite(vectors).all(axis=1)
    clusters = np.full((len(vectors), len(CLUSTERS)), NONE, np.int64)
    directions = np.zeros((len(vectors), DIRECTIONS), np.float32)
    given = vectors[there].astype(np.float64)
    if not len(given) or not np.ptp(given, axis=0).any():
        return ImageSigns(clusters, directions)
    generator = np.random.default_rng(seed)
    some = given if len(given) <= LEARNT_FROM else given[generator.choice(len(given), LEARNT_FROM, replace=False)]
    n_directions = min(DIRECTIONS, *some.shape)
    main = PCA(n_directions, random_state=seed).fit(some)
    scale = np.sqrt(np.maximum(main.explained_variance_, 1e-12 * main.explained_variance_[0]))
    projected = main.transform(given)
    directions[there, :n_directions] = np.clip(projected / scale, -3, 3)
    near = main.transform(some)
    different = len(np.unique(np.round(near, 6), axis=0))
    for place, most in enumerate(CLUSTERS):
        n_clusters = max(min(most, len(some) // ROWS_A_CLUSTER, different), 1)
        groups = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(near)
        clusters[there, place] = groups.predict(projected)
    return ImageSigns(clusters, directions)
