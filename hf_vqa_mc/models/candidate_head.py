"""The hidden layer and the output of the MLPs on many candidates per question.

A candidate's hidden units are W_i·I + W_q·Q + W_a·A; the first two terms are computed once per question, the last one
once per answer. The rest (batch normalisation, ReLU, dropout, output unit) is below.
"""

from torch import Tensor, nn
from torch.nn import functional


class CandidateHead(nn.Module):
    """Batch normalisation, ReLU, dropout and one output unit on the sum of a question's part and an answer's."""

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(hidden_size)
        self.dropout = dropout
        self.output = nn.Linear(hidden_size, 1)

    def forward(self, shared: Tensor, own: Tensor, question: Tensor, answer: Tensor | None = None) -> Tensor:
        """The candidates' scores.

        Args:
            shared: (questions, H): the question's part of the hidden units.
            own: (answers, H): the answer's part.
            question: int64 (candidates,): question index of each candidate.
            answer: int64 (candidates,): answer index of each candidate; by default its own index.

        Returns:
            (candidates,)
        """
        hidden = functional.relu(self.norm(shared[question] + (own if answer is None else own[answer])))
        scores: Tensor = self.output(functional.dropout(hidden, self.dropout, self.training)).squeeze(-1)
        return scores
