"""Text normalisation, word vectors and WordNet similarity; independent of VQA."""
