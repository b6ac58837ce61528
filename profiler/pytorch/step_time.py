#!/usr/bin/env python3
"""Times training steps of a model of this project in eager PyTorch, to set predictions beside.

    ddl-oracle models show resnet50 --format json | python3 step_time.py - --batch 4 --threads 1
    python3 step_time.py gpt2.json --device cuda --precision bf16 --optimizer adam --batch 8 --phases
    python3 step_time.py vgg16.json --batch 2 --json >steps.json    # for `ddl-oracle profile import`, as is
    python3 step_time.py vgg16.json --batch 2 --layers trace.json

It is not installed with the program and needs nothing but PyTorch (1.13 or newer; on Debian, python3-torch). The model is what `models
show --format json` says of it: every layer becomes a module as torchvision (images) and Hugging Face's transformers (sequences) write it in
eager mode. Data and labels are random and stay on the device. Before anything is timed, the number of parameters and the shape that every
layer makes are compared with the file.

A step is zero_grad(set_to_none=True), forward, loss, backward and the optimizer's step. On a GPU, steps are timed by events on the stream,
with at most two steps queued ahead, as a training loop runs that waits for nothing.
"""

import argparse
import csv
import json
import math
import os
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    sys.exit(f"error: {error}\nhint: install PyTorch; on Debian: apt-get install python3-torch libopenblas0-pthread")


class Refusal(Exception):
    """What cannot be built or run here, in words."""


# ---- attributes of a layer, as its line says them: `kernel=3x3 stride=2` ----


class Attributes:
    def __init__(self, text, rank):
        self.values = dict(word.split("=", 1) for word in text.split())
        self.rank = rank

    def text(self, key, otherwise=None):
        return self.values.get(key, otherwise)

    def integer(self, key, otherwise=None):
        return int(self.values[key]) if key in self.values else otherwise

    def number(self, key, otherwise=None):
        return float(self.values[key]) if key in self.values else otherwise

    def flag(self, key, otherwise=False):
        return self.values[key] == "yes" if key in self.values else otherwise

    def sizes(self, key, otherwise):
        """`3`, which stands for all dimensions, or `3x3`, as a tuple of `rank` numbers."""
        sizes = tuple(int(size) for size in self.values[key].split("x")) if key in self.values else (otherwise,)
        return sizes * self.rank if len(sizes) == 1 else sizes

    def refuse(self, *keys):
        for key in keys:
            if key in self.values:
                raise Refusal(f"'{key}={self.values[key]}' is not in this script")


def window(attributes, large, small):
    """Kernel, stride, dilation of a window, and its rim before and after in each dimension."""
    kernel = attributes.sizes("kernel", 1)
    stride = attributes.sizes("stride", 1)
    dilation = attributes.sizes("dilation", 1)
    if attributes.text("padding") != "same":
        padding = attributes.sizes("padding", 0)
        return kernel, stride, dilation, padding, padding
    rim = [max(0, (s - 1) * t + d * (k - 1) + 1 - e) for e, s, k, t, d in zip(large, small, kernel, stride, dilation)]
    before = tuple(r // 2 for r in rim)  # the odd one is behind
    return kernel, stride, dilation, before, tuple(r - b for r, b in zip(rim, before))


def of_rank(rank, *kinds):
    if not 1 <= rank <= 3:
        raise Refusal("a window needs one to three dimensions")
    return kinds[rank - 1]


# ---- modules ----


class Padded(nn.Module):
    """A rim that is wider behind than before, which no module of PyTorch's has by itself."""

    def __init__(self, before, after, inner):
        super().__init__()
        self.rim = [side for pair in zip(reversed(before), reversed(after)) for side in pair]
        self.inner = inner

    def forward(self, x):
        return self.inner(F.pad(x, self.rim))


class Over(nn.Module):
    """A module for images, on a sequence, whose channels come last."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.transpose(1, 2)).transpose(1, 2)


class ChannelsLast(nn.Module):
    """A module for the last dimension, on the channels of an image (torchvision's LayerNorm2d)."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.movedim(1, -1)).movedim(-1, 1)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Tied(nn.Module):
    """A matrix that is another layer's table."""

    def __init__(self, owner, features, bias):
        super().__init__()
        self.owner = [owner]  # in a list: its parameters are counted there
        self.bias = nn.Parameter(torch.zeros(features)) if bias else None

    def forward(self, x):
        return F.linear(x, self.owner[0].weight, self.bias)


class TiedEmbedding(nn.Module):
    def __init__(self, owner):
        super().__init__()
        self.owner = [owner]

    def forward(self, tokens):
        return F.embedding(tokens, self.owner[0].weight)


class AddedPositions(nn.Module):
    """As torchvision's vision transformers have them: one parameter."""

    def __init__(self, positions, features):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(1, positions, features).normal_(std=0.02))

    def forward(self, x):
        return x + (self.positions if x.shape[1] == self.positions.shape[1] else self.positions[:, : x.shape[1]])


class EmbeddedPositions(nn.Module):
    """As transformers' models have them: looked up by number."""

    def __init__(self, positions, features):
        super().__init__()
        self.table = nn.Embedding(positions, features)
        self.register_buffer("numbers", torch.arange(positions).expand((1, -1)), persistent=False)

    def forward(self, x):
        return x + self.table(self.numbers[:, : x.shape[1]])


class ClassToken(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, features))

    def forward(self, x):
        return torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)


