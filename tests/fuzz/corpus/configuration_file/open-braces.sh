python train.py --num-layers ${A:-${B:-${C:-$((1+(2
