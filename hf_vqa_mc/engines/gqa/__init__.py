"""Questions from scene graphs, by the procedure of GQA (Hudson and Manning 2019, Sect. 3)."""
