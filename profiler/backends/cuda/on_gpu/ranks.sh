#!/bin/sh
# ranks.sh COUNT COMMAND...: starts the command once for each of COUNT GPUs, with the variables that
# torchrun sets. The exit code is that of the first failure. Only rank 0 prints to the standard output;
# the other ranks' standard output is discarded.
set -u
count=$1
shift
[ "$count" -gt 1 ] || exec "$@"
MASTER_ADDR=127.0.0.1
MASTER_PORT=${MASTER_PORT-29517}
WORLD_SIZE=$count
LOCAL_WORLD_SIZE=$count
export MASTER_ADDR MASTER_PORT WORLD_SIZE LOCAL_WORLD_SIZE
others=
rank=1
while [ "$rank" -lt "$count" ]; do
  RANK=$rank LOCAL_RANK=$rank "$@" >/dev/null &
  others="$others $!"
  rank=$((rank + 1))
done
RANK=0 LOCAL_RANK=0 "$@"
status=$?
for pid in $others; do
  wait "$pid" || { code=$?; [ "$status" -ne 0 ] || status=$code; }
done
exit "$status"
