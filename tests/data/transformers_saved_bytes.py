"""Measures the bytes of the distinct tensors that autograd saves in a forward of small models of Hugging Face's transformers.

python3 transformers_saved_bytes.py > transformers_saved_bytes.csv, with torch, transformers and peft on a CPU. Parameters are left
out. Dropout and the cache of keys and values are off. Attention is scaled_dot_product_attention. A base of 4 bits is emulated:
frozen weights are integers with a scale for each row, and products keep these for backward in place of converted weights, as
MatMul4Bit of bitsandbytes does.
"""

import sys
import weakref

import torch
from peft import LoHaConfig, LoKrConfig, LoraConfig, get_peft_model
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

BATCH, TOKENS, VOCABULARY = 3, 96, 640
SIZES = "@layers=2@hidden=128@heads=8@vocabulary=640@tokens=96"
GROUPED = "@kv_heads=2@feed_forward=352"
SAME = {"hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2}


def llama():
    return LlamaForCausalLM(LlamaConfig(**SAME, vocab_size=VOCABULARY))


def qwen():
    return Qwen3ForCausalLM(Qwen3Config(**SAME, head_dim=16, vocab_size=VOCABULARY, tie_word_embeddings=False))


def gpt():
    return GPT2LMHeadModel(GPT2Config(n_embd=128, n_layer=2, n_head=8, vocab_size=VOCABULARY, n_positions=96, bos_token_id=0, eos_token_id=0,
                                      attn_pdrop=0, resid_pdrop=0, embd_pdrop=0))


def qwen2():
    return Qwen2ForCausalLM(Qwen2Config(**SAME, vocab_size=VOCABULARY, tie_word_embeddings=False))


class Product(torch.autograd.Function):
    """A product with a weight of integers, which backward converts again."""

    @staticmethod
    def forward(ctx, inputs, integers, scales):
        ctx.save_for_backward(integers, scales)
        return inputs @ (integers.to(inputs.dtype) * scales.to(inputs.dtype)).T

    @staticmethod
    def backward(ctx, gradient):
        integers, scales = ctx.saved_tensors
        return gradient @ (integers.to(gradient.dtype) * scales.to(gradient.dtype)), None, None


def quantized(model):
    """Converts the frozen weights that have adapters."""
    for module in model.modules():
        base = getattr(module, "base_layer", None)
        if base is None:
            continue
        scales = base.weight.detach().abs().amax(1, keepdim=True) / 7
        integers = torch.nn.Parameter((base.weight.detach() / scales).round().to(torch.int8), requires_grad=False)
        base.weight, base.scales = integers, torch.nn.Parameter(scales, requires_grad=False)

        def forward(inputs, base=base):
            result = Product.apply(inputs, base.weight, base.scales)
            return result if base.bias is None else result + base.bias

        base.forward = forward
    return model


def lora(model, **more):
    return get_peft_model(model, LoraConfig(r=16, lora_alpha=16, lora_dropout=0.0, target_modules="all-linear", **more))


def whole(model, kind):
    return get_peft_model(model, kind(r=16, target_modules="all-linear"))


MODELS = {
    "llama3-8b" + SIZES + GROUPED: llama,
    "qwen3-8b" + SIZES + GROUPED + "@head_size=16": qwen,
    "gpt2" + SIZES + "@dropout=0@attention_dropout=0@embedding_dropout=0": gpt,
    "llama3-8b" + SIZES + GROUPED + "@lora=16": lambda: lora(llama()),
    "qwen3-8b" + SIZES + GROUPED + "@head_size=16@lora=16": lambda: lora(qwen()),
    "qwen2.5-7b" + SIZES + GROUPED + "@lora=16": lambda: lora(qwen2()),
    "llama3-8b" + SIZES + GROUPED + "@lora=16@adapter=dora": lambda: lora(llama(), use_dora=True),
    "llama3-8b" + SIZES + GROUPED + "@lora=16@adapter=loha": lambda: whole(llama(), LoHaConfig),
    "llama3-8b" + SIZES + GROUPED + "@lora=16@adapter=lokr": lambda: whole(llama(), LoKrConfig),
}


class Saved:
    """A tensor that a node of the graph saves."""

    def __init__(self, tensor):
        self.tensor = tensor


def saved_bytes(model):
    parameters = {each.untyped_storage().data_ptr() for each in model.parameters()}
    # Nodes of parts of the graph that the loss does not need, such as those of DoRA's norm, are gone after forward.
    alive = weakref.WeakSet()

    def pack(tensor):
        saved = Saved(tensor)
        alive.add(saved)
        return saved

    words = torch.randint(0, VOCABULARY, (BATCH, TOKENS))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        loss = model(input_ids=words, labels=words, use_cache=False).loss
    storages = {each.data_ptr(): each for each in (saved.tensor.untyped_storage() for saved in alive)}
    total = sum(each.nbytes() for pointer, each in storages.items() if pointer not in parameters)
    del loss
    return total


def main():
    print("model,batch,precision,saved_bytes,base")
    for name, make in MODELS.items():
        for precision, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            torch.manual_seed(0)
            model = make().to(kind).train()
            print(f"{name},{BATCH},{precision},{saved_bytes(model)},")
            if name.endswith("@lora=16"):
                print(f"{name},{BATCH},{precision},{saved_bytes(quantized(model))},nf4")


sys.exit(main())
