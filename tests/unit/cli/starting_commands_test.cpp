// Tests of the commands in a script that start no training.

#include "cli/options/configurations/starting_commands.hpp"

#include <string>

#include "cli/options/configurations/script_arguments.hpp"
#include "tests/catch.hpp"

namespace starting_commands_tests {

using namespace ddl;

namespace {

/// Whether the launcher at the beginning of a command starts one that copies or shows something.
bool moves(const std::string& command) { return moves_files(split_words(placed_text(command, 0)), 0); }

/// Returns the value of an argument of a script's training; empty if the script has none.
std::string argument_in(const std::string& script, const std::string& key) {
  for (const ConfigEntry& each : script_arguments(read_shell_script(script, "run.sh", {})).settings) {
    if (each.key == key) return each.value;
  }
  return {};
}

}  // namespace

TEST_CASE("the word behind a launcher's options says whether it copies files") {
  for (const char* command :
       {"srun hostname", "srun -N 2 --ntasks-per-node=1 rsync -a a/ b/", "srun -N2 -l /usr/bin/nvidia-smi",
        "srun --nodes 1 --exclusive rm -rf cache", "srun --overlap --label -w node1 -- ls", "srun timeout 60 nvidia-smi",
        "mpirun -np 8 --allow-run-as-root -mca btl tcp,self hostname", "mpirun -hostfile hosts -tag-output mkdir -p out"}) {
    INFO(command);
    CHECK(moves(command));
  }
  for (const char* command :
       {"srun", "srun -N", "srun -N 2", "srun --", "srun -", "srun -N 2 $CMD --prompt cat", "srun ./launch --dataset ls",
        "srun --exclusive ./launch --dataset ls", "srun --label ./launch ls", "torchrun --standalone $SCRIPT --prompt cat",
        "torchrun --nnodes 2 $SCRIPT --model_name_or_path gpt2 --prompt cat", "deepspeed ${ENTRY} --run_name hostname",
        "mpirun -np 8 ./launch --dataset tar", "mpirun --- hostname -mca", "srun -N 1 command -v rsync"}) {
    INFO(command);
    CHECK_FALSE(moves(command));
  }
}

TEST_CASE("a training of an unknown program keeps its arguments, whatever their values are") {
  const std::string arguments = " --per_device_train_batch_size 2 --model_name_or_path gpt2";
  for (const std::string start : {"torchrun --nnodes 2 --nproc_per_node 8 $SCRIPT", "srun -N 2 --gpus-per-node 8 $CMD",
                                  "srun -N 2 --gpus-per-node 8 ./launch", "deepspeed --num_gpus 8 ${ENTRY}"}) {
    for (const std::string last : {" --prompt cat", " --dataset ls", " --run_name hostname"}) {
      INFO(start << last);
      CHECK(argument_in(start + arguments + last, "--model_name_or_path") == "gpt2");
    }
  }
  CHECK(argument_in("srun -N 2 rsync --model_name_or_path gpt2 a b", "--model_name_or_path").empty());
}

TEST_CASE("the value of an option of srun is not the program that it starts") {
  for (const std::string value : {"nemo", "swift", "accelerate", "python", "train.py"}) {
    for (const std::string option : {"--container-image", "--container-name", "-J"}) {
      const std::string script =
          "srun -N 2 " + option + " " + value + " --container-writable -l python pretrain.py --bf16 yes\n";
      INFO(script);
      const ScriptArguments read = script_arguments(read_shell_script(script, "run.sh", {}));
      REQUIRE(read.programs.size() == 1);
      CHECK(read.programs.front().text == "pretrain.py");
      CHECK(argument_in(script, "srun:" + option) == value);
      CHECK(argument_in(script, "--bf16") == "yes");
    }
  }
  const std::string launched =
      "srun --container-readonly --container-image torchrun torchrun --nnodes 4 train.py --bf16 yes\n";
  CHECK(argument_in(launched, "torchrun:--nnodes") == "4");
  // The value of an unknown option is not a launcher.
  for (const std::string option : {"--stepmgr", "--oom-kill-step", "--spread-segments", "--some-newer-switch"}) {
    INFO(option);
    CHECK(argument_in("srun " + option + " torchrun --nnodes 4 train.py --bf16 yes\n", "torchrun:--nnodes") == "4");
  }
  CHECK(argument_in(launched, "--bf16") == "yes");
}

TEST_CASE("options before -- count for launchers that are known, if they are counts") {
  const std::string training = " -- torchrun --nproc_per_node 2 train.py --bf16";
  const auto devices = [&](const std::string& start) { return argument_in(start + training, "launch:--gpus"); };
  CHECK(devices("sky launch --gpus H100:8") == "H100:8");
  CHECK(devices("python tools/mason.py --gpus 8") == "8");
  CHECK(devices("sky launch --gpus $N") == "$N");
  for (const std::string start :
       {"sky launch --gpus H100", "sky launch --gpus ''", "docker run --gpus '\"device=0,1\"' -- img", "docker run --gpus 4",
        "kubectl exec pod --gpus 3", "sky launch --gpus"}) {
    INFO(start);
    CHECK(devices(start).empty());
  }
  CHECK(argument_in("kubectl exec pod --replicas 3" + training, "launch:--replicas").empty());
  CHECK(argument_in("gantry run --replicas 3" + training, "launch:--replicas") == "3");
}

}  // namespace starting_commands_tests
