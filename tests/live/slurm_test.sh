#!/bin/sh
# A sweep under Slurm, with a temporary cluster: two nodes that are both this machine. Needs root, slurm-wlm, munge and Open
# MPI. `slurm_test.sh PROGRAM SCRATCH`; 77 if one of them is missing.
set -u
program=$1
scratch=$2

for tool in slurmctld slurmd salloc munged mpirun; do
  command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "no $tool here"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "slurmd runs as root only"; exit 77; }
PATH=$PATH:/usr/sbin

rm -rf "$scratch"
mkdir -p "$scratch/state" "$scratch/nodeA" "$scratch/nodeB"
cd "$scratch" || exit 2
# Daemons refuse folders that others can write to.
chmod 755 "$scratch" "$scratch"/*
started=
cleanup() {
  wait_for 20 both_idle # a step that is not done outlives its daemon
  # The last to start is the first to end: daemons notify others when they end.
  for daemon in $started; do
    kill "$daemon" 2>/dev/null
    wait "$daemon"
  done
}
trap cleanup EXIT
trap 'exit 2' INT TERM

fail() {
  echo "failed: $*"
  for log in *.log; do
    echo "--- $log"
    tail -n 20 "$log"
  done
  exit 1
}

both_idle() { [ "$(sinfo -h -N -o %t | grep -c idle)" = 2 ]; }

# wait_for SECONDS COMMAND...
wait_for() {
  left=$(($1 * 10))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 0.1
  done
}

# Unused ports, from one that differs from run to run.
port=$((20000 + $$ % 20000))
key=munge.key
head -c 128 /dev/urandom >$key
chmod 600 $key
chmod 711 . # munge's socket is for everybody
munged --force --foreground --key-file="$scratch/$key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
  --log-file="$scratch/munged.log" --seed-file="$scratch/munge.seed" >munged.out 2>&1 &
started="$! $started"
wait_for 10 test -S munge.socket || fail "munged does not start"

cat >slurm.conf <<END
ClusterName=sweep
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$scratch/munge.socket
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
KillWait=2
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/%n.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/%n.log
NodeName=nodeA NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2 State=UNKNOWN
NodeName=nodeB NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$scratch/slurm.conf"
slurmctld -D >slurmctld.out 2>&1 &
started="$! $started"
for node in nodeA nodeB; do
  slurmd -D -N $node >$node.out 2>&1 &
  started="$! $started"
done
wait_for 30 both_idle || { sinfo; fail "the nodes do not come up"; }

# Open MPI's daemon on each node is started by srun; both nodes are reached by loopback.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_pml=ob1
export OMPI_MCA_mpi_yield_when_idle=1
salloc -N 2 --ntasks-per-node=2 timeout 120 mpirun -n 4 "$program" calibrate live --mpi --measure latency,allreduce,contention \
  --smallest '1 KiB' --largest '64 KiB' --limit 0.001 --osu sweep.txt >sweep.out 2>sweep.err || { cat sweep.err; fail "the sweep"; }
cat sweep.out
grep -q '4 ranks on 2 nodes' sweep.out || fail "the ranks are not on two nodes"
grep -q 'point-to-point  between-nodes' sweep.out || fail "nothing was timed between the nodes"
cat sweep.out sweep.err | grep -q 'concurrent groups' || fail "no groups were timed at once"
grep -q '^# ddl-oracle: ranks=4 nodes=2' sweep.txt || fail "no table of all ranks"
"$program" calibrate sweep.txt >read.out 2>read.err || { cat read.err; fail "reading it back"; }

# A rank that cannot continue ends the others, with its reason.
salloc -N 2 --ntasks-per-node=1 timeout 120 mpirun -n 1 "$program" calibrate live --mpi --measure latency : \
  -n 1 "$program" calibrate live --mpi --measure bw >abort.out 2>abort.err
[ $? -ne 0 ] || fail "a rank that fails does not fail the whole"
grep -q 'error: rank 1 of 2 on .*: rank 1 has other options than rank 0' abort.err || { cat abort.err; fail "no reason"; }
echo "both as expected"
