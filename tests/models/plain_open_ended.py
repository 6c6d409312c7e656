"""Plain formulations of the open-ended models that attend to the image: question by question, cell by cell."""

from math import isqrt

import torch
from torch.nn import functional

from hf_vqa_mc.models.bottom_up import BottomUpForOpenEndedVqa
from hf_vqa_mc.models.compact_bilinear import LEAST, McbForOpenEndedVqa
from hf_vqa_mc.models.hie_co_attention import CoAttentionForOpenEndedVqa
from hf_vqa_mc.models.layouts import MODULES
from hf_vqa_mc.models.mac import MacForOpenEndedVqa
from hf_vqa_mc.models.module_network import ModuleNetworkForOpenEndedVqa
from hf_vqa_mc.models.question_texts import PADDING
from hf_vqa_mc.models.recurrent_answering_units import AnsweringUnitsForOpenEndedVqa
from tests.models.plain_attention import joint_of


def sketch_of_outer_product(pooling, first, second):
    """Entry (i, j) of the outer product is added, with both signs, at the sum of both indices."""
    found = torch.zeros(pooling.output_size, dtype=first.dtype)
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            at = (pooling.first_index[i] + pooling.second_index[j]) % pooling.output_size
            found[at] += one * other * pooling.first_sign[i] * pooling.second_sign[j]
    return found


def root(given):
    value = given.sign() * (given.abs() + LEAST).sqrt()
    return value / value.norm()


def linear(layer, value):
    return layer.weight @ value + layer.bias


def plain_mcb(model, question_indices, image_features=None, image_grid=None):
    rows = []
    for number, indices in enumerate(question_indices):
        indices = indices[indices != PADDING]
        words = torch.cat([model.words.weight[indices].tanh(), model.fixed_words.weight[indices]], -1)
        question = torch.cat([*model.lstm(words[None])[1][0][:, 0]])
        if image_grid is None:
            image = image_features[number] / image_features[number].norm()
        else:
            cells = [cell / cell.norm() for cell in image_grid[number]]
            first, _, second = model.attention
            scores = torch.stack(
                [
                    linear(second, linear(first, root(sketch_of_outer_product(model.attending, question, one))).relu())
                    for one in cells
                ]
            )
            image = torch.cat([torch.stack(cells).T @ one.softmax(0) for one in scores.T])
        rows.append(linear(model.classifier, root(sketch_of_outer_product(model.pooling, question, image))))
    return torch.stack(rows)


def plain_bottom_up(model, question_indices, image_grid):
    def gated(layer, value):
        return linear(layer.value, value).tanh() * linear(layer.gate, value).sigmoid()

    rows = []
    for indices, grid in zip(question_indices, image_grid, strict=True):
        question = model.gru(model.words.weight[indices[indices != PADDING]][None])[1][0, 0]
        cells = [cell / cell.norm() for cell in grid]
        guide = gated(model.attending_question, question)
        scores = [linear(model.score, gated(model.attended_image, cell) * guide) for cell in cells]
        image = torch.stack(cells).T @ torch.cat(scores).softmax(0)
        joint = gated(model.image, image) * gated(model.question, question)
        rows.append(linear(model.answers, gated(model.hidden, joint)))
    return torch.stack(rows)


def plain_mac(model, question_indices, image_grid):
    rows = []
    for indices, grid in zip(question_indices, image_grid, strict=True):
        outputs, (hidden, _) = model.lstm(model.words.weight[indices[indices != PADDING]][None])
        words, question = outputs[0], torch.cat([*hidden[:, 0]])
        side = isqrt(len(grid))
        cells = model.image(grid.T.reshape(1, -1, side, side))[0].flatten(1).T
        control, memory = model.first_control, model.first_memory
        for of_step in model.question_of_step:
            wanted = linear(model.control, torch.cat([control, linear(of_step, question)]))
            attention = torch.cat([linear(model.word_score, wanted * word) for word in words]).softmax(0)
            control = words.T @ attention
            scores = []
            for cell in cells:
                joint = linear(model.read_memory, memory) * linear(model.read_image, cell)
                joint = functional.elu(linear(model.read_both, torch.cat([joint, cell])))
                scores.append(linear(model.cell_score, functional.elu(control * joint)))
            found = cells.T @ torch.cat(scores).softmax(0)
            memory = linear(model.write, torch.cat([found, memory]))
        first, _, _, last = model.classifier
        rows.append(linear(last, functional.elu(linear(first, torch.cat([memory, question])))))
    return torch.stack(rows)


