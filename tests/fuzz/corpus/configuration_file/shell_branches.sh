#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=8
set -e
SIZE=${1:-7b}
usage() { echo "use: $0 SIZE"; exit 1; }
while [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift;; *) usage;; esac; shift; done
case $SIZE in
  7b|8b) L=32; H=4096;;
  1?b) L=40; H=5120;;
  *) usage;;
esac
if [[ $H -gt 4096 && -n "$BIG" ]] || (( L > 40 )); then TP=8; elif [ "$WIDE" = 1 ]; then TP=4; else TP=2; fi
A=(--num-layers $L --hidden-size $H)
A+=(--num-attention-heads $((H / 128)))
for x in --bf16; do A+=($x); done
[ -z "$MORE" ] && MORE=""
run() { local n=$1; shift; torchrun --nproc-per-node $n "$@"; }
B="${A[@]} --seq-length 2048 --micro-batch-size 1 --global-batch-size 64"
eval "C='--swiglu'"
run 8 pretrain_gpt.py $B ${C,,} --tensor-model-parallel-size ${TP} ${#A[@]} ${MORE:+--x} 2>&1 | tee log
ssh node "cd x; bash -c 'python -m torch.distributed.run --nnodes 2 train.py'" && false || true
