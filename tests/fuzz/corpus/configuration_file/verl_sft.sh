torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.max_length=2048 model.partial_pretrain=Qwen/Qwen2.5-0.5B model.lora_rank=0
