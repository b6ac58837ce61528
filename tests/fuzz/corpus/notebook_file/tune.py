!pip install trl (latest
MODEL = "Qwen/Qwen2.5-7B"  # TrainingArguments(
length: int = 2_048
# %%
model = AutoModelForCausalLM.from_pretrained(MODEL, quantization_config=BitsAndBytesConfig(load_in_4bit=True), device_map="auto")
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(r=16, target_modules=["q_proj", 'v_proj']))
# %%
trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, # of 8
    gradient_accumulation_steps=4, max_length=length, fp16=not torch.cuda.is_bf16_supported(),
    bf16=torch.cuda.is_bf16_supported(), output_dir=f"out/{MODEL}", optim="paged_adamw_8bit"))