def plain_hie_co_attention(model, question_indices, image_grid):
    rows = [
        joint_of(model, grid, model.words.weight[indices[indices != PADDING]])
        for indices, grid in zip(question_indices, image_grid, strict=True)
    ]
    return torch.stack([linear(model.classifier, row) for row in rows])


def plain_module_network(model, question_indices, question_layouts, image_grid):
    """Question by question, node by node from the root."""
    rows = []
    for indices, layout, grid in zip(question_indices, question_layouts.tolist(), image_grid, strict=True):
        side = int(len(grid) ** 0.5)
        boxes = [[x / side, y / side, (x + 1) / side, (y + 1) / side] for y in range(side) for x in range(side)]
        at = 2 * torch.tensor(boxes, dtype=grid.dtype) - 1
        cells = [linear(model.cells, torch.cat([cell, one])).relu() for cell, one in zip(grid, at, strict=True)]
        placed = [torch.cat(pair) for pair in zip(cells, at, strict=True)]
        joint = result_of(model, layout, (cells, placed), max(number for number, node in enumerate(layout) if node[0]))
        if model.config.reads_question:
            words = model.words.weight[indices[indices != PADDING]]
            joint = joint + linear(model.question, model.lstm(words[None])[1][0][0, 0])
        rows.append(linear(model.classifier, joint.relu()))
    return torch.stack(rows)


def result_of(model, layout, image, number):
    """The scores or the answer of a node; image: the cells, and the cells with their edges."""
    cells, placed = image
    module, word, *inputs, _ = layout[number]
    name = MODULES[module - 1]
    weights = linear(model.weights[name], model.layout_words.weight[word])
    count = {"find": 0, "combine": 2, "compare": 2}.get(name, 1)
    first, other = (*[result_of(model, layout, image, one) for one in inputs[:count]], None, None)[:2]
    if name == "find":
        return torch.stack([weights @ cell for cell in cells])
    if name == "transform":
        guide = linear(model.attended, torch.stack(placed).T @ first.softmax(0))
        return torch.stack([weights @ (linear(model.near, one) + guide).relu() for one in placed])
    if name == "combine":
        of_first, of_second, of_least, of_most = weights + model.combining
        pairs = list(zip(first, other, strict=True))
        least, most = (torch.stack([chosen(pair) for pair in pairs]) for chosen in (min, max))
        return of_first * first + of_second * other + of_least * least + of_most * most
    if name == "describe":
        hidden = linear(model.seen, torch.stack(cells).T @ first.softmax(0))
    elif name == "measure":
        hidden = linear(model.counted, torch.stack([first.max(), (1 + first.sigmoid().sum()).log()]))
    else:
        hidden = linear(model.first_answer, first) + linear(model.second_answer, other)
    return linear(model.result[name], hidden.relu() * weights)


def plain_answering_units(model, question_indices, image_grid):
    return torch.stack([units[0] for units in answers_of_units(model, question_indices, image_grid)])


def answers_of_units(model, question_indices, image_grid):
    """The scores of all units, question by question."""
    for indices, grid in zip(question_indices, image_grid, strict=True):
        words = model.words.weight[indices[indices != PADDING]].tanh()
        hidden, cell = model.lstm(words[None])[1]
        question = linear(model.question, torch.cat([*cell[:, 0], *hidden[:, 0]]))
        cells = [linear(model.image, one).tanh() for one in grid]
        memory, state = torch.zeros_like(question), torch.zeros_like(question)
        found = []
        for _ in range(model.config.steps):
            guide = (question + linear(model.from_memory, memory)).tanh()
            layer = model.attention
            scores = [
                layer.score.weight @ (linear(layer.place, one) + layer.guide.weight @ guide).tanh() for one in cells
            ]
            seen = torch.stack(cells).T @ torch.cat(scores).softmax(0)
            memory, state = model.memory(guide + seen, (memory, state))
            found.append(linear(model.classifier, guide + seen + linear(model.remembered, memory)))
        yield found


PLAIN = {
    ModuleNetworkForOpenEndedVqa: plain_module_network,
    AnsweringUnitsForOpenEndedVqa: plain_answering_units,
    CoAttentionForOpenEndedVqa: plain_hie_co_attention,
    McbForOpenEndedVqa: plain_mcb,
    BottomUpForOpenEndedVqa: plain_bottom_up,
    MacForOpenEndedVqa: plain_mac,
}
