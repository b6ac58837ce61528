"""Builds a PyTorch model from the JSON of `ddl-oracle models show MODEL --format json`: every layer becomes a module of
step_modules.py. Checks compare the number of parameters and the output shape of every layer with the JSON."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from step_modules import (
    AddedPositions,
    AdditiveAttention,
    Attention,
    ChannelsLast,
    Choice,
    ClassToken,
    Combine,
    ComposedGelu,
    Dispatch,
    DistanceBias,
    EmbeddedPositions,
    ExpertLinear,
    Function,
    Groups,
    Heads,
    Interaction,
    IntoWindows,
    Loss,
    Lstm,
    Over,
    Padded,
    Projections,
    RmsNorm,
    Rotary,
    Router,
    SampleDropout,
    Scale,
    SeparateLinear,
    ShiftedBatchNorm,
    SpaceToDepth,
    Table,
    Tied,
    TiedEmbedding,
    WindowAttention,
)


class Refusal(Exception):
    """The model or the options cannot be run; the message gives the reason."""


# ---- attributes of a layer, such as `kernel=3x3 stride=2` ----


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
        """The value as a tuple of `rank` numbers: `3` counts for all dimensions, `3x3` has a number for each."""
        sizes = tuple(int(size) for size in self.values[key].split("x")) if key in self.values else (otherwise,)
        return sizes * self.rank if len(sizes) == 1 else sizes

    def refuse(self, *keys):
        for key in keys:
            if key in self.values:
                raise Refusal(f"'{key}={self.values[key]}' is not supported by this script")


def window(attributes, large, small):
    """Kernel, stride, dilation of a window, and the padding before and after, each with a number per dimension."""
    kernel = attributes.sizes("kernel", 1)
    stride = attributes.sizes("stride", 1)
    dilation = attributes.sizes("dilation", 1)
    if attributes.text("padding") != "same":
        padding = attributes.sizes("padding", 0)
        return kernel, stride, dilation, padding, padding
    rim = [max(0, (s - 1) * t + d * (k - 1) + 1 - e) for e, s, k, t, d in zip(large, small, kernel, stride, dilation)]
    before = tuple(r // 2 for r in rim)  # an odd padding is wider at the end
    return kernel, stride, dilation, before, tuple(r - b for r, b in zip(rim, before))


def of_rank(rank, *kinds):
    if not 1 <= rank <= 3:
        raise Refusal("a window needs one to three dimensions")
    return kinds[rank - 1]


# ---- from a layer of the file to a module ----


class Place:
    """A layer of the file with its index, network, attributes and shapes."""

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
    alone = a.integer("groups", 1) == 1 and set(kernel) == set(stride) == {1} and set(before) == set(after) == {0}
    if alone and place.network.channels_last_by_itself and not place.sequence[0]:
        linear = nn.Linear(place.channels, filters, bias=a.flag("bias", True))
        reader = place.network.sole_reader_of(place.index)
        if place.network.operation(reader) == "window_attention":
            return IntoWindows(linear, *place.network.windows_of(reader))
        return ChannelsLast(linear)
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
        raise Refusal("a transposed convolution with unequal padding before and after is not supported by this script")
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
    if a.text("tied"):
        return Tied(place.network.module_named(a.text("tied"), place.index), place.output[0], a.flag("bias", True))
    if a.integer("experts", 1) > 1:
        return ExpertLinear(a.integer("experts"), place.channels, place.output[0], a.flag("bias", True))
    parts = place.network.projections(place.index)
    if parts:
        return SeparateLinear(place.channels, parts, a.flag("bias", True))
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
    uneven = before != after
    if uneven and not is_max:
        raise Refusal("an average pool with unequal padding before and after is not supported by this script")
    rim, before = before, (0,) * rank if uneven else before
    ceil = a.flag("ceil")
    if is_max:
        kind = of_rank(rank, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
        module = kind(kernel, stride=stride, padding=before, dilation=dilation, ceil_mode=ceil)
        if uneven:
            module = Padded(rim, after, module, -math.inf)
    else:
        kind = of_rank(rank, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
        module = kind(kernel, stride=stride, padding=before, ceil_mode=ceil)
    return Over(module) if place.sequence[0] else module


def norm(place):
    a = place.attributes
    kind = a.text("kind")
    scale, bias = a.flag("scale", True), a.flag("bias", kind != "rms")
    sequence = place.sequence[0]
    if kind == "rms" and not bias:
        module = RmsNorm(place.channels, scale)
        return module if sequence or not place.extents else ChannelsLast(module)
    if (scale != bias and (kind != "batch" or scale)) or kind == "rms":
        raise Refusal(f"a norm with {'a shift' if bias else 'a scale'} alone is not supported by this script")
    if kind == "layer":
        module = nn.LayerNorm(place.channels, elementwise_affine=scale)
        return module if sequence or not place.extents else ChannelsLast(module)
    if kind == "batch":
        rank = max(1, len(place.extents))
        module = of_rank(rank, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)(place.channels, affine=scale)
        if bias and not scale:
            module = ShiftedBatchNorm(module, place.channels)
    elif kind == "group":
        module = nn.GroupNorm(a.integer("groups"), place.channels, affine=scale)
    elif kind == "instance":
        kinds = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
        module = of_rank(len(place.extents), *kinds)(place.channels, affine=scale)
    else:
        raise Refusal(f"a norm of the kind '{kind}' is not supported by this script")
    return Over(module) if sequence else module


# Activations that torchvision runs in place, although the bundled model files lack `in_place`: relu6 of MobileNet v2, hardswish and
# hardsigmoid of MobileNet v3, silu of EfficientNet.
in_place_by_custom = ("relu6", "hardswish", "silu", "hardsigmoid")


def activation(place):
    kind = place.attributes.text("kind")
    network = place.network
    in_place = place.attributes.flag("in_place")
    if kind in in_place_by_custom and network.images:
        # Only after a norm, because the gradient of a norm does not need the norm's output.
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
        raise Refusal(f"an activation of the kind '{kind}' is not supported by this script")
    return makers[kind]()


def dropout(place):
    rate = place.attributes.number("rate")
    return SampleDropout(rate) if place.attributes.text("of") == "samples" else nn.Dropout(rate)


def add(place):
    network = place.network
    # torchvision's residual units use `out += identity` if an in-place activation follows.
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
    a.refuse("alibi")
    heads = a.integer("heads")
    buckets, bias = a.integer("buckets", 0), None
    if a.text("tied"):
        bias = [place.network.module_named(a.text("tied"), place.index)]
    elif buckets > 0:
        bias = DistanceBias(buckets, heads, a.flag("causal"))
    return Attention(
        heads,
        a.integer("kv_heads", heads),
        place.output[0] // heads,
        place.output[1],
        a.flag("causal"),
        a.number("dropout", 0.0),
        a.flag("fused"),
        place.network.style,
        a.integer("window", 0),
        bias,
    )


def rotary_embedding(place):
    a = place.attributes
    heads = a.integer("heads")
    kv_heads = a.integer("kv_heads", heads)
    size = place.channels // (heads + 2 * kv_heads)
    if place.network.operation(place.network.sole_reader_of(place.index)) != "attention":
        raise Refusal("rotary positions with another reader than one attention are not supported by this script")
    return Rotary(heads, kv_heads, size, a.integer("turned", size), place.output[1])


def window_attention(place):
    if place.attributes.text("positions", "table") != "table" or place.attributes.flag("padded"):
        raise Refusal("window attention without a table of biases is not supported by this script")
    heads = place.attributes.integer("heads")
    size, shift = place.network.windows_of(place.index)
    if not isinstance(place.network.layers[place.network.sources[place.index][0]], IntoWindows):
        raise Refusal("window attention without its own 1x1 convolution before it is not supported by this script")
    return WindowAttention(heads, place.output[0] // heads, place.extents, size, shift)


def space_to_depth(place):
    if len(place.extents) != 2:
        raise Refusal("blocks of anything but images are not supported by this script")
    return SpaceToDepth(place.attributes.sizes("block", 1))


def additive_attention(place):
    queries, keys = (shape[0] for shape in place.inputs)
    return AdditiveAttention(queries, keys, place.attributes.integer("features"), place.attributes.flag("normalized"))


def lstm(place):
    return Lstm(place.channels, place.attributes.integer("features"), place.attributes.flag("bidirectional"))


def router(place):
    return Router(place.channels, place.attributes.integer("experts"), place.attributes.integer("active"))


def embedding(place):
    if place.attributes.text("tied"):
        return TiedEmbedding(place.network.module_named(place.attributes.text("tied"), place.index))
    network, rows = place.network, place.attributes.integer("vocabulary")
    if place.output[1] == 1 and "interaction" in network.operations:
        return Table(rows, place.output[0], network.sparse)
    module = nn.Embedding(rows, place.output[0])
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
    network = place.network
    probabilities = [
        network.operation(source) == "activation" and "kind=sigmoid" in network.file["layers"][source]["attributes"]
        for source in network.sources[place.index]
    ]
    return Loss(place.attributes.text("kind"), place.sequence, probabilities)


makers = {
    "activation": activation,
    "add": add,
    "additive_attention": additive_attention,
    "attention": attention,
    "channel_shuffle": channel_shuffle,
    "class_token": lambda place: ClassToken(place.output[0]),
    "combine": lambda place: Combine(place.output[1]),
    "concat": concat,
    "convolution": convolution,
    "crop": crop,
    "dispatch": lambda place: Dispatch(),
    "dropout": dropout,
    "embedding": embedding,
    "flatten": flatten,
    "fully_connected": fully_connected,
    "identity": lambda place: nn.Identity(),
    "input": lambda place: nn.Identity(),  # the batch contains this tensor
    "interaction": lambda place: Interaction(len(place.inputs)),
    "loss": loss,
    "lstm": lstm,
    "multiply": multiply,
    "norm": norm,
    "pool": pool,
    "position_embedding": position_embedding,
    "reshape": reshape,
    "resize": resize,
    "rotary_embedding": rotary_embedding,
    "router": router,
    "scale": scale,
    "select": select,
    "slice": slice_channels,
    "softmax": softmax,
    "space_to_depth": space_to_depth,
    "transposed_convolution": transposed_convolution,
    "window_attention": window_attention,
}


class Network(nn.Module):
    """Runs the layers of a file one after the other, and frees each tensor after its last reader.

    gelu: the approximation, as for --gelu. sparse: whether embedding tables of recommendation models have gradients only for
    the rows that were read, as in DLRM; ddl-oracle counts gradients of all rows."""

    def __init__(self, file, gelu="none", sparse=False):
        super().__init__()
        self.file, self.gelu, self.sparse = file, gelu, sparse
        layers = file["layers"]
        self.names = {layer["name"]: i for i, layer in enumerate(layers)}
        self.sources = [[self.names.get(name, -1) for name in layer["inputs"]] for layer in layers]
        self.operations = {layer["operation"] for layer in layers}
        self.images = len(file["input"]) > 2
        self.style = self.find_style()
        # Networks with layer norms over the channels of images keep channels last in memory.
        self.channels_last_by_itself = self.images and any(
            layer["operation"] == "norm" and "kind=layer" in layer["attributes"] and len(layer["output"]) > 2 for layer in layers
        )
        self.is_sequence = []
        self.flattened = self.concatenated_lists()
        # `readers` decides which layers may work in place; `flattened` decides how long a tensor lives.
        self.readers = self.readers_of(self.sources)
        self.layers = nn.ModuleList()
        for i, layer in enumerate(layers):
            if layer["operation"] not in makers:
                raise Refusal(f"{layer['name']}: the operation '{layer['operation']}' is not supported by this script")
            try:
                place = Place(i, self, Attributes(layer["attributes"], max(1, len(layer["output"]) - 1)))
                if layer["operation"] in ("convolution", "pool", "transposed_convolution"):
                    place.attributes.rank = len(place.extents)
                module = makers[layer["operation"]](place)
            except Refusal as refusal:
                raise Refusal(f"{layer['name']}: {refusal}") from None
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise Refusal(f"{layer['name']}: '{layer['operation']} {layer['attributes']}' is not understood ({error})") from None
            self.layers.append(module)
            self.is_sequence.append(self.makes_sequence(i, place))
        last = {}
        for i, sources in enumerate(self.flattened):
            for source in sources:
                last[source] = i
        self.input_layers = [i for i, layer in enumerate(layers) if layer["operation"] == "input"]
        self.dead_behind = [[source for source, end in last.items() if end == i and source >= 0] for i in range(len(layers))]
        self.dead_at_once = [i not in last for i in range(len(layers))]

    def concatenated_lists(self):
        """The inputs of every layer. A concat that reads another concat takes the inputs of the other concat, because DenseNet keeps a
        list of the outputs of its layers, and concatenates the whole list in every layer."""
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

    def find_style(self):
        """The reference implementation of attention: `style` of Attention."""
        attributes = {(layer["operation"], word) for layer in self.file["layers"] for word in layer["attributes"].split()}
        if self.images:
            return "images"
        if any(operation == "attention" and word.startswith("buckets=") for operation, word in attributes):
            return "t5"
        if ("norm", "kind=rms") in attributes:
            return "llama"
        return "gpt" if ("attention", "causal=yes") in attributes else "bert"

    def projections(self, index):
        """Features of queries, keys and values if the layer computes them and the reference implementation uses separate matrix
        products, else None."""
        reader = self.sole_reader_of(index)
        attention = self.sole_reader_of(reader) if self.operation(reader) == "rotary_embedding" else reader
        if self.style not in ("bert", "llama", "t5") or self.operation(attention) != "attention":
            return None
        a = Attributes(self.file["layers"][attention]["attributes"], 1)
        heads = a.integer("heads")
        queries = self.file["layers"][attention]["output"][0]
        keys = queries // heads * a.integer("kv_heads", heads)
        if len(self.sources[attention]) == 1:
            return [queries, keys, keys]
        return [keys, keys] if self.sources[attention][1] == index else None

    def windows_of(self, index):
        """Size and shift of a layer's windows in positions, each for both dimensions. A window as large as the image has no shift."""
        layer = self.file["layers"][index]
        if len(layer["output"]) != 3:
            raise Refusal("windows of anything but images are not supported by this script")
        a = Attributes(layer["attributes"], 2)
        size, shift = a.sizes("window", 1), a.sizes("shift", 0)
        return size, tuple(0 if side >= extent else by for side, by, extent in zip(size, shift, layer["output"][1:]))

    def sole_reader_of(self, index):
        """The index of the only layer that reads layer `index`; -1 if there are no or several readers."""
        readers = self.readers.get(index, [])
        return readers[0] if len(readers) == 1 and index >= 0 else -1

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
        if place.operation == "input":
            return "tokens" in place.attributes.values
        if place.operation in ("flatten", "select", "loss"):
            return False
        if place.operation == "reshape":
            return place.attributes.text("tokens") is not None
        return place.sequence[0] and len(place.output) == 2

    def module_named(self, name, index):
        """The layer that `name` means at layer `index`: searched in the layer's own part of the network, then in enclosing parts."""
        part = self.file["layers"][index]["name"].split(".")[:-1]
        while True:
            found = self.names.get(".".join(part + [name]))
            if found is not None:
                return self.layers[found]
            if not part:
                raise Refusal(f"there is no layer '{name}' to share weights with")
            part.pop()

    def batch(self, samples, device):
        """Random tensors of a batch on `device`: the model's input, then the tensors of layers `input`."""
        shapes = [(-1, self.file["input"], not self.images)]
        shapes += [(i, self.file["layers"][i]["output"], self.is_sequence[i]) for i in self.input_layers]
        return [self.random(source, shape, sequence, samples, device) for source, shape, sequence in shapes]

    def random(self, source, shape, sequence, samples, device):
        channels, *extents = shape
        looked_up = [reader for reader in self.readers.get(source, []) if self.operation(reader) == "embedding"]
        if looked_up:
            # Token numbers are limited by the smallest table that reads them.
            rows = [Attributes(self.file["layers"][i]["attributes"], 1).integer("vocabulary") for i in looked_up]
            return torch.randint(min(rows), (samples, *extents), device=device)
        if sequence and extents:
            return torch.randn((samples, *extents, channels), device=device)
        return torch.randn((samples, channels, *extents), device=device)

    def forward(self, batch, check=None):
        made = dict(zip([-1] + self.input_layers, batch))
        total = None
        for i, layer in enumerate(self.layers):
            out = made[i] if i in made else apply(layer, [made[source] for source in self.flattened[i]])
            if check is not None:
                check(i, out)
            made[i] = out
            for dead in self.dead_behind[i]:
                del made[dead]
            if self.dead_at_once[i]:
                del made[i]
            # An output without readers is a loss: of the model, or of an auxiliary classifier.
            if i not in self.readers:
                total = out if total is None else total + out
        return total


