"""The network of plan.py, built by torchvision; synthetic samples, and the loss."""

import plan
import torch
import torch.nn.functional as F
import torchvision
from torch import nn


def build_model(device):
    with_auxiliary = plan.MODEL in ("googlenet", "inception_v3")
    options = {"aux_logits": True, "init_weights": True} if with_auxiliary else {}
    return torchvision.models.get_model(plan.MODEL, weights=None, **options).to(device)


def fill_model(model, device):
    """build_model has filled the model already: each rank has room for its weights."""


def blocks_of(model):
    """Returns modules such as residual blocks and transformer layers. Each module is sharded, compiled and recomputed as a unit."""
    blocks = []
    for child in model.children():
        if isinstance(child, nn.Sequential) or type(child).__name__ == "Encoder":
            blocks += blocks_of(child)
        elif list(child.children()) and list(child.parameters()):
            blocks.append(child)
    return blocks


def synthetic_batch(samples, device):
    """Returns random images and random classes."""
    images = torch.randn(samples, *plan.SAMPLE_SHAPE, device=device)
    if plan.CHANNELS_LAST:
        images = images.to(memory_format=torch.channels_last)
    return images, torch.randint(plan.CLASSES, (samples,), device=device)


def loss_of(model, images, classes):
    outputs = model(images)
    if isinstance(outputs, torch.Tensor):
        return F.cross_entropy(outputs.float(), classes)
    # GoogLeNet and Inception have auxiliary classifiers. Their losses have the weights of the
    # publications.
    weight = 0.3 if plan.MODEL == "googlenet" else 0.4
    loss = F.cross_entropy(outputs.logits.float(), classes)
    for name in outputs._fields:
        if name != "logits":
            loss = loss + weight * F.cross_entropy(getattr(outputs, name).float(), classes)
    return loss