class SampleDropout(nn.Module):
    """Stochastic depth by samples, as torchvision.ops.stochastic_depth computes it."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        kept = 1 - self.rate
        noise = torch.empty([x.shape[0]] + [1] * (x.dim() - 1), dtype=x.dtype, device=x.device).bernoulli_(kept)
        if kept > 0:
            noise.div_(kept)
        return x * noise


class Scale(nn.Module):
    def __init__(self, channels, rank, sequence, bias):
        super().__init__()
        shape = (channels,) if sequence else (channels,) + (1,) * rank
        self.factor = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else None

    def forward(self, x):
        return x * self.factor if self.bias is None else x * self.factor + self.bias


class Attention(nn.Module):
    """Attention between the projections. `images`: the arithmetic of nn.MultiheadAttention, which scales the queries; otherwise that of
    transformers' eager attention, which divides the scores, and masks them by `where` (GPT-2) or by a sum (BERT, whose model makes a mask
    of ones where it is given none)."""

    def __init__(self, heads, kv_heads, size, tokens, causal, dropout, fused, images):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, size
        self.causal, self.rate, self.fused, self.images = causal, dropout, fused, images
        self.dropout = nn.Dropout(dropout) if dropout > 0 else None
        if causal and not fused:
            mask = torch.tril(torch.ones((tokens, tokens), dtype=torch.bool)).view(1, 1, tokens, tokens)
            self.register_buffer("mask", mask, persistent=False)

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x, other=None):
        queries, keys = self.heads * self.size, self.kv_heads * self.size
        if other is None:
            q, k, v = x.split([queries, keys, keys], dim=2)
        else:
            q = x
            k, v = other.split([keys, keys], dim=2)
        q, k, v = self.split(q, self.heads), self.split(k, self.kv_heads), self.split(v, self.kv_heads)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        if self.fused:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, dropout_p=self.rate if self.training else 0.0)
        else:
            out = self.eager(q, k, v)
        return out.permute(0, 2, 1, 3).contiguous().view(x.shape[0], x.shape[1], queries)

    def eager(self, q, k, v):
        if self.images:
            scores = torch.matmul(q / math.sqrt(self.size), k.transpose(-1, -2))
        else:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        if self.causal:
            lowest = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype, device=scores.device)
            scores = torch.where(self.mask, scores, lowest)
        elif not self.images:
            scores = scores + torch.zeros((q.shape[0], 1, 1, k.shape[2]), dtype=scores.dtype, device=scores.device)
        weights = torch.softmax(scores, dim=-1).type(v.dtype)
        if self.dropout is not None:
            weights = self.dropout(weights)
        return torch.matmul(weights, v)


class ComposedGelu(nn.Module):
    """transformers' NewGELUActivation: the tanh approximation, operator by operator."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Loss(nn.Module):
    """The sum over the inputs. Targets are random, made once."""

    def __init__(self, kind, sequences):
        super().__init__()
        self.kind, self.sequences, self.targets = kind, sequences, None

    def forward(self, *inputs):
        if self.targets is None:
            self.targets = [self.target(x, sequence) for x, sequence in zip(inputs, self.sequences)]
        total = None
        for x, target in zip(inputs, self.targets):
            if self.kind == "mse":
                loss = F.mse_loss(x, target)
            else:
                loss = F.cross_entropy(x.reshape(-1, x.shape[-1]) if x.dim() == 3 and target.dim() == 1 else x, target)
            total = loss if total is None else total + loss
        return total

    def target(self, x, sequence):
        if self.kind == "mse":
            return torch.randn_like(x)
        if sequence:
            return torch.randint(x.shape[-1], (x.shape[0] * x.shape[1],), device=x.device)
        return torch.randint(x.shape[1], (x.shape[0],) + tuple(x.shape[2:]), device=x.device)


# ---- from a layer of the file to a module ----