def apply(layer, inputs):
    """Applies a layer to its inputs. Layers for single tensors are applied to the tokens of each expert."""
    if inputs and isinstance(inputs[0], Groups) and not isinstance(layer, (ExpertLinear, Combine)):
        return Groups(layer(*each) for each in zip(*inputs))
    return layer(*inputs)


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
    """Returns a function that compares the output shape of a layer with the file."""

    def check(i, out):
        layer = network.file["layers"][i]
        channels, *extents = layer["output"]
        expected = [samples] + ([*extents, channels] if network.is_sequence[i] else [channels, *extents])
        if layer["operation"] == "loss":
            shape, expected = list(out.shape), []
        elif isinstance(out, Projections):
            shape = [*out[0].shape[:-1], sum(part.shape[-1] for part in out)]
        elif isinstance(out, Heads):
            shape = [out[0].shape[0], out[0].shape[2], sum(part.shape[1] * part.shape[3] for part in out)]
        elif isinstance(out, Groups):
            shape = [sum(part.shape[0] for part in out), out[0].shape[-1]]
            expected = [samples * extents[0], channels]
        elif isinstance(out, Choice):
            shape, expected = [out.tokens, out.experts], [samples * extents[0], channels]
        elif isinstance(network.layers[i], IntoWindows):
            area = math.prod(network.layers[i].size)
            shape, expected = list(out.shape), [samples * math.prod(extents) // area, area, channels]
        elif layer["operation"] == "input" and not out.is_floating_point():
            shape, expected = list(out.shape), [samples, *extents]
        else:
            shape = list(out.shape)
        if shape != expected:
            raise Refusal(f"{layer['name']} makes {shape} here, {expected} by the file")

    return check
