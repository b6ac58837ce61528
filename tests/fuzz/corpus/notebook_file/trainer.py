import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
%pip install transformers

# %%
name = 'gpt2'
steps, batch = 4, 2 ** 3
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, attn_implementation="sdpa")
options = dict(bf16=True, gradient_checkpointing=True)

# %%
args = TrainingArguments("out", per_device_train_batch_size=batch,
                         gradient_accumulation_steps=steps if torch.cuda.is_available() else 1, **options)
args.max_length = 512
trainer = Trainer(model=model, args=args, train_dataset=data)
trainer.train()
