#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/manual/manual.hpp"
#include "tests/catch.hpp"
#include "tests/cli/sandbox.hpp"

using namespace ddl;
namespace fs = std::filesystem;

namespace {

CommandDescription described_program() {
  CommandLine command_line("", "ddl-oracle");
  Request request;
  add_commands(command_line, request);
  return command_line.describe();
}

std::string content(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Writes the files that an example names.
class Files {
 public:
  Files(const Sandbox& sandbox, std::string command) : sandbox_(sandbox), command_(std::move(command)) {}

  /// Creates a file, unless the example itself writes the file.
  void add(const std::string& name, const std::string& text) const {
    if (command_.find(name) != std::string::npos && command_.find("-o " + name) == std::string::npos)
      sandbox_.write({name, text});
  }

 private:
  const Sandbox& sandbox_;
  std::string command_;
};

void write_files(const Sandbox& sandbox, const std::string& command) {
  const Files files(sandbox, command);
  const fs::path data = fs::path(TEST_DATA);
  const std::string job =
      "format: 1\nmodel: resnet50\nmachine: dgx-a100\nbatch_per_gpu: 64\nplan: {strategy: data, gpus: 8}\n";
  for (const char* const name : {"llama.job.yaml", "new.job.yaml", "old.job.yaml"}) files.add(name, job);
  files.add("net.onnx", content(data / "onnx/vit_op17.onnx"));
  files.add("config.json", content(data / "hugging_face/gpt2.json"));
  files.add("nccl.txt", content(data / "comm/nccl-2.18-all_reduce-2n2g.txt"));
  files.add("osu.txt", content(data / "comm/osu-7.4-latency-slow-link.txt"));
  files.add("nvidia-smi.txt", "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n");
  files.add("net.yaml", content(data / "pytorch/tiny-cnn.yaml"));
  files.add("trace.json", content(data / "pytorch/tiny-cnn.json"));
  files.add("layers.csv", "layer,forward ms,backward ms\nconv1,0.5,1.0\nfc1,0.1,0.2\n");
  files.add("kernels.csv",
            "problem,time_s\n"
            "fully_connected features=4096 bias=no in=1024 samples=4096 precision=bf16 pass=forward,162e-6\n"
            "fully_connected features=1024 bias=no in=4096 samples=4096 precision=bf16 pass=forward,158e-6\n"
            "fully_connected features=4096 bias=no in=4096 samples=4096 precision=bf16 pass=forward,573e-6\n"
            "fully_connected features=4096 bias=no in=4096 samples=512 precision=bf16 pass=forward,84.2e-6\n"
            "fully_connected features=1024 bias=no in=1024 samples=512 precision=bf16 pass=forward,14.7e-6\n"
            "fully_connected features=1024 bias=no in=1024 samples=4096 precision=bf16 pass=forward,40e-6\n");
  files.add("problems.txt",
            "convolution filters=64 kernel=3x3 padding=1 bias=no in=64x56x56 samples=32 precision=fp32 pass=forward\n");
  files.add("runs.csv",
            "model,strategy,gpus,global_batch,quantity,value\n"
            "resnet50,data,8,256,iter_total_s,0.1\n"
            "resnet50,data,16,512,iter_total_s,0.11\n"
            "resnet50,data,32,1024,iter_total_s,0.12\n"
            "vgg16,data,8,256,iter_total_s,0.3\n"
            "vgg16,data,16,512,iter_total_s,0.31\n");
  for (const std::string part : {"0", "1"}) {
    if (command.find("part-" + part) == std::string::npos) continue;
    const CommandOutcome made =
        sandbox.run("ddl-oracle profile alexnet --backend simulated --batch 1 --splits none --shard " + part +
                        "/2 -o part-" + part + ".profile > report.txt",
                    true);
    REQUIRE(made.exit_code == 0);
  }
  for (const std::string compared : {"net", "traced"}) {
    if (!command.starts_with("ddl-oracle profile compare ")) break;
    const CommandOutcome made = sandbox.run(
        "ddl-oracle profile alexnet --backend simulated --batch 1 --splits none -o " + compared + ".profile > report.txt",
        true);
    REQUIRE(made.exit_code == 0);
  }
  // The example overwrites these files.
  for (const auto& [option, name] : {std::pair("--force", "ours.yaml"), std::pair("--overwrite", "net.profile")}) {
    if (command.find(option) != std::string::npos) sandbox.write({name, ""});
  }
}

/// Returns whether an example runs here. Examples that need a GPU, a launcher of ranks or a
/// terminal, or that serve until they are stopped, are only parsed.
bool runs_here(const std::string& command) {
  for (const char* const other :
       {"ddl-oracle profile resnet50", "ddl-oracle serve", "mpirun ", "srun ", "ddl-oracle man | man"}) {
    if (command.starts_with(other)) return false;
  }
  return !(command.find("| source") != std::string::npos || (command.find("net.onnx") != std::string::npos && !HAS_ONNX));
}

}  // namespace

TEST_CASE("every help shows three examples of its own command") {
  for_each_command(described_program(), [](const CommandDescription& command) {
    INFO(command.path);
    CHECK(command.examples.size() == 3);
    for (const Example& each : command.examples) {
      INFO(each.command);
      CHECK(each.command.find(command.path) != std::string::npos);
      CHECK_FALSE(each.purpose.empty());
    }
  });
}

TEST_CASE("the examples of every help run") {
  for_each_command(described_program(), [](const CommandDescription& command) {
    for (const Example& each : command.examples) {
      if (!runs_here(each.command)) continue;
      const Sandbox sandbox(TESTED_PROGRAM);
      write_files(sandbox, each.command);
      const CommandOutcome outcome = sandbox.run(each.command, true);
      INFO(each.command << "\n" << outcome.output);
      // A report may state that nothing fits, or that a training run may not fit.
      CHECK((outcome.exit_code == 0 || outcome.exit_code == 1 || outcome.exit_code == 3));
    }
  });
}
