cat <<EOF > x
--num-layers 3
EOF
python t.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 8 --micro-batch-size 1
