for ((i=0; i<2; i++)); do
  f() { B=$UNSET; }
  cat > hosts <<END
node$i
END
done
f
for ((n=0; n<4; n++)); do HOSTS[$n]=node$n; LIST="$LIST,node$n"; n=$((n)); done
for ((n=999999999999999999*9; 1; n++)); do A="$n
END"; done
printf -v SIZE '%04d' 24
printf -v NAMES '%s-%5.2f' a 2
L=(--micro-batch-size 1); X="$(IFS=$'\n'; echo "${L[*]}")"
gantry run --replicas 2 --gpus H100:8 -- torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $((SIZE)) --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 $X --global-batch-size 64
