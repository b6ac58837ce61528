"""The network of plan.py, built by Hugging Face's transformers from a configuration; synthetic samples, and the loss."""

import contextlib

import plan
import torch
import transformers
from torch import nn


@contextlib.contextmanager
def without_weights():
    """Parameters of modules that are built here have a shape, but no memory. Buffers have their values."""
    register = nn.Module.register_parameter

    def register_shape(module, name, parameter):
        register(module, name, parameter)
        if parameter is not None and not parameter.is_meta:
            module._parameters[name] = nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)

    nn.Module.register_parameter = register_shape
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def build_model(device):
    """Returns the model on the device. If the plan shards its weights, they get memory in fill_model, after sharding."""
    if plan.DEFERRED:
        with without_weights():
            return network()
    return network().to(device)


def fill_model(model, device):
    """Allocates the shards of deferred weights, and gives them random values. To go on from a checkpoint, load it here."""
    if not plan.DEFERRED:
        return
    buffers = [(module, *named) for module in model.modules() for named in module.named_buffers(recurse=False)]
    model.to_empty(device=device)
    for module, name, buffer in buffers:
        module._buffers[name] = buffer.to(device)
    deviation = getattr(model.config, "initializer_range", 0.02)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, deviation)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.fill_(1)


def network():
    config = transformers.AutoConfig.for_model(plan.MODEL_TYPE, **plan.CONFIG)
    kind = transformers.AutoModelForMaskedLM if plan.MASKED else transformers.AutoModelForCausalLM
    model = kind.from_config(config, attn_implementation=plan.ATTENTION, dtype=torch.float32)
    model.config.use_cache = False
    return model


def blocks_of(model):
    """Returns the transformer layers. Each layer is sharded, compiled and recomputed as a unit."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return list(max(lists, key=lambda module: sum(p.numel() for p in module.parameters())))


def synthetic_batch(samples, device):
    """Returns random tokens, which are also the targets. For a causal model, the library shifts the targets."""
    tokens = torch.randint(plan.CONFIG["vocab_size"], (samples, plan.TOKENS), device=device)
    return tokens, tokens


def loss_of(model, tokens, targets):
    return model(input_ids=tokens, labels=targets).loss
