"""The network of plan.py, built by Hugging Face's transformers from a configuration; synthetic samples, and the loss."""

import plan
import torch
import transformers
from torch import nn


def build_model():
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
