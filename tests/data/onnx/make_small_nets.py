#!/usr/bin/python3
"""Writes the small ONNX files in this folder: nets of a few layers, exported by torch 1.13, without weights.

Needs python3-torch, python3-protobuf, protobuf-compiler and libonnx-dev (for onnx.proto). Run: make_small_nets.py [FOLDER]
Prints name, parameters and multiply-adds of one sample, counted by hooks on the modules, for networks.csv.
"""
import io
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore")
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
with tempfile.TemporaryDirectory() as scratch:
    subprocess.run(["protoc", "--python_out=" + scratch, "-I/usr/include/onnx", "onnx.proto"], check=True)
    sys.path.insert(0, scratch)
    import onnx_pb2


class Residual(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.act, self.drop, self.fc = act, nn.Dropout(0.25), nn.Linear(8, 10)

    def forward(self, x):
        x = self.act(self.bn1(self.conv1(x)))
        x = self.act(self.bn2(self.conv2(x)) + x)
        return self.fc(self.drop(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)))


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.down, self.up = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.depth, self.gn = nn.Conv2d(16, 16, 5, padding=2, groups=16, bias=False), nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.silu(self.stem(x))
        s = F.hardsigmoid(self.up(F.relu(self.down(x.mean([2, 3], keepdim=True)))))
        x = F.hardswish(self.gn(self.depth(x * s)))
        return self.fc(x.mean([2, 3]))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(3, 2, 5, padding=2)
        self.pool, self.fc = nn.MaxPool2d(3, 2, ceil_mode=True), nn.Linear(12 * 6 * 6, 5)

    def forward(self, x):
        x = self.pool(torch.cat([self.a(x), F.leaky_relu(self.b(x), 0.1), F.elu(self.c(x))], 1))
        return F.log_softmax(self.fc(x.view(x.size(0), -1)), 1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 8 * 4 * 4)
        self.up1, self.up2 = nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1), nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        x = self.fc(x).view(-1, 8, 4, 4)
        return torch.tanh(self.up2(F.relu(self.up1(x))))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.fc = nn.Conv3d(4, 8, 3, padding=1), nn.AvgPool3d(2), nn.Linear(8 * 4 * 4 * 4, 3)

    def forward(self, x):
        return self.fc(self.pool(F.softplus(self.conv(x))).flatten(1))


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3, stride=2)

    def forward(self, x):
        return self.b(F.pad(F.mish(self.a(F.pad(x, (1, 1, 1, 1)))), (0, 1, 0, 1)))


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv1d(6, 8, 3, padding=1), nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(F.gelu(self.bn(self.conv(x))).transpose(1, 2))


class Block(nn.Module):
    """A block of GPT-2 with separate or joint projections and a mask in a buffer."""

    def __init__(self, h, heads, joint, tanh, tokens, dropout=0.1):
        super().__init__()
        self.heads, self.joint, self.tanh = heads, joint, tanh
        self.ln1, self.ln2 = nn.LayerNorm(h), nn.LayerNorm(h)
        if joint:
            self.qkv = nn.Linear(h, 3 * h)
        else:
            self.q, self.k, self.v = nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, h)
        self.proj, self.fc1, self.fc2 = nn.Linear(h, h), nn.Linear(h, 4 * h), nn.Linear(4 * h, h)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(tokens, tokens)).view(1, 1, tokens, tokens).bool())

    def forward(self, x):
        b, t, h = x.size()
        y = self.ln1(x)
        q, k, v = self.qkv(y).split(h, 2) if self.joint else (self.q(y), self.k(y), self.v(y))
        q, k, v = (z.view(b, t, self.heads, h // self.heads).transpose(1, 2) for z in (q, k, v))
        s = q @ k.transpose(-2, -1) * (1 / math.sqrt(h // self.heads))
        s = s.masked_fill(~self.mask[:, :, :t, :t], -1e4) if self.joint else torch.where(self.mask, s, torch.full([], -1e4))
        y = self.drop(F.softmax(s, -1)) @ v
        x = x + self.drop(self.proj(y.transpose(1, 2).contiguous().view(b, t, h)))
        y = self.fc1(self.ln2(x))
        if self.tanh:
            y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3))))
        else:
            y = F.gelu(y)
        return x + self.drop(self.fc2(y))


