"""PyTorch modules for the layers of a model, used by step_network.py. Each operation is computed as in an eager reference
implementation.

The reference implementations are torchvision 0.14 for images, Hugging Face's transformers 4.46 for sequences,
facebookresearch/dlrm for recommendation, and the GNMT of MLPerf Training (NVIDIA/DeepLearningExamples,
PyTorch/Translation/GNMT) for translation with LSTMs.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

has_fused_attention = hasattr(F, "scaled_dot_product_attention")


class Projections(tuple):
    """Queries, keys and values, or keys and values, each from a separate matrix product. Shapes: samples, tokens, features."""


class Heads(tuple):
    """Queries, keys and values by heads. Shapes: samples, heads, tokens, features of a head."""


class Groups(list):
    """A tensor for each expert with the expert's tokens. Shapes: tokens, features."""


class Padded(nn.Module):
    """Pads by different widths before and after, and applies `inner`. PyTorch's windows have only symmetric padding."""

    def __init__(self, before, after, inner, value=0.0):
        super().__init__()
        self.rim = [side for pair in zip(reversed(before), reversed(after)) for side in pair]
        self.inner, self.value = inner, value

    def forward(self, x):
        return self.inner(F.pad(x, self.rim, value=self.value))


class Over(nn.Module):
    """Applies a module for images to a sequence (samples, tokens, channels)."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.transpose(1, 2)).transpose(1, 2)


class ChannelsLast(nn.Module):
    """Applies a module for the last dimension to the channels of an image: torchvision's LayerNorm2d, and the linear layers of
    ConvNeXt and Swin. If channels are already last in memory, moving the dimension copies nothing."""

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


class ShiftedBatchNorm(nn.Module):
    """A batch norm with a trained shift and without a scale, as in some models of Keras."""

    def __init__(self, inner, channels):
        super().__init__()
        self.inner = inner  # without scale and shift
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("ones", torch.ones(channels), persistent=False)

    def forward(self, x):
        n = self.inner
        return F.batch_norm(x, n.running_mean, n.running_var, self.ones, self.bias, self.training, n.momentum, n.eps)


class RmsNorm(nn.Module):
    """LlamaRMSNorm of transformers, with the mean of squares in fp32."""

    def __init__(self, features, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features)) if scale else None

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x.to(kind) if self.weight is None else self.weight * x.to(kind)


class Tied(nn.Module):
    """A linear layer with another layer's embedding table as its matrix."""

    def __init__(self, owner, features, bias):
        super().__init__()
        self.owner = [owner]  # in a list, so that its parameters are not counted twice
        self.bias = nn.Parameter(torch.zeros(features)) if bias else None

    def forward(self, x):
        return F.linear(x, self.owner[0].weight, self.bias)


class TiedEmbedding(nn.Module):
    def __init__(self, owner):
        super().__init__()
        self.owner = [owner]

    def forward(self, tokens):
        return F.embedding(tokens, self.owner[0].weight)


class Table(nn.Module):
    """An embedding table of DLRM: the sum of the rows of a bag; each bag has one row."""

    def __init__(self, rows, features, sparse):
        super().__init__()
        self.bag = nn.EmbeddingBag(rows, features, mode="sum", sparse=sparse)

    def forward(self, tokens):
        return self.bag(tokens).unsqueeze(1)


class AddedPositions(nn.Module):
    """Trained positions as in torchvision's vision transformers: one parameter that is added."""

    def __init__(self, positions, features):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(1, positions, features).normal_(std=0.02))

    def forward(self, x):
        return x + (self.positions if x.shape[1] == self.positions.shape[1] else self.positions[:, : x.shape[1]])


class EmbeddedPositions(nn.Module):
    """Trained positions as in models of transformers: an embedding that is looked up by position."""

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


class ComposedGelu(nn.Module):
    """transformers' NewGELUActivation: the tanh approximation, operator by operator."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


# ---- attention ----


class SeparateLinear(nn.Module):
    """Queries, keys and values by separate matrix products, as in BERT, LLaMA and T5 of transformers."""

    def __init__(self, features, parts, bias):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(features, part, bias=bias) for part in parts)

    def forward(self, x):
        return Projections(part(x) for part in self.parts)


def repeat_heads(x, times):
    """transformers' repeat_kv."""
    if times == 1:
        return x
    samples, heads, tokens, size = x.shape
    return x[:, :, None, :, :].expand(samples, heads, times, tokens, size).reshape(samples, heads * times, tokens, size)


