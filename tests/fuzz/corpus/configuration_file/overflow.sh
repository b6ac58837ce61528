N=$((9223372036854775807 * 2))
python train.py --micro-batch-size 1099511627776 --global-batch-size 1099511627776 --num-layers 1 --hidden-size 8 --num-attention-heads 1 --tensor-model-parallel-size 1048576 --pipeline-model-parallel-size 1048576
