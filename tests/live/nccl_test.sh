#!/bin/sh
# A sweep with an emulated NCCL, in several processes that join by TCP: by hand, by torchrun and by mpirun. A rank that does
# not match, fails or dies ends the others with a message. `nccl_test.sh PROGRAM SCRATCH MODULES_FROM_PROGRAM`; 77 if the
# module is missing.
set -u
program=$1
scratch=$2
folder=$3

built="$(dirname "$program")/modules"
[ -e "$built/transport-nccl-emulated.so" ] || { echo "built without NCCL"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch/bin" "$scratch/bin/$folder"
cd "$scratch" || exit 2
cp "$program" bin/ddl-oracle
program=$scratch/bin/ddl-oracle
cp "$built/transport-nccl-emulated.so" "bin/$folder/transport-nccl.so"
for module in "$built"/backend-*.so "$built"/transport-mpi.so; do
  [ ! -e "$module" ] || ln -s "$module" "bin/$folder/"
done

# Ranks must not see the variables of the launcher of this test.
for name in $(env | sed -n 's/^\(\(OMPI\|PMI\|PMIX\|SLURM\|TORCHELASTIC\|MASTER\|NCCL\)_[A-Za-z_]*\)=.*/\1/p') RANK WORLD_SIZE LOCAL_RANK; do
  unset "$name"
done
fail() {
  echo "failed: $*"
  exit 1
}
port=$((21000 + $$ % 10000))
next_port() { port=$((port + 1)); }
quick="--smallest 1KiB --largest 16KiB --limit 0.001"

# rank R OF ARGUMENTS...: in the background, with output in R.out and R.err, and the exit status in R.status.
rank() {
  r=$1
  of=$2
  shift 2
  rm -f "$r.out" "$r.err" "$r.status"
  ( RANK=$r WORLD_SIZE=$of LOCAL_RANK=$r MASTER_ADDR=localhost MASTER_PORT=$port "$program" calibrate live --nccl "$@" \
      >"$r.out" 2>"$r.err"; echo $? >"$r.status" ) &
}
all_say() { # TEXT RANKS...: exit 2, by these words
  text=$1
  shift
  for r in "$@"; do
    [ "$(cat "$r.status")" = 2 ] || fail "rank $r ended with $(cat "$r.status"): $(cat "$r.err")"
    grep -q "$text" "$r.err" || fail "rank $r does not say '$text' but: $(cat "$r.err")"
  done
}

# One process, without a network.
"$program" calibrate live --nccl --measure allreduce $quick >one.out 2>one.err || fail "one rank: $(cat one.err)"
grep -q 'NCCL .*emulated GPU, buffers in place), 1 rank on 1 node' one.out || fail "$(cat one.out)"
grep -q 'warning: a single rank copies within its GPU' one.err || fail "$(cat one.err)"
"$program" calibrate live --nccl --measure allreduce $quick --machine abci -o one.yaml >one.out 2>one.err
[ $? -eq 2 ] && grep -q "which does not measure α and β of a network: cannot write into 'one.yaml'" one.err || fail "$(cat one.err)"
MV2_COMM_WORLD_SIZE=4 "$program" calibrate live --nccl >one.out 2>one.err
[ $? -eq 2 ] && grep -q 'would measure the same GPU alone' one.err || fail "$(cat one.err)"
RANK=0 "$program" calibrate live --nccl >one.out 2>one.err
[ $? -eq 2 ] && grep -q 'the environment variable RANK is set, but WORLD_SIZE is not' one.err || fail "$(cat one.err)"

# Three by hand; the first one reports.
for r in 2 1 0; do rank $r 3 $quick --measure latency,allreduce --buffers separate --osu sweep.txt; done
wait
for r in 0 1 2; do [ "$(cat $r.status)" = 0 ] || fail "rank $r: $(cat $r.err)"; done
grep -q 'buffers separate), 3 ranks on 1 node' 0.out || fail "$(cat 0.out)"
[ ! -s 1.out ] && [ ! -s 2.out ] || fail "another rank reports, too"
grep -q '# ddl-oracle: ranks=3 nodes=1' sweep.txt || fail "no table of all ranks"

# Two with different sweeps, two with different world sizes, and one that no other joins.
next_port
rank 0 2 $quick --measure allreduce
rank 1 2 $quick --measure bcast
wait
all_say 'rank 1 of 2 on .*: rank 1 has other options than rank 0' 0 1
next_port
rank 0 2 $quick
rank 1 3 $quick
wait
all_say 'rank 1 on .* is one of 3 ranks, but rank 0 on .* is one of 2' 0 1
next_port
rank 0 2 $quick --patience 0.2
wait
all_say "rank 1 of 2 has not connected to localhost:$port within 0.2 s" 0

# An exchange that does not end, and a rank that has no GPU.
next_port
rank 0 2 $quick --measure allreduce --patience 1
DDL_EMULATED_NCCL=stall_at=5 rank 1 2 $quick --measure allreduce --patience 1
wait
all_say 'NCCL: an exchange is not done after 1 s' 1
all_say 'rank 1 of 2 on .*: NCCL: an exchange is not done after 1 s' 0
next_port
rank 0 2 $quick
DDL_EMULATED_NCCL=devices=0 rank 1 2 $quick
wait
all_say 'rank 1: there is no GPU for NCCL here' 0 1

# A rank that is killed or interrupted within an exchange ends the others, which name it. A shell makes background processes
# ignore interrupts.
for signal in KILL INT TERM; do
  next_port
  rank 0 3 --measure allreduce --limit 20
  DDL_EMULATED_NCCL=stall_at=50 rank 2 3 --measure allreduce --limit 20
  RANK=1 WORLD_SIZE=3 LOCAL_RANK=1 MASTER_ADDR=localhost MASTER_PORT=$port DDL_EMULATED_NCCL=stall_at=50 \
    env --default-signal=INT "$program" calibrate live --nccl --measure allreduce --limit 20 >1.out 2>1.err &
  dying=$!
  sleep 2
  kill -$signal $dying
  wait
  all_say 'rank 1 of 3 on .* ended without a message' 0 2
done

# With the variables of torchrun's agent, which itself listens at the port that it names; and with those of srun.
next_port
next_port
for r in 0 1; do
  TORCHELASTIC_RUN_ID=one TORCHELASTIC_USE_AGENT_STORE=True rank $r 2 $quick --measure allreduce --patience 60
done
wait
for r in 0 1; do [ "$(cat $r.status)" = 0 ] || fail "as by torchrun, rank $r: $(cat $r.err)"; done
for r in 0 1; do
  ( SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_LOCALID=$r SLURM_STEP_NODELIST=localhost SLURM_JOB_ID=$$ \
      SLURM_STEP_ID=0 "$program" calibrate live --nccl --measure allreduce $quick >$r.out 2>$r.err; echo $? >$r.status ) &
done
wait
for r in 0 1; do [ "$(cat $r.status)" = 0 ] || fail "as by srun, rank $r: $(cat $r.err)"; done
grep -q '2 ranks on 1 node' 0.out || fail "$(cat 0.out)"

# torchrun itself; and mpirun, by MPI or by TCP.
if torchrun --standalone --nproc_per_node=1 --no_python true >/dev/null 2>&1; then
  torchrun --standalone --nproc_per_node=2 --no_python "$program" calibrate live --nccl --measure allreduce $quick \
    >torchrun.out 2>torchrun.err || fail "torchrun: $(cat torchrun.err)"
  grep -q '2 ranks on 1 node' torchrun.out || fail "$(cat torchrun.out)"
else
  echo "not tested: torchrun, which is not here or does not start anything"
fi
if command -v mpirun >/dev/null && [ -e "bin/$folder/transport-mpi.so" ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export OMPI_MCA_mpi_yield_when_idle=1
  next_port
  for how in mpi localhost:$port; do
    mpirun -n 2 "$program" calibrate live --nccl --measure allreduce $quick --rendezvous $how >mpirun.out 2>mpirun.err ||
      fail "mpirun, --rendezvous $how: $(cat mpirun.err)"
    grep -q '2 ranks on 1 node' mpirun.out || fail "$(cat mpirun.out)"
  done
  rm "bin/$folder/transport-mpi.so"
  mpirun -n 2 "$program" calibrate live --nccl --measure allreduce $quick >mpirun.out 2>mpirun.err && fail "mpirun without a place"
  grep -q 'Open MPI started 2 processes, but there is no rendezvous' mpirun.err || fail "$(cat mpirun.err)"
else
  echo "not tested: mpirun, which is not here"
fi
echo "as expected"