class Gpt(nn.Module):
    def __init__(self, joint=True, tanh=True, tied=True):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50, 16), nn.Embedding(12, 16)
        self.h = nn.ModuleList([Block(16, 2, joint, tanh, 8) for _ in range(2)])
        self.ln_f, self.head = nn.LayerNorm(16), nn.Linear(16, 50, bias=False)
        if tied:
            self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1)))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))


class RmsNorm(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(h))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Grouped(nn.Module):
    """Attention with four query heads and two key and value heads, no biases, and root-mean-square norms."""

    def __init__(self):
        super().__init__()
        self.norm, self.wq, self.wk, self.wv, self.wo = RmsNorm(16), nn.Linear(16, 16, False), nn.Linear(16, 8, False), nn.Linear(16, 8, False), nn.Linear(16, 16, False)

    def forward(self, x):
        b, t, h = x.shape
        y = self.norm(x)
        q = self.wq(y).view(b, t, 4, 4).transpose(1, 2)
        k, v = (w(y).view(b, t, 2, 4).transpose(1, 2)[:, :, None].expand(b, 2, 2, t, 4).reshape(b, 4, t, 4) for w in (self.wk, self.wv))
        y = F.softmax(q @ k.transpose(2, 3) / 2, -1) @ v
        return x + self.wo(y.transpose(1, 2).reshape(b, t, h))