def distance_buckets(queries, keys, both_ways, count, device, farthest=128):
    """The bucket (queries × keys) of each pair of tokens, as in T5Attention._relative_position_bucket of transformers."""
    distance = torch.arange(keys, device=device)[None, :] - torch.arange(queries, device=device)[:, None]
    bucket = torch.zeros_like(distance)
    if both_ways:
        count //= 2
        bucket = bucket + (distance > 0).to(torch.long) * count
        distance = torch.abs(distance)
    else:
        distance = -torch.min(distance, torch.zeros_like(distance))
    exact = max(1, count // 2)
    scaled = torch.log(distance.float() / exact) / math.log(farthest / exact) * (count - exact)
    far = torch.min(exact + scaled.to(torch.long), torch.full_like(distance, count - 1))
    return bucket + torch.where(distance < exact, distance, far)


class DistanceBias(nn.Module):
    """T5's biases of relative positions. The first layer of a stack owns the table, and computes biases and mask once per step; the
    other layers add this tensor."""

    def __init__(self, buckets, heads, causal):
        super().__init__()
        self.buckets, self.causal = buckets, causal
        self.table = nn.Embedding(buckets, heads)
        self.made = None

    def forward(self, queries, keys, samples):
        numbers = distance_buckets(queries, keys, not self.causal, self.buckets, self.table.weight.device)
        bias = self.table(numbers).permute([2, 0, 1]).unsqueeze(0)
        mask = torch.zeros((samples, 1, queries if self.causal else 1, keys), dtype=bias.dtype, device=bias.device)
        if self.causal:
            mask = mask.masked_fill(torch.ones_like(mask, dtype=torch.bool).triu(1), torch.finfo(bias.dtype).min)
        self.made = bias + mask
        return self.made


class Attention(nn.Module):
    """Attention between the projections. Without `fused`, the operators are those of the reference implementation `style`:
    images  nn.MultiheadAttention, which scales the queries
    gpt     GPT-2 of transformers, which divides the scores and masks them by `where`
    bert    BERT, which adds a mask of zeros if no mask is given
    llama   LLaMA, which adds the causal mask
    t5      T5, which does not scale, and adds biases of positions
    """

    def __init__(self, heads, kv_heads, size, tokens, causal, dropout, fused, style, seen=0, bias=None):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, size
        self.causal, self.rate, self.fused, self.style = causal, dropout, fused and has_fused_attention, style
        self.dropout = nn.Dropout(dropout) if dropout > 0 else None
        self.owns_bias = isinstance(bias, nn.Module)
        self.bias = bias  # a DistanceBias, or a list with the layer that owns it
        masks = seen > 0 or (causal and style in ("gpt", "images", "llama"))
        self.windowed = seen > 0
        if masks and not (self.fused and not self.windowed):
            visible = torch.tril(torch.ones((tokens, tokens), dtype=torch.bool))
            if self.windowed:
                visible = visible & torch.triu(torch.ones((tokens, tokens), dtype=torch.bool), 1 - seen)
            self.register_buffer("mask", visible.view(1, 1, tokens, tokens), persistent=False)

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.size).transpose(1, 2)

    def parts(self, x, other):
        """Queries, keys and values by heads."""
        if isinstance(x, Heads):
            return x
        queries, keys = self.heads * self.size, self.kv_heads * self.size
        if other is not None:
            k, v = other if isinstance(other, Projections) else other.split([keys, keys], dim=2)
            q = x
        else:
            q, k, v = x if isinstance(x, Projections) else x.split([queries, keys, keys], dim=2)
        return self.split(q, self.heads), self.split(k, self.kv_heads), self.split(v, self.kv_heads)

    def forward(self, x, other=None):
        q, k, v = self.parts(x, other)
        times = self.heads // self.kv_heads
        k, v = repeat_heads(k, times), repeat_heads(v, times)
        if self.fused:
            mask = self.mask if self.windowed else None
            out = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=self.causal and not self.windowed, dropout_p=self.rate if self.training else 0.0
            )
        else:
            out = self.eager(q, k, v)
        return out.transpose(1, 2).contiguous().view(q.shape[0], q.shape[2], self.heads * self.size)

    def eager(self, q, k, v):
        if self.style == "images":
            scores = torch.matmul(q / math.sqrt(self.size), k.transpose(-1, -2))
        elif self.style == "t5":
            scores = torch.matmul(q, k.transpose(3, 2))
        else:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        if self.style == "t5":
            scores = scores + self.distances(q, k)
        elif self.style == "llama" and self.causal:
            lowest = torch.finfo(scores.dtype).min
            hidden = torch.zeros_like(self.mask, dtype=scores.dtype).masked_fill_(~self.mask, lowest)
            scores = scores + hidden
        elif self.causal:
            lowest = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype, device=scores.device)
            scores = torch.where(self.mask, scores, lowest)
        elif self.style != "images":
            scores = scores + torch.zeros((q.shape[0], 1, 1, k.shape[2]), dtype=scores.dtype, device=scores.device)
        if self.style in ("llama", "t5"):
            weights = torch.softmax(scores.float(), dim=-1).type_as(scores).to(v.dtype)
        else:
            weights = torch.softmax(scores, dim=-1).type(v.dtype)
        if self.dropout is not None:
            weights = self.dropout(weights)
        return torch.matmul(weights, v)

    def distances(self, q, k):
        if self.bias is None:  # attention to another sequence has only a mask
            return torch.zeros((q.shape[0], 1, 1, k.shape[2]), dtype=q.dtype, device=q.device)
        if self.owns_bias:
            return self.bias(q.shape[2], k.shape[2], q.shape[0])
        return self.bias[0].bias.made


