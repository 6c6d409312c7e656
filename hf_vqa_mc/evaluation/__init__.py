"""Evaluation of models, with the same questions without the image, the question or the choices."""
