#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gres=gpu:4
NNODES=8
DS=./ds_$SLURM_JOBID.json
MB=2
cat <<EOT > $DS
{"train_micro_batch_size_per_gpu": $MB, "train_batch_size": 64, "zero_optimization": {"stage": 1}, "fp16": {"enabled": true}}
EOT
GPT=" --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size $MB --global-batch-size 64 --fp16 --data-path $DATA"
DSA=" --deepspeed --deepspeed_config ${DS} --zero-stage 1 "
export LAUNCHER="python -u -m torch.distributed.launch --nproc_per_node 4 --nnodes $NNODES --master_addr $MASTER_ADDR"
export CMD=" `pwd`/pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 $GPT $DSA --distributed-backend nccl"
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee -a log.txt
