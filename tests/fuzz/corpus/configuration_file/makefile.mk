GPUS ?= 8
MODEL := meta-llama/Llama-2-7b-hf  # a comment
ARGS = --per_device_train_batch_size 2 \
  --bf16

train:
	@-torchrun --nproc_per_node $(GPUS) train.py --model_name_or_path $(MODEL) $(ARGS)
