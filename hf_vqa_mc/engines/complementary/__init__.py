"""Candidates for complementary images: alike, but with another answer (Goyal et al. 2017, Sect. 3)."""
