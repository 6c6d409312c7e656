"""From triplets to a dataset folder: decoy sets, variants, rows, statistics, card, images, ``datasets`` builder."""
