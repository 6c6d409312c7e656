"""The attention models as the papers write them: every candidate with all its question, a cell or word at a time."""

import torch
from torch.nn import functional

from tests.models import plain_mlp


def as_after_training(norm):
    """Gives batch normalisation statistics and weights of its own; some half of the units stay above 0."""
    norm.running_mean.uniform_(-0.2, 0.2)
    norm.running_var.uniform_(0.02, 0.2)
    torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
    torch.nn.init.uniform_(norm.bias, -0.5, 0.5)


def spatial_logits(model, choice_vectors, image_grid, question_vectors, mask=None):
    """What Attention* computes, from its own parameters; (batch, choices)."""
    return _logits(
        model.mlp,
        choice_vectors,
        question_vectors,
        mask,
        lambda i: attended(model.attention, image_grid[i], functional.normalize(question_vectors[i], dim=0)),
    )


def hie_co_logits(model, choice_vectors, image_grid, question_vectors, question_tokens, question_mask, mask=None):
    """What HieCoAtt* computes, from its own parameters; (batch, choices)."""
    questions = [tokens[there] for tokens, there in zip(question_tokens, question_mask, strict=True)]
    return _logits(
        model.mlp, choice_vectors, question_vectors, mask, lambda i: joint(model, image_grid[i], questions[i])
    )


def _logits(mlp, choice_vectors, question_vectors, mask, image_of):
    batch, choices, size = choice_vectors.shape
    alone = plain_mlp.logits(  # each candidate its own question
        mlp,
        choice_vectors.reshape(batch * choices, 1, size),
        torch.stack([image_of(i) for i in range(batch) for _ in range(choices)]),
        question_vectors.repeat_interleave(choices, 0),
        None if mask is None else mask.reshape(-1, 1),
    )
    return alone.reshape(batch, choices)


def attended(part, places, guide=None):
    """The average position under softmax(w·tanh(W_x·x + W_g·guide + b))."""
    scores = []
    for place in places:
        total = part.place.weight @ place + part.place.bias
        if guide is not None:
            total = total + part.guide.weight @ guide
        scores.append(part.score.weight[0] @ torch.tanh(total))
    return averaged(places, scores)


def averaged(places, scores):
    powers = torch.stack(scores).exp()
    return sum(place * power for place, power in zip(places, powers / powers.sum(), strict=True))


def joint(model, grid, tokens):
    """h_s of one image (cells, channels) and one question (words, text), without dropout."""
    return joint_of(model, grid, [linear(model.words, token) for token in tokens])


def joint_of(model, grid, embedded):
    """h_s of one image (cells, channels) and embedded words."""
    cells = [torch.tanh(linear(model.cells, cell)) for cell in grid]
    words = [torch.tanh(word) for word in embedded]
    phrases = [torch.tanh(phrase(model.phrases, words, t)) for t in range(len(words))]
    below = ()
    for level, places in (("word", words), ("phrase", phrases), ("question", lstm(model.question, phrases))):
        question, image = together(model.attentions[level], places, cells)
        below = (torch.tanh(linear(model.joined[level], torch.cat((question + image, *below)))),)
    return below[0]


def linear(layer, x):
    return layer.weight @ x + layer.bias


def phrase(convolutions, words, t):
    """The greatest of what a word, the two words up to t and the three words around it give; 0 beyond the ends."""
    nothing = torch.zeros_like(words[0])
    at = {i: word for i, word in enumerate(words)}
    spans = ([t], [t - 1, t], [t - 1, t, t + 1])
    found = [
        sum(conv.weight[:, :, k] @ at.get(i, nothing) for k, i in enumerate(span)) + conv.bias
        for conv, span in zip(convolutions, spans, strict=True)
    ]
    return torch.stack(found).max(0).values


def lstm(part, inputs):
    """torch's LSTM, a gate at a time."""
    for layer in range(part.num_layers):
        h = c = torch.zeros(part.hidden_size)
        of_input, of_state, bias, other_bias = (
            getattr(part, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        outputs = []
        for x in inputs:
            enter, forget, write, leave = (of_input @ x + of_state @ h + bias + other_bias).chunk(4)
            c = torch.sigmoid(forget) * c + torch.sigmoid(enter) * torch.tanh(write)
            h = torch.sigmoid(leave) * torch.tanh(c)
            outputs.append(h)
        inputs = outputs
    return inputs


def together(part, words, cells):
    """The attended question and image."""
    if hasattr(part, "summary"):
        image = attended(part.image, cells, attended(part.summary, words))
        return attended(part.question, words, image), image
    affinity = [[torch.tanh(word @ linear(part.affinity, cell)) for cell in cells] for word in words]
    of_image, of_question = [linear(part.image, cell) for cell in cells], [linear(part.question, w) for w in words]
    image_scores = [
        part.image_score.weight[0]
        @ torch.tanh(own + sum(affinity[t][n] * other for t, other in enumerate(of_question)))
        for n, own in enumerate(of_image)
    ]
    question_scores = [
        part.question_score.weight[0]
        @ torch.tanh(own + sum(affinity[t][n] * other for n, other in enumerate(of_image)))
        for t, own in enumerate(of_question)
    ]
    return averaged(words, question_scores), averaged(cells, image_scores)