class Rotary(nn.Module):
    """Rotates queries and keys by their positions, like apply_rotary_pos_emb of transformers. `turned` is the number of rotated
    features of a head. Values are unchanged. Sines and cosines are computed once, because LLaMA computes them once per step
    for all layers."""

    def __init__(self, heads, kv_heads, size, turned, tokens):
        super().__init__()
        self.counts, self.size, self.turned = (heads, kv_heads, kv_heads), size, turned
        speeds = 1.0 / (10000 ** (torch.arange(0, turned, 2, dtype=torch.float32) / turned))
        angles = torch.arange(tokens, dtype=torch.float32)[:, None] * speeds[None, :]
        both = torch.cat((angles, angles), dim=-1)[None, None]
        self.register_buffer("cosines", both.cos(), persistent=False)
        self.register_buffer("sines", both.sin(), persistent=False)

    def forward(self, x):
        if not isinstance(x, Projections):
            x = x.split([count * self.size for count in self.counts], dim=2)
        q, k, v = (part.view(part.shape[0], part.shape[1], count, self.size).transpose(1, 2) for part, count in zip(x, self.counts))
        cosines, sines = self.cosines[:, :, : q.shape[2]].to(q.dtype), self.sines[:, :, : q.shape[2]].to(q.dtype)
        return Heads((self.turn(q, cosines, sines), self.turn(k, cosines, sines), v))

    def turn(self, x, cosines, sines):
        if self.turned < self.size:
            return torch.cat((self.turn_all(x[..., : self.turned], cosines, sines), x[..., self.turned :]), dim=-1)
        return self.turn_all(x, cosines, sines)

    @staticmethod
    def turn_all(x, cosines, sines):
        half = x.shape[-1] // 2
        return (x * cosines) + (torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sines)


