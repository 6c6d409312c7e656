"""How a model is trained unless settings say otherwise."""

from typing import Literal, NamedTuple

Optimizer = Literal["sgd", "rmsprop", "adam", "adamax", "adadelta"]
QuestionForm = Literal["text", "programs"]
"""What open-ended models read as the question: its text, or GQA's functional program as a line of text."""


class Recipe(NamedTuple):
    """Optimizer, initial learning rate, questions per step, passes over the training questions, and more.

    Models divide the learning rate by 10 after the fractions of the steps in ``training.settings.DROPS``.
    """

    optimizer: Optimizer
    learning_rate: float
    batch_size: int
    epochs: float
    clip_norm: float | None = None
    """largest L2 norm of all gradients together; None or 0: not clipped"""
    clip_value: float | None = None
    """largest absolute value of each gradient; None or 0: not clipped"""
    gradient_noise: float | None = None
    """eta of the variance eta / (1 + step)^0.55 of normal noise added to gradients; None or 0: none"""
    average_weights: float | None = None
    """decay of the moving average of the weights that is evaluated and saved; None or 0: the last weights are"""


CHAO = Recipe("sgd", 0.1, 100, 40.0)
"""That of Chao et al. 2018 (supplement A.4), but for rate and epochs, tuned on COCO-QA's training images."""
PAPER_RATE, PAPER_STEPS = 0.01, 600_000
"""Of Chao et al. 2018 (supplement A.4); the steps are the paper's largest number, tuned on validation data."""
OPEN_ENDED = Recipe("adam", 1e-3, 500, 8.0)
"""Ours, as the papers report none; tuned on VQA v1's training questions."""
HUDSON = OPEN_ENDED._replace(epochs=15.0)
"""GQA's baselines: Adam and 15 epochs (Hudson and Manning 2019, appendix C); rate and batch size are ours."""
ANTOL = Recipe("rmsprop", 3e-4, 500, 10.0, clip_value=10.0)
"""That of deeper LSTM Q + norm I, as published with its code (Antol et al. 2015); the number of epochs is ours."""
