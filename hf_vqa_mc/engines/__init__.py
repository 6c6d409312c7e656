"""The procedures that make questions and candidates: TDIUC's, GQA's, VQA's 18 candidates, VQA2's complements."""
