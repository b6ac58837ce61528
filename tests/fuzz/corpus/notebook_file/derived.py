class OwnTrainer(Trainer):
    """A trainer with its own loss."""
    def compute_loss(self, model, inputs): return model(**inputs).loss
for p in model.base.parameters(): p.requires_grad = False
trainer = OwnTrainer(model, TrainingArguments(output_dir=f"{name}-{'x' * 3}", bf16=(True), optim='adamw_torch' r'x' """y"""))
