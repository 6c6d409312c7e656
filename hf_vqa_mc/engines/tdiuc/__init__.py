"""TDIUC's question engine: Kafle and Kanan 2017, "An Analysis of Visual Question Answering Algorithms"."""
