"""The MLP as the paper writes it: every candidate's inputs side by side, through one layer after another."""

import torch
from torch import nn
from torch.nn import functional


def logits(model, choice_vectors, image_features=None, question_vectors=None, mask=None):
    """What the model computes, from its own parameters but for one concatenated first layer; (batch, choices)."""
    weights, bias = [model.first[name].weight for name in model.first], model.first["answer"].bias
    layer = torch.cat(weights, dim=1)
    seen = {"image": image_features, "question": question_vectors}
    rows, where = [], []
    for question, choices in enumerate(choice_vectors):
        for index, choice in enumerate(choices):
            if mask is None or mask[question, index]:
                inputs = {
                    **{name: given[question] for name, given in seen.items() if given is not None},
                    "answer": choice,
                }
                rows.append(torch.cat([functional.normalize(inputs[name], dim=-1) for name in model.first]))
                where.append((question, index))
    hidden = torch.relu(model.head.norm(functional.linear(torch.stack(rows), layer, bias)))
    scores = model.head.output(functional.dropout(hidden, model.head.dropout, model.training))[:, 0]
    found = torch.full(choice_vectors.shape[:2], torch.finfo(scores.dtype).min)
    for (question, index), score in zip(where, scores, strict=True):
        found[question, index] = score
    return found


def loss(model, found, labels, mask=None):
    """Binary logistic over the candidates that there are."""
    flat = [
        (found[question, index], float(index == labels[question]))
        for question in range(len(found))
        for index in range(found.shape[1])
        if mask is None or mask[question, index]
    ]
    scores, right = torch.stack([score for score, _ in flat]), torch.tensor([target for _, target in flat])
    return nn.BCEWithLogitsLoss()(scores, right)
