#!/bin/bash
#SBATCH --job-name=gpt3
#SBATCH --nodes=128
#SBATCH --gpus-per-node=8

TP=8
PP=16
MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --transformer-impl local   # as in 2021
)
srun torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} \
    --micro-batch-size 1 --global-batch-size 1536 --fp16 \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --vocab-file "$DATA/gpt2-vocab.json" --lr 6.0e-5 --log-interval 10
