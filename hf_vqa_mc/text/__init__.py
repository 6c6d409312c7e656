"""Text normalisation, word vectors and WordNet similarity; knows nothing of VQA."""
