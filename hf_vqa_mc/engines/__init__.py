"""Generators of questions (TDIUC, GQA) and candidates (VQA's 18 candidates, VQA2's complementary images)."""
