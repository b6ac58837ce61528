#!/bin/sh
# A sweep with MPI on this machine: it ends with fits, parses what it wrote, and a rank that fails or dies ends the others.
# `mpi_test.sh PROGRAM SCRATCH`; 77 if MPI is missing.
set -u
program=$1
scratch=$2

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch" || exit 2
fail() {
  echo "failed: $*"
  exit 1
}

# The program works without its modules, and reports the missing one.
cp "$program" alone
for transport in mpi nccl; do
  ./alone calibrate live --$transport >alone.out 2>alone.err
  [ $? -eq 2 ] || fail "--$transport without its module"
  grep -q "error: this ddl-oracle has no module 'transport-$transport'" alone.err || fail "$(cat alone.err)"
done
./alone calibrate live --simulated 'ranks=4' --measure latency >alone.out || fail "the program alone"

command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
[ -e "$(dirname "$program")/modules/transport-mpi.so" ] || { echo "built without MPI"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1

"$program" calibrate live --mpi >one.out 2>one.err
[ $? -eq 2 ] || fail "a rank alone measures"
grep -q 'at least two ranks are needed' one.err || fail "$(cat one.err)"

mpirun -n 3 "$program" calibrate live --mpi --largest '16 KiB' --limit 0.001 --format json --osu sweep.txt >sweep.json 2>sweep.err ||
  fail "$(cat sweep.err)"
[ "$(grep -c '"schema": 1' sweep.json)" = 1 ] || fail "one rank reports, and no other"
for operation in point-to-point allreduce allgather reduce-scatter broadcast all-to-all; do
  grep -q "\"operation\": \"$operation\"" sweep.json || fail "no $operation"
done
grep -q '3 ranks on 1 node"' sweep.json || fail "$(grep sweep sweep.json)"
"$program" calibrate sweep.txt --format json >read.json 2>read.err || fail "$(cat read.err)"
[ "$(grep -c '"rows"' read.json)" = "$(grep -c '"rows"' sweep.json)" ] || fail "not all tables were read back"

# A process with a different plan ends all, with the reason.
mpirun -n 1 "$program" calibrate live --mpi --measure latency : -n 1 "$program" calibrate live --mpi --measure bw >other.out 2>other.err
[ $? -ne 0 ] || fail "ranks that disagree"
grep -q 'rank 1 has other options than rank 0' other.err || fail "$(cat other.err)"

# The first rank cannot write: the others do not wait for it.
mpirun -n 2 "$program" calibrate live --mpi --measure latency --largest '1 KiB' --limit 0.001 --osu no/such/folder >write.out 2>write.err
[ $? -ne 0 ] || fail "a file that cannot be written"
grep -q "error: rank 0 of 2 on .*'no/such/folder" write.err || fail "$(cat write.err)"

# A launcher that MPI does not support starts ranks that each run alone.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$program" calibrate live --mpi >alien.out 2>alien.err
[ $? -eq 2 ] || fail "ranks that did not join"
grep -q 'error: Slurm started 2 processes, but 1 joined by MPI' alien.err || fail "$(cat alien.err)"

# Kernels that one rank cannot run: all continue without, and report it.
mpirun -n 1 "$program" calibrate live --mpi --measure latency,overlap --largest '1 KiB' --limit 0.001 : \
  -n 1 "$program" calibrate live --mpi --measure latency,overlap --largest '1 KiB' --limit 0.001 --backend simulated-nowhere \
  >kernels.out 2>kernels.err && fail "a back end that is none"
grep -q "simulated-nowhere" kernels.err || fail "$(cat kernels.err)"
mpirun -n 1 "$program" calibrate live --mpi --measure latency,overlap --largest '1 KiB' --limit 0.001 : \
  -n 1 env CUDA_VISIBLE_DEVICES= "$program" calibrate live --mpi --measure latency,overlap --largest '1 KiB' --limit 0.001 --backend cuda \
  >kernels.out 2>kernels.err || fail "$(cat kernels.err)"
grep -q 'no kernels were overlapped with a collective: rank 1: ' kernels.err || fail "$(cat kernels.err)"

# A rank that is killed or interrupted in the middle ends all of them, with its number, long before the end of the sweep.
for signal in KILL INT TERM; do
  rm -f pid.*
  timeout 60 mpirun -n 3 --output-filename pids \
    sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" calibrate live --mpi --limit 20' "$program" >killed.out 2>killed.err &
  launcher=$!
  tries=0
  until [ -s pid.1 ] && [ "$(readlink /proc/"$(cat pid.1)"/exe)" = "$(readlink -f "$program")" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "no second rank"
    sleep 0.05
  done
  sleep 1
  kill -$signal "$(cat pid.1)"
  wait $launcher
  status=$?
  [ $status -ne 0 ] || fail "a rank that dies by SIG$signal"
  [ $status -ne 124 ] || fail "ranks that wait for one that died by SIG$signal"
  grep -q 'rank 1 .*exited on signal' killed.err || fail "SIG$signal: $(cat killed.err)"
  for rank in 0 2; do
    [ ! -e "/proc/$(cat pid.$rank)/exe" ] || fail "rank $rank outlives rank 1, which died by SIG$signal"
  done
done

# A rank that is stopped, or that dies while the launcher lets the others continue, is named; all end.
hangs() { # RANK SIGNAL SAYS [OPTION OF THE LAUNCHER]
  rm -f pid.*
  timeout 60 mpirun ${4-} -n 3 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" calibrate live --mpi --limit 20 --patience 3' \
    "$program" >hung.out 2>hung.err &
  launcher=$!
  tries=0
  until [ -s "pid.$1" ] && [ "$(readlink /proc/"$(cat "pid.$1")"/exe)" = "$(readlink -f "$program")" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "no rank $1"
    sleep 0.05
  done
  sleep 2
  kill -"$2" "$(cat "pid.$1")"
  wait $launcher
  status=$?
  # Open MPI itself returns 0 for a launch that may recover.
  [ $status -ne 0 ] || [ -n "${4-}" ] || fail "rank $1 gets SIG$2, and all is well"
  [ $status -ne 124 ] || fail "ranks that wait for rank $1, which got SIG$2: $(cat hung.err)"
  grep -q "error: rank $1 of 3 on .* $3" hung.err || fail "SIG$2: $(cat hung.err)"
  for rank in 0 1 2; do
    [ ! -e "/proc/$(cat pid.$rank)/exe" ] || fail "rank $rank is left after rank $1 got SIG$2"
  done
}
hangs 1 STOP 'has sent no heartbeat for 3 s'
hangs 0 STOP 'has sent no heartbeat for 3 s'
hangs 2 KILL 'ended without a message' --enable-recovery
echo "as expected"