class Place:
    """A layer of the file, what is known of its neighbours, and the options that change how it is written."""

    def __init__(self, index, network, attributes):
        layer = network.file["layers"][index]
        self.index, self.network, self.attributes = index, network, attributes
        self.operation = layer["operation"]
        self.inputs = layer["input_shapes"]
        self.output = layer["output"]
        self.sequence = network.sequence_inputs(index)
        self.channels = self.inputs[0][0] if self.inputs else 0
        self.extents = self.inputs[0][1:] if self.inputs else []


def convolution(place):
    a = place.attributes
    filters = place.output[0]
    kernel, stride, dilation, before, after = window(a, place.extents, place.output[1:])
    kind = of_rank(len(place.extents), nn.Conv1d, nn.Conv2d, nn.Conv3d)
    module = kind(
        place.channels,
        filters,
        kernel,
        stride=stride,
        padding=before if before == after else 0,
        dilation=dilation,
        groups=a.integer("groups", 1),
        bias=a.flag("bias", True),
    )
    if before != after:
        module = Padded(before, after, module)
    return Over(module) if place.sequence[0] else module


def transposed_convolution(place):
    a = place.attributes
    kernel, stride, dilation, before, after = window(a, place.output[1:], place.extents)
    if before != after:
        raise Refusal("a transposed convolution with another rim before than behind is not in this script")
    kind = of_rank(len(place.extents), nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    reach = [(e - 1) * s - 2 * p + d * (k - 1) + 1 for e, s, p, d, k in zip(place.extents, stride, before, dilation, kernel)]
    return kind(
        place.channels,
        place.output[0],
        kernel,
        stride=stride,
        padding=before,
        output_padding=tuple(o - r for o, r in zip(place.output[1:], reach)),
        groups=a.integer("groups", 1),
        bias=a.flag("bias", True),
        dilation=dilation,
    )


def fully_connected(place):
    a = place.attributes
    a.refuse("experts")
    if a.text("tied"):
        return Tied(place.network.module_named(a.text("tied"), place.index), place.output[0], a.flag("bias", True))
    return nn.Linear(place.channels, place.output[0], bias=a.flag("bias", True))


def pool(place):
    a = place.attributes
    rank = len(place.extents)
    is_max = a.text("kind") == "max"
    if a.text("adaptive"):
        sizes = a.sizes("adaptive", 1)
        if is_max:
            module = of_rank(rank, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d)(sizes)
        else:
            module = of_rank(rank, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)(sizes)
        return Over(module) if place.sequence[0] else module
    kernel, stride, dilation, before, after = window(a, place.extents, place.output[1:])
    if before != after:
        raise Refusal("a pooling with another rim before than behind is not in this script")
    ceil = a.flag("ceil")
    if is_max:
        kind = of_rank(rank, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
        module = kind(kernel, stride=stride, padding=before, dilation=dilation, ceil_mode=ceil)
    else:
        kind = of_rank(rank, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
        module = kind(kernel, stride=stride, padding=before, ceil_mode=ceil)
    return Over(module) if place.sequence[0] else module


def norm(place):
    a = place.attributes
    kind, scale, bias = a.text("kind"), a.flag("scale", True), a.flag("bias", True)
    if scale != bias or kind == "rms":
        raise Refusal(f"a norm '{place.network.file['layers'][place.index]['attributes']}' is not in this script")
    sequence = place.sequence[0]
    if kind == "layer":
        module = nn.LayerNorm(place.channels, elementwise_affine=scale)
        return module if sequence or not place.extents else ChannelsLast(module)
    if kind == "batch":
        rank = max(1, len(place.extents))
        module = of_rank(rank, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)(place.channels, affine=scale)
    elif kind == "group":
        module = nn.GroupNorm(a.integer("groups"), place.channels, affine=scale)
    elif kind == "instance":
        kinds = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
        module = of_rank(len(place.extents), *kinds)(place.channels, affine=scale)
    else:
        raise Refusal(f"a norm of the kind '{kind}' is not in this script")
    return Over(module) if sequence else module


# Those that torchvision writes in place, where our files say nothing: relu6 of MobileNet v2, hardswish and hardsigmoid of v3, silu of
# EfficientNet.
in_place_by_custom = ("relu6", "hardswish", "silu", "hardsigmoid")


def activation(place):
    kind = place.attributes.text("kind")
    network = place.network
    in_place = place.attributes.flag("in_place")
    if kind in in_place_by_custom and network.images:
        # Behind a norm, whose gradient does not need what it wrote.
        in_place = network.operation_of_input(place.index, 0) == "norm"
    in_place = in_place and network.sole_reader(place.index, 0)
    if kind == "gelu":
        return {"none": nn.GELU, "tanh": lambda: nn.GELU(approximate="tanh"), "composed": ComposedGelu}[network.gelu]()
    makers = {
        "relu": lambda: nn.ReLU(inplace=in_place),
        "relu6": lambda: nn.ReLU6(inplace=in_place),
        "leaky_relu": lambda: nn.LeakyReLU(inplace=in_place),
        "tanh": nn.Tanh,
        "sigmoid": nn.Sigmoid,
        "silu": lambda: nn.SiLU(inplace=in_place),
        "hardswish": lambda: nn.Hardswish(inplace=in_place),
        "hardsigmoid": lambda: nn.Hardsigmoid(inplace=in_place),
        "softplus": nn.Softplus,
        "elu": lambda: nn.ELU(inplace=in_place),
    }
    if kind not in makers:
        raise Refusal(f"an activation of the kind '{kind}' is not in this script")
    return makers[kind]()


def dropout(place):
    rate = place.attributes.number("rate")
    return SampleDropout(rate) if place.attributes.text("of") == "samples" else nn.Dropout(rate)


def add(place):
    network = place.network
    # torchvision's residual units write `out += identity` where an activation in place follows.
    if (
        len(place.inputs) == 2
        and network.images
        and network.operation_of_input(place.index, 0) == "norm"
        and network.sole_reader(place.index, 0)
        and network.read_by_activation_in_place(place.index)
    ):
        return Function(lambda a, b: a.add_(b))

    def total(first, *others):
        for other in others:
            first = first + other
        return first

    return Function(total)


def multiply(place):
    rank, scaled = len(place.extents), [len(shape) - 1 for shape in place.inputs]
    if len(place.inputs) == 2 and scaled[1] != rank:
        return Function(lambda a, b: a * b.reshape(b.shape[0], b.shape[1], *[1] * rank))

    def product(first, *others):
        for other in others:
            first = first * other
        return first

    return Function(product)


def concat(place):
    axis = -1 if place.sequence[0] else 1
    return Function(lambda *inputs: torch.cat(inputs, axis))


def attention(place):
    a = place.attributes
    a.refuse("window", "alibi", "buckets")
    heads = a.integer("heads")
    fused = a.flag("fused")
    if fused and not hasattr(F, "scaled_dot_product_attention"):
        raise Refusal("fused attention needs PyTorch 2.0 or newer")
    return Attention(
        heads,
        a.integer("kv_heads", heads),
        place.output[0] // heads,
        place.output[1],
        a.flag("causal"),
        a.number("dropout", 0.0),
        fused,
        place.network.images,
    )


def embedding(place):
    if place.attributes.text("tied"):
        return TiedEmbedding(place.network.module_named(place.attributes.text("tied"), place.index))
    module = nn.Embedding(place.attributes.integer("vocabulary"), place.output[0])
    nn.init.normal_(module.weight, std=0.02)
    return module


def position_embedding(place):
    kind = AddedPositions if place.network.images else EmbeddedPositions
    return kind(place.attributes.integer("positions"), place.output[0])


def reshape(place):
    a = place.attributes
    channels, to_sequence = place.output[0], a.text("tokens") is not None
    extents = place.output[1:]

    def moved(x):
        if place.sequence[0]:
            x = x.transpose(1, 2)
        x = x.reshape(x.shape[0], channels, *extents)
        return x.transpose(1, 2) if to_sequence else x

    return Function(moved)


def flatten(place):
    if place.sequence[0]:
        return Function(lambda x: torch.flatten(x.transpose(1, 2), 1))
    return Function(lambda x: torch.flatten(x, 1))


def select(place):
    token = 0 if place.attributes.text("token") == "first" else -1
    return Function(lambda x: x[:, token])


def slice_channels(place):
    axis = 2 if place.sequence[0] else 1
    first, channels = place.attributes.integer("first", 0), place.attributes.integer("channels")
    return Function(lambda x: x.narrow(axis, first, channels))


def channel_shuffle(place):
    groups = place.attributes.integer("groups")

    def shuffled(x):
        n, c = x.shape[:2]
        return x.view(n, groups, c // groups, *x.shape[2:]).transpose(1, 2).contiguous().view(x.shape)

    return Function(shuffled)


def crop(place):
    size = place.output[1:]
    first = [(large - small) // 2 for large, small in zip(place.extents, size)]
    cut = (slice(None), slice(None)) + tuple(slice(f, f + s) for f, s in zip(first, size))
    return Function(lambda x: x[cut])


def resize(place):
    size = tuple(place.output[1:])
    linear = of_rank(len(size), "linear", "bilinear", "trilinear")
    if place.attributes.text("kind") == "nearest":
        return Function(lambda x: F.interpolate(x, size=size, mode="nearest"))
    return Function(lambda x: F.interpolate(x, size=size, mode=linear, align_corners=False))


def scale(place):
    factor = place.attributes.text("factor")
    if factor != "trained":
        number = float(factor)
        return Function(lambda x: x * number)
    return Scale(place.output[0], len(place.output) - 1, place.sequence[0], place.attributes.flag("bias"))


def softmax(place):
    axis = -1 if place.sequence[0] else 1
    return Function(lambda x: torch.softmax(x, dim=axis))


def loss(place):
    return Loss(place.attributes.text("kind"), place.sequence)


makers = {
    "activation": activation,
    "add": add,
    "attention": attention,
    "channel_shuffle": channel_shuffle,
    "class_token": lambda place: ClassToken(place.output[0]),
    "concat": concat,
    "convolution": convolution,
    "crop": crop,
    "dropout": dropout,
    "embedding": embedding,
    "flatten": flatten,
    "fully_connected": fully_connected,
    "identity": lambda place: nn.Identity(),
    "loss": loss,
    "multiply": multiply,
    "norm": norm,
    "pool": pool,
    "position_embedding": position_embedding,
    "reshape": reshape,
    "resize": resize,
    "scale": scale,
    "select": select,
    "slice": slice_channels,
    "softmax": softmax,
    "transposed_convolution": transposed_convolution,
}


class Network(nn.Module):
    """The layers of a file, run one after the other; a tensor is let go behind its last reader."""

    def __init__(self, file, gelu):
        super().__init__()
        self.file, self.gelu = file, gelu
        layers = file["layers"]
        self.names = {layer["name"]: i for i, layer in enumerate(layers)}
        self.sources = [[self.names.get(name, -1) for name in layer["inputs"]] for layer in layers]
        self.images = len(file["input"]) > 2
        self.is_sequence = []
        self.flattened = self.concatenated_lists()
        # In the file: what may work in place. How long a tensor lives, the lists above say.
        self.readers = self.readers_of(self.sources)
        self.layers = nn.ModuleList()
        for i, layer in enumerate(layers):
            if layer["operation"] not in makers:
                raise Refusal(f"{layer['name']}: the operation '{layer['operation']}' is not in this script")
            try:
                place = Place(i, self, Attributes(layer["attributes"], max(1, len(layer["output"]) - 1)))
                if layer["operation"] in ("convolution", "pool", "transposed_convolution"):
                    place.attributes.rank = len(place.extents)
                module = makers[layer["operation"]](place)
            except Refusal as refusal:
                raise Refusal(f"{layer['name']}: {refusal}") from None
            self.layers.append(module)
            self.is_sequence.append(self.makes_sequence(i, place))
        last = {}
        for i, sources in enumerate(self.flattened):
            for source in sources:
                last[source] = i
        self.dead_behind = [[source for source, end in last.items() if end == i and source >= 0] for i in range(len(layers))]
        self.dead_at_once = [i not in last for i in range(len(layers))]

    def concatenated_lists(self):
        """The inputs of every layer, where a concat that reads another one takes that one's inputs: DenseNet keeps the list of what its
        layers made, and every layer concatenates all of it."""
        flattened = []
        for i, sources in enumerate(self.sources):
            taken = []
            for source in sources:
                both = source >= 0 and self.operation(i) == "concat" and self.operation(source) == "concat"
                taken += flattened[source] if both else [source]
            flattened.append(taken)
        return flattened

    @staticmethod
    def readers_of(inputs):
        readers = {}
        for i, sources in enumerate(inputs):
            for source in sources:
                readers.setdefault(source, []).append(i)
        return readers

    def operation(self, index):
        return self.file["layers"][index]["operation"] if index >= 0 else "input"

    def operation_of_input(self, index, which):
        return self.operation(self.sources[index][which])

    def sole_reader(self, index, which):
        source = self.sources[index][which]
        return source >= 0 and self.readers[source] == [index]

    def read_by_activation_in_place(self, index):
        readers = self.readers.get(index, [])
        attributes = [self.file["layers"][reader]["attributes"] for reader in readers]
        return len(readers) == 1 and self.operation(readers[0]) == "activation" and "in_place=yes" in attributes[0]

    def sequence_inputs(self, index):
        return [self.is_sequence[source] if source >= 0 else not self.images for source in self.sources[index]] or [False]

    def makes_sequence(self, index, place):
        if place.operation in ("flatten", "select", "loss"):
            return False
        if place.operation == "reshape":
            return place.attributes.text("tokens") is not None
        return place.sequence[0] and len(place.output) == 2

    def module_named(self, name, index):
        """The layer that `name` means at the layer `index`: in its own part of the network, then in the enclosing ones."""
        part = self.file["layers"][index]["name"].split(".")[:-1]
        while True:
            found = self.names.get(".".join(part + [name]))
            if found is not None:
                return self.layers[found]
            if not part:
                raise Refusal(f"there is no layer '{name}' to share weights with")
            part.pop()

    def batch(self, samples, device):
        channels, *extents = self.file["input"]
        if not self.images and self.operation(self.readers[-1][0]) == "embedding":
            rows = [l for l in self.file["layers"] if l["operation"] == "embedding"]
            # The smallest table that reads the tokens bounds them.
            vocabulary = min(int(Attributes(layer["attributes"], 1).text("vocabulary")) for layer in rows)
            return torch.randint(vocabulary, (samples, *extents), device=device)
        if not self.images and extents:
            return torch.randn((samples, *extents, channels), device=device)
        return torch.randn((samples, channels, *extents), device=device)

    def forward(self, batch, check=None):
        made = {-1: batch}
        total = None
        for i, layer in enumerate(self.layers):
            out = layer(*[made[source] for source in self.flattened[i]])
            if check is not None:
                check(i, out)
            made[i] = out
            for dead in self.dead_behind[i]:
                del made[dead]
            if self.dead_at_once[i]:
                del made[i]
            # What nobody reads is a loss: of the model, or of a classifier that helps training.
            if i not in self.readers:
                total = out if total is None else total + out
        return total


# ---- checks against the file ----


def check_parameters(network):
    for layer, module in zip(network.file["layers"], network.layers):
        count = sum(parameter.numel() for parameter in module.parameters())
        if count != layer["parameters"]:
            raise Refusal(f"{layer['name']} has {count} parameters here, {layer['parameters']} in the file")
    count = sum(parameter.numel() for parameter in network.parameters())
    if count != network.file["parameters"]:
        raise Refusal(f"the model has {count} parameters here, {network.file['parameters']} in the file")


def check_shape(network, samples):
    def check(i, out):
        layer = network.file["layers"][i]
        shape = list(out.shape)
        if layer["operation"] == "loss":
            expected = []
        elif network.is_sequence[i]:
            expected = [samples, layer["output"][1], layer["output"][0]]
        else:
            expected = [samples] + layer["output"]
        if shape != expected:
            raise Refusal(f"{layer['name']} makes {shape} here, {expected} by the file")

    return check


# ---- steps and their times ----


class Clock:
    """Marks between the phases of steps: times of the processor, or events on the GPU's stream."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        if self.cuda:
            mark.synchronize()

    def seconds(self, first, last):
        return first.elapsed_time(last) / 1e3 if self.cuda else last - first


class Training:
    def __init__(self, network, batch, options, device):
        self.network, self.batch, self.device = network, batch, device
        self.clock = Clock(device)
        self.precision = options.precision
        parameters = network.parameters()
        if options.optimizer == "adam":
            self.optimizer = torch.optim.Adam(parameters, lr=1e-5)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=1e-4, momentum=0.9 if options.optimizer == "momentum" else 0.0)
        # Gradients of fp16 are scaled, as the mixed precision of PyTorch asks for.
        self.scaler = self.new_scaler() if options.precision == "fp16" else None

    @staticmethod
    def new_scaler():
        # PyTorch 2.3 moved it.
        return torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()

    def forward(self, check=None):
        if self.precision in ("fp16", "bf16"):
            kind = torch.float16 if self.precision == "fp16" else torch.bfloat16
            with torch.autocast(self.device.type, dtype=kind):
                return self.network(self.batch, check)
        return self.network(self.batch, check)

    def step(self, check=None):
        """Marks before forward, before backward, before the update, and behind it."""
        marks = [self.clock.mark()]
        loss = self.forward(check)
        marks.append(self.clock.mark())
        if self.scaler is None:
            loss.backward()
            marks.append(self.clock.mark())
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            marks.append(self.clock.mark())
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        marks.append(self.clock.mark())
        return marks


phases = ("forward", "backward", "update")


def take_samples(training, warm_up, steps, seconds):
    """Seconds of the phases of each step; the step is their sum."""
    for _ in range(warm_up):
        training.clock.wait(training.step()[-1])
    begin = time.perf_counter()
    marks = []
    while len(marks) < steps and (len(marks) < 6 or time.perf_counter() - begin < seconds):
        marks.append(training.step())
        if len(marks) > 2:
            training.clock.wait(marks[-3][-1])
    training.clock.wait(marks[-1][-1])
    clock = training.clock
    # On a GPU a step ends where the next one starts; the last has no next.
    ends = [step[0] for step in marks[1:]] + [marks[-1][-1]]
    result = []
    for step, end in zip(marks, ends):
        places = step[:3] + [end if clock.cuda else step[3]]
        result.append([clock.seconds(a, b) for a, b in zip(places, places[1:])])
    return result


def median_interval(values, confidence=0.95):
    """Of the median, by order statistics (Conover, "Practical nonparametric statistics", section 3.2); all of them if they are too few."""
    n = len(values)
    tail, below = 0, 0.0
    while tail < n // 2:
        below += math.comb(n, tail) * 0.5**n
        if below > (1 - confidence) / 2:
            break
        tail += 1
    ordered = sorted(values)
    first = max(0, tail - 1)
    return ordered[first], ordered[n - 1 - first]


def summary(values):
    median = statistics.median(values)
    low, high = median_interval(values)
    return {
        "samples_s": values,
        "median_s": median,
        "mad_s": statistics.median(abs(value - median) for value in values),
        "low_s": low,
        "high_s": high,
    }


# ---- the operators of a step ----


def profiled(training, path, steps):
    """Chrome trace (.json), or a table of operators by shape (.csv), of `steps` steps."""
    from torch.profiler import ProfilerActivity, profile, record_function

    activities = [ProfilerActivity.CPU]
    if training.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities, record_shapes=True) as profiler:
        # The first step under the profiler pays for its start and is not marked.
        for number in range(steps + 1):
            with record_function(f"ProfilerStep#{number}" if number > 0 else "warm-up"):
                training.step()
                if training.device.type == "cuda":
                    torch.cuda.synchronize()
    if path.endswith(".csv"):
        write_operators(profiler.events(), path, steps)
    elif torch.profiler.kineto_available():
        profiler.export_chrome_trace(path)
    else:
        write_trace(profiler.events(), path)


def self_device_time(event):
    for name in ("self_device_time_total", "self_cuda_time_total"):
        if hasattr(event, name):
            return getattr(event, name)
    return 0


def is_step(event):
    return event.name.startswith("ProfilerStep")  # its number may have become a '*'


def write_operators(events, path, steps):
    begin = min(event.time_range.start for event in events if is_step(event))
    sums = {}
    for event in events:
        # Device's activities are events of their own beside those that started them, which have their time.
        of_processor = getattr(event, "device_type", None) in (None, torch.autograd.DeviceType.CPU)
        if event.time_range.start >= begin and of_processor and not is_step(event):
            total = sums.setdefault((event.name, json.dumps(event.input_shapes)), [0, 0.0, 0.0])
            total[0] += 1
            total[1] += event.self_cpu_time_total
            total[2] += self_device_time(event)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["operator", "shapes", "calls", "self_cpu_us", "self_device_us"])
        for (name, shapes), total in sorted(sums.items(), key=lambda each: -max(each[1][1:])):
            table.writerow([name, shapes] + [round(value / steps, 3) for value in total])


def write_trace(events, path):
    """What Kineto would write, of a PyTorch that was built without it (Debian's)."""
    entries, steps = [], 0
    for event in sorted(events, key=lambda event: event.time_range.start):
        steps += is_step(event)
        arguments = {"External id": event.id}
        if event.input_shapes:
            arguments["Input Dims"] = event.input_shapes
        if event.sequence_nr >= 0:
            arguments["Sequence number"] = event.sequence_nr
            arguments["Fwd thread id"] = event.fwd_thread or 0
        entries.append(
            {
                "ph": "X",
                "cat": "user_annotation" if is_step(event) else "cpu_op",
                "name": f"ProfilerStep#{steps}" if is_step(event) else event.name,
                "pid": "processor",
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.time_range.end - event.time_range.start,
                "args": arguments,
            }
        )
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": entries}, file)


# ---- the command line ----


def processor_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "cpu"


def keeps_memory():
    """Whether freed memory stays with the process: glibc maps large blocks anew unless it is told not to (mallopt(3)); other allocators,
    which are preloaded, keep it."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    maps = os.environ.get("MALLOC_MMAP_MAX_") != "0" and "glibc.malloc.mmap_max=0" not in os.environ.get("GLIBC_TUNABLES", "")
    return not maps or any(name in preloaded for name in ("jemalloc", "tcmalloc", "mimalloc"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="file that `ddl-oracle models show MODEL --format json` wrote, or - for the standard input")
    parser.add_argument("--batch", type=int, default=1, help="samples of a step (1)")
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16"], default="fp32", help="fp16 and bf16 by autocast")
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adam"], default="sgd")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, help="of the processor (PyTorch's choice)")
    parser.add_argument("--channels-last", action="store_true", help="images with their channels last in memory")
    parser.add_argument("--benchmark", action="store_true", help="torch.backends.cudnn.benchmark")
    parser.add_argument("--gelu", choices=["none", "tanh", "composed"], default="none",
                        help="approximation: none, tanh, or tanh operator by operator as GPT-2 of transformers has it (none)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="STEPS", help="that do not count (3)")
    parser.add_argument("--steps", type=int, default=50, help="at most (50)")
    parser.add_argument("--seconds", type=float, default=60, help="at most, though at least 6 steps (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phases", action="store_true", help="forward, backward and update apart; --json has them")
    parser.add_argument("--layers", metavar="FILE", help="operators of a step: a table (.csv) or a Chrome trace (.json); nothing is timed")
    parser.add_argument("--layer-steps", type=int, default=3, metavar="STEPS", help="of --layers (3)")
    parser.add_argument("--check", action="store_true", help="only build the model and compare it with the file")
    parser.add_argument("--json", action="store_true", help="the result as JSON, for `ddl-oracle profile import`")
    options = parser.parse_args()
    for name in ("batch", "steps", "layer_steps"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is at least 1")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads is at least 1")
    if options.warm_up < 0 or not options.seconds >= 0:
        parser.error("--warm-up and --seconds are at least 0")
    if options.device == "cpu" and options.precision in ("tf32", "fp16"):
        parser.error(f"{options.precision} needs --device cuda")
    if options.layers and not options.layers.endswith((".json", ".csv")):
        parser.error("--layers takes a name that ends in .json or .csv")
    return options


def read_model(path):
    try:
        if path == "-":
            file = json.load(sys.stdin)
        else:
            with open(path) as stream:
                file = json.load(stream)
        if not isinstance(file, dict):
            raise ValueError("not the JSON of a model")
        for key in ("name", "input", "parameters", "layers"):
            if key not in file:
                raise ValueError(f"it has no '{key}'")
        return file
    except (OSError, ValueError) as error:
        raise Refusal(f"{path}: {error}; write it with: ddl-oracle models show MODEL --format json") from None


def set_up(options):
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise Refusal("PyTorch finds no CUDA device")
    if options.precision in ("fp32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    torch.backends.cudnn.benchmark = options.benchmark
    return torch.device(options.device)


def run(options):
    file = read_model(options.model)
    device = set_up(options)
    network = Network(file, options.gelu)
    check_parameters(network)
    network.to(device).train()
    batch = network.batch(options.batch, device)
    if options.channels_last:
        layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
        if batch.dim() not in layouts:
            raise Refusal("--channels-last is for images and volumes")
        for module in network.modules():
            for parameter in module.parameters(recurse=False):
                if parameter.dim() == batch.dim():
                    parameter.data = parameter.data.contiguous(memory_format=layouts[batch.dim()])
        batch = batch.contiguous(memory_format=layouts[batch.dim()])

    training = Training(network, batch, options, device)
    training.clock.wait(training.step(check_shape(network, options.batch))[-1])
    if options.check:
        print(f"{file['name']}: {file['parameters']} parameters and {len(file['layers'])} shapes as in the file")
        return
    if options.layers:
        for _ in range(options.warm_up):
            training.step()
        profiled(training, options.layers, options.layer_steps)
        return

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    samples = take_samples(training, options.warm_up, options.steps, options.seconds)
    result = {
        "schema": 1,
        "model": file["name"],
        "batch": options.batch,
        "precision": options.precision,
        "optimizer": options.optimizer,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else processor_name(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "keeps_memory": device.type == "cuda" or keeps_memory(),
        "channels_last": options.channels_last,
        "cudnn_benchmark": options.benchmark,
        "parameters": file["parameters"],
        "steps": len(samples),
        "step": summary([sum(sample) for sample in samples]),
    }
    if options.phases or options.json:
        for i, phase in enumerate(phases):
            result[phase] = summary([sample[i] for sample in samples])
    if device.type == "cuda":
        result["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{file['name']}, batch {options.batch}, {options.precision}, {options.optimizer}, {result['device']}, "
          f"PyTorch {torch.__version__}" + ("" if device.type == "cuda" else f", threads {result['threads']}"))
    for name in ("step",) + (phases if options.phases else ()):
        s = result[name]
        print(f"{name:9} {s['median_s'] * 1e3:10.3f} ms  [{s['low_s'] * 1e3:.3f}, {s['high_s'] * 1e3:.3f}]  "
              f"MAD {s['mad_s'] * 1e3:.3f}")
    print(f"medians of {len(samples)} steps, with intervals of 95 %")


def main():
    try:
        run(parse_arguments())
    except Refusal as refusal:
        sys.exit(f"error: {refusal}")
    except (RuntimeError, ValueError) as error:
        # Of PyTorch: memory that ran out, a norm of one value, an operator without a kernel for the precision.
        sys.exit(f"error: PyTorch: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