class IntoWindows(nn.Module):
    """The first part of torchvision's shifted_window_attention (Swin): cuts windows, and computes queries, keys and values."""

    def __init__(self, linear, size, shift):
        super().__init__()
        self.linear, self.size, self.shift = linear, size, shift

    def forward(self, x):
        x = x.movedim(1, -1)
        samples, height, width, channels = x.shape
        x = F.pad(x, (0, 0, 0, 0, 0, 0))  # a padding of zero, because windows divide the image; torchvision also
                                          # copies in this case
        if any(self.shift):
            x = torch.roll(x, shifts=(-self.shift[0], -self.shift[1]), dims=(1, 2))
        (a, b) = self.size
        x = x.view(samples, height // a, a, width // b, b, channels)
        return self.linear(x.permute(0, 1, 3, 2, 4, 5).reshape(-1, a * b, channels))


class WindowAttention(nn.Module):
    """The second part of torchvision's shifted_window_attention (Swin), without the last matrix product."""

    def __init__(self, heads, head_size, extents, size, shift):
        super().__init__()
        self.heads, self.head_size, self.extents, self.size, self.shift = heads, head_size, extents, size, shift
        a, b = size
        self.table = nn.Parameter(torch.zeros((2 * a - 1) * (2 * b - 1), heads))
        nn.init.trunc_normal_(self.table, std=0.02)
        places = torch.stack(torch.meshgrid(torch.arange(a), torch.arange(b), indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0)
        rows = (apart[:, :, 0] + a - 1) * (2 * b - 1) + apart[:, :, 1] + b - 1
        self.register_buffer("rows", rows.flatten(), persistent=False)

    def forward(self, x):
        (height, width), (a, b) = self.extents, self.size
        area, windows = a * b, (height // a) * (width // b)
        qkv = x.reshape(x.size(0), area, 3, self.heads, self.head_size).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        q = q * self.head_size**-0.5
        scores = q.matmul(k.transpose(-2, -1))
        scores = scores + self.table[self.rows].view(area, area, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        if any(self.shift):
            scores = scores.view(-1, windows, self.heads, area, area)
            scores = (scores + self.mask(x).unsqueeze(1).unsqueeze(0)).view(-1, self.heads, area, area)
        weights = F.dropout(F.softmax(scores, dim=-1), p=0.0)
        x = weights.matmul(v).transpose(1, 2).reshape(x.size(0), area, self.heads * self.head_size)
        x = x.view(-1, height // a, width // b, a, b, x.shape[-1]).permute(0, 1, 3, 2, 4, 5).reshape(-1, height, width, x.shape[-1])
        if any(self.shift):
            x = torch.roll(x, shifts=tuple(self.shift), dims=(1, 2))
        return x.movedim(-1, 1)

    def mask(self, x):
        """Masks pairs of positions from regions that were not adjacent before the roll. Computed in every step, as in torchvision."""
        (height, width), (a, b) = self.extents, self.size
        parts = x.new_zeros((height, width))
        slices = [
            ((0, -size), (-size, -shift), (-shift, None)) if shift else ((0, None),) for size, shift in zip(self.size, self.shift)
        ]
        count = 0
        for rows in slices[0]:
            for columns in slices[1]:
                parts[rows[0] : rows[1], columns[0] : columns[1]] = count
                count += 1
        parts = parts.view(height // a, a, width // b, b).permute(0, 2, 1, 3).reshape(-1, a * b)
        mask = parts.unsqueeze(1) - parts.unsqueeze(2)
        return mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)


class SpaceToDepth(nn.Module):
    """torchvision's PatchMerging without its norm and matrix product."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        x = F.pad(x.movedim(1, -1), (0, 0, 0, 0, 0, 0))  # as in IntoWindows
        (a, b) = self.block
        return torch.cat([x[..., i::a, j::b, :] for j in range(b) for i in range(a)], -1).movedim(-1, 1)


class AdditiveAttention(nn.Module):
    """BahdanauAttention of MLPerf's GNMT: the tanh of the sum of each query and key, multiplied by a trained vector. With
    `normalized`, the length of this vector is a separate parameter."""

    def __init__(self, query_features, key_features, features, normalized):
        super().__init__()
        self.of_queries = nn.Linear(query_features, features, bias=False)
        self.of_keys = nn.Linear(key_features, features, bias=False)
        self.vector = nn.Parameter(torch.empty(features).uniform_(-0.1, 0.1))
        self.length = nn.Parameter(torch.ones(1)) if normalized else None
        self.bias = nn.Parameter(torch.zeros(features)) if normalized else None

    def forward(self, queries, keys):
        q, k = self.of_queries(queries), self.of_keys(keys)
        shape = (q.shape[0], q.shape[1], k.shape[1], q.shape[2])
        sums = q.unsqueeze(2).expand(shape) + k.unsqueeze(1).expand(shape)
        vector = self.vector
        if self.length is not None:
            sums = sums + self.bias
            vector = vector / vector.norm() * self.length
        weights = F.softmax(torch.tanh(sums).matmul(vector.to(sums.dtype)), dim=-1)
        return torch.bmm(weights.to(keys.dtype), keys)


class Lstm(nn.Module):
    def __init__(self, features_in, features, both_ways):
        super().__init__()
        self.lstm = nn.LSTM(features_in, features, num_layers=1, bias=True, batch_first=True, bidirectional=both_ways)

    def forward(self, x):
        return self.lstm(x)[0]


class Interaction(nn.Module):
    """interact_features of DLRM: dot products of all pairs below the diagonal. DLRM computes the indices on the host in every step; this
    module keeps the indices on the device, so that a step does not wait for their transfer."""

    def __init__(self, vectors):
        super().__init__()
        pairs = [(i, j) for i in range(vectors) for j in range(i)]
        self.register_buffer("rows", torch.tensor([i for i, _ in pairs], dtype=torch.long), persistent=False)
        self.register_buffer("columns", torch.tensor([j for _, j in pairs], dtype=torch.long), persistent=False)

    def forward(self, first, *others):
        stacked = torch.cat((first, *others), dim=1).view(first.shape[0], 1 + len(others), -1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return torch.cat((first, products[:, self.rows, self.columns]), dim=1)


# ---- experts: MixtralSparseMoeBlock of transformers ----


class Choice:
    """The experts of each token, and the weight of each expert."""

    def __init__(self, weights, chosen, experts):
        self.weights, self.experts, self.tokens = weights, experts, weights.shape[0]
        self.mask = None if weights.is_meta else F.one_hot(chosen, num_classes=experts).permute(2, 1, 0)

    def tokens_of(self, expert):
        """The positions of the expert's tokens, and for each token the index of this expert among the token's experts."""
        if self.mask is None:  # the meta device cannot route: all experts get equal numbers of tokens
            count = self.weights.numel() // self.experts + (expert < self.weights.numel() % self.experts)
            places = torch.empty(count, dtype=torch.long, device="meta")
            return places, places
        which, places = torch.where(self.mask[expert])
        return places, which


class Router(nn.Module):
    def __init__(self, features, experts, active):
        super().__init__()
        self.experts, self.active = experts, active
        self.gate = nn.Linear(features, experts, bias=False)

    def forward(self, x):
        weights = F.softmax(self.gate(x.view(-1, x.shape[-1])), dim=1, dtype=torch.float)
        weights, chosen = torch.topk(weights, self.active, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return Choice(weights.to(x.dtype), chosen, self.experts)


class Dispatch(nn.Module):
    def forward(self, x, choice):
        flat = x.view(-1, x.shape[-1])
        return Groups(flat[choice.tokens_of(expert)[0]] for expert in range(choice.experts))


class ExpertLinear(nn.Module):
    def __init__(self, experts, features_in, features, bias):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(features_in, features, bias=bias) for _ in range(experts))

    def forward(self, groups):
        return Groups(expert(group) for expert, group in zip(self.experts, groups))


class Combine(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.tokens = tokens

    def forward(self, groups, choice):
        total = torch.zeros((choice.tokens, groups[0].shape[-1]), dtype=groups[0].dtype, device=groups[0].device)
        for expert, group in enumerate(groups):
            places, which = choice.tokens_of(expert)
            weighted = group * choice.weights[places, which, None]
            total.index_add_(0, places, weighted.to(total.dtype))
        return total.view(-1, self.tokens, total.shape[-1])


class Loss(nn.Module):
    """The sum of the losses of all inputs. Targets are random, and created once. `probabilities` marks inputs that are outputs of a
    sigmoid, as in DLRM."""

    def __init__(self, kind, sequences, probabilities):
        super().__init__()
        self.kind, self.sequences, self.probabilities, self.targets = kind, sequences, probabilities, None

    def forward(self, *inputs):
        if self.targets is None:
            self.targets = [self.target(x, sequence) for x, sequence in zip(inputs, self.sequences)]
        total = None
        for x, target, probability in zip(inputs, self.targets, self.probabilities):
            loss = self.loss(x, target, probability)
            total = loss if total is None else total + loss
        return total

    def loss(self, x, target, probability):
        if self.kind == "mse":
            return F.mse_loss(x, target)
        if x.dim() == 2 and x.shape[1] == 1:
            if not probability:
                return F.binary_cross_entropy_with_logits(x, target)
            # autocast rejects binary_cross_entropy in 16 bits
            with torch.autocast(x.device.type if x.device.type in ("cpu", "cuda") else "cpu", enabled=False):
                return F.binary_cross_entropy(x.float(), target)
        return F.cross_entropy(x.reshape(-1, x.shape[-1]) if x.dim() == 3 and target.dim() == 1 else x, target)

    def target(self, x, sequence):
        if self.kind == "mse":
            return torch.randn_like(x)
        if x.dim() == 2 and x.shape[1] == 1:
            return torch.randint(2, x.shape, device=x.device).float()
        if sequence:
            return torch.randint(x.shape[-1], (x.shape[0] * x.shape[1],), device=x.device)
        return torch.randint(x.shape[1], (x.shape[0],) + tuple(x.shape[2:]), device=x.device)
