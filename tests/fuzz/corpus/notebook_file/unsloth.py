from unsloth import FastLanguageModel, is_bfloat16_supported
model, tokenizer = FastLanguageModel.from_pretrained(model_name = "unsloth/Llama-3.2-1B", max_seq_length = 2048, dtype = None, load_in_4bit = True,)
model = FastLanguageModel.get_peft_model(model, r = 16, target_modules = ["q_proj", "k_proj",
    "v_proj"], lora_alpha = 16, lora_dropout = 0, bias = "none", use_gradient_checkpointing = "unsloth")

# %%
trainer = SFTTrainer(model = model, tokenizer = tokenizer, max_seq_length = 2048, args = TrainingArguments(
    per_device_train_batch_size = 2, gradient_accumulation_steps = 4, warmup_steps = 5,
    fp16 = not is_bfloat16_supported(), bf16 = is_bfloat16_supported(), optim = "adamw_8bit", output_dir = "outputs"))
