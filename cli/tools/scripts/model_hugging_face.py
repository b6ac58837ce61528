"""The network of plan.py as Hugging Face's transformers builds it from its configuration, its samples and its loss."""

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
    """The transformer layers: what is sharded, compiled and recomputed as a unit."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return list(max(lists, key=lambda module: sum(p.numel() for p in module.parameters())))


def synthetic_batch(samples, device):
    """Tokens, which are their own targets: the library shifts them where the model is causal."""
    tokens = torch.randint(plan.CONFIG["vocab_size"], (samples, plan.TOKENS), device=device)
    return tokens, tokens


def loss_of(model, tokens, targets):
    return model(input_ids=tokens, labels=targets).loss