class Vit(nn.Module):
    """A vision transformer without a class token, with timm's layout of queries, keys and values."""

    def __init__(self):
        super().__init__()
        self.patch, self.pos = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.zeros(1, 16, 16))
        self.norm1, self.qkv, self.proj, self.head = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.pos
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = ((q * 0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
        x = x + self.proj(y.transpose(1, 2).reshape(b, n, c))
        return self.head(x.mean(1))


class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 8, 1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        x1, x2 = self.a(x).chunk(2, 1)
        x = torch.cat([x1, self.b(x2)], 1)
        b, c, h, w = x.shape
        return x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)


class Upsample(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.b(F.interpolate(self.a(x), scale_factor=2.0))


class Scaled(nn.Module):
    """A trained scale for each channel, an instance norm without a trained scale, and a skip connection that is cropped."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3), nn.InstanceNorm2d(4)
        self.gamma, self.bare = nn.Parameter(torch.ones(4, 1, 1)), nn.InstanceNorm2d(4, affine=True)

    def forward(self, x):
        skip = self.bare(self.norm(self.a(x)))
        return torch.cat([self.gamma * self.b(skip), skip[:, :, 1:-1, 1:-1]], 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


class Slope(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.act, self.b = nn.Conv2d(3, 4, 1), nn.PReLU(4), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


def macs_of(model, x):
    """Multiply-adds of convolutions and linear layers in one sample, and of the two products of each attention."""
    total = [0]

    def hook(module, inputs, output):
        if isinstance(module, nn.ConvTranspose2d):
            total[0] += inputs[0].numel() * module.weight[0].numel()
        elif isinstance(module, nn.Linear):
            total[0] += output.numel() * module.in_features
        elif hasattr(module, "weight") and module.weight is not None and module.weight.dim() > 2:
            total[0] += output.numel() * module.weight[0].numel()

    handles = [m.register_forward_hook(hook) for m in model.modules()]
    real = torch.Tensor.__matmul__

    def product(a, b):
        total[0] += a.numel() * b.shape[-1]
        return real(a, b)

    torch.Tensor.__matmul__ = product
    try:
        model(x)
    finally:
        torch.Tensor.__matmul__ = real
        for handle in handles:
            handle.remove()
    return total[0] // x.shape[0]


def strip(data):
    """Drops the weights: tensors larger than 64 bytes become external data, and the data file is missing."""
    model = onnx_pb2.ModelProto()
    model.ParseFromString(data)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 64 and tensor.data_type in (1, 11):
            tensor.ClearField("raw_data")
            tensor.data_location = 1
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", "weights.bin"
    for node in model.graph.node:
        node.ClearField("doc_string")
    return model.SerializeToString()


def export(name, model, x, opset=17, train=False, dynamic=False, macs=True, **options):
    model.train(train)
    buffer = io.BytesIO()
    mode = torch.onnx.TrainingMode.TRAINING if train else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, x, buffer, opset_version=opset, training=mode, input_names=["input"], output_names=["output"],
                      do_constant_folding=not train, dynamic_axes={"input": {0: "N"}} if dynamic else None, **options)
    (folder / f"{name}.onnx").write_bytes(strip(buffer.getvalue()))
    if macs is not None:
        parameters = sum(p.numel() for p in model.parameters())
        print(f"{name},{parameters},{macs_of(model.eval(), x) if macs is True else macs}")


torch.manual_seed(0)
image = torch.zeros(2, 3, 13, 13)
print("name,parameters,macs")
for opset in range(11, 18):
    export(f"residual_train_op{opset}", Residual(nn.ReLU6()), image, opset, train=True)
export("residual_eval_op11", Residual(nn.ReLU()), image, 11, keep_initializers_as_inputs=True, macs=None)
export("residual_dynamic_op17", Residual(nn.SiLU()), image, train=True, dynamic=True)
export("residual_one_op13", Residual(nn.Hardswish()), image[:1], 13, train=True)
export("residual_inputs_op14", Residual(nn.Hardswish()), image, 14, train=True, export_params=False)
export("squeeze_excite_op12", SqueezeExcite(), image, 12, train=True)
export("squeeze_excite_op17", SqueezeExcite(), image, train=True, dynamic=True)
export("inception_op11", Inception(), image, 11, dynamic=True)
export("inception_op16", Inception(), image, 16)
export("decoder_op13", Decoder(), torch.zeros(2, 20), 13, dynamic=True)
export("volume_op14", Volume(), torch.zeros(1, 4, 8, 8, 8), 14)
export("padded_op11", Padded(), torch.zeros(2, 3, 12, 12), 11)
export("padded_op17", Padded(), torch.zeros(2, 3, 12, 12), 17)
export("speech_op15", Speech(), torch.zeros(2, 6, 20), 15, train=True)
ids = torch.zeros(2, 8, dtype=torch.long)
export("gpt_joint_op11", Gpt(), ids, 11, train=True)
export("gpt_joint_op17", Gpt(), ids, 17, train=True, dynamic=True)
export("gpt_one_op13", Gpt(tanh=False), ids[:1], 13)
export("gpt_separate_op14", Gpt(joint=False, tanh=False, tied=False), ids, 14, train=True)
export("grouped_op13", Grouped(), torch.zeros(2, 8, 16), 13, train=True)
export("vit_op17", Vit(), torch.zeros(2, 3, 16, 16), dynamic=True)
export("vit_op11", Vit(), torch.zeros(1, 3, 16, 16), 11)
# Multiply-adds of nn.MultiheadAttention by hand: 8 tokens of 16: projections 4·16·16·8, scores and values 2·8·8·16, the rest
# 2·16·32·8.
for opset in (11, 14, 17):
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, 0.1, batch_first=True), 2)
    export(f"encoder_op{opset}", encoder, torch.zeros(2, 8, 16), opset, train=True,
           macs=2 * (4 * 16 * 16 * 8 + 2 * 8 * 8 * 16 + 2 * 16 * 32 * 8))
export("shuffle_op14", Shuffle(), torch.zeros(2, 8, 6, 6), 14)
export("upsample_op14", Upsample(), image, 14)
export("scaled_op13", Scaled(), image, 13, train=True)
# Unsupported operators.
encoder = nn.TransformerEncoderLayer(16, 4, 32, 0.1)
export("refused_batch_second", encoder, torch.zeros(8, 2, 16), 14, train=True, macs=None)
export("refused_gru", Recurrent(), torch.zeros(2, 8, 8), 14, macs=None)
export("unknown_prelu", Slope(), image, 14, macs=None)
