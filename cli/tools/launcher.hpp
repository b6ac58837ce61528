#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "core/embedded.hpp"
#include "core/write_folder.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// How a batch job starts a runtime. The command uses MASTER_ADDR, MASTER_PORT and SLURM_SUBMIT_DIR, which is the folder of
/// the plan, and "$@" for the arguments of the job.
struct JobCommand {
  std::string program{};  ///< what the command starts, for messages: `launch/run.sh`
  std::string command{};
  bool on_each_device = false;  ///< whether the command starts once for each device; else once for each node
  std::string variables{};      ///< variables that the user has to set: `NEMO=/path/to/NeMo`
  std::string arguments{};      ///< arguments that the user has to give to the job: `YOUR_SCRIPT.py`
};

/// The files that run a plan, and the command that starts the run.
struct Launch {
  std::vector<FolderFile> files{};  ///< paths are relative to the folder of the plan: `launch/train.py`
  std::string start{};              ///< a shell command, to be run in the folder of the plan
  JobCommand job{};                 ///< the same start from a batch job
  /// The settings of the training that the files carry (lacks_settings), as `compress=fp16 bf16` or `moments`.
  std::vector<std::string_view> carried{};
  std::vector<std::string> notes{};  ///< differences between the runtime and the prediction's assumptions
};

/// A plan that the user wants to run, and the study that contains its model and machine.
struct LaunchRequest {
  const Study& study;
  const Estimate& estimate;
  std::span<const Launch> written{};  ///< the launch files that other launchers wrote; a batch job starts the first of them

  [[nodiscard]] const Plan& plan() const { return estimate.plan; }
};

/// The reason why a runtime cannot run a plan.
struct CannotLaunch {
  std::string reason;
};

using LaunchOutcome = std::variant<Launch, CannotLaunch>;

/// A runtime, and the function that creates the files to launch a plan. The function is defined in the file of its tool.
struct Launcher {
  std::string_view name;
  LaunchOutcome (*launch)(const LaunchRequest& request);
  bool may_have_layouts = false;  ///< whether layers may have several layouts or ZeRO stages
};

/// The scripts that launchers write, from cli/tools/scripts.
[[nodiscard]] std::span<const EmbeddedFile> launch_scripts();

/// All launchers, in the order of reports.
[[nodiscard]] std::span<const Launcher> launchers();

LaunchOutcome launch_torchrun(const LaunchRequest& request);
LaunchOutcome launch_slurm(const LaunchRequest& request);
LaunchOutcome launch_megatron(const LaunchRequest& request);
LaunchOutcome launch_deepspeed(const LaunchRequest& request);
LaunchOutcome launch_torchtitan(const LaunchRequest& request);
LaunchOutcome launch_nemo(const LaunchRequest& request);

/// The number of nodes that a plan uses, and the number of devices on each node. All nodes have the same number of devices.
struct LaunchNodes {
  std::int64_t nodes = 1, devices_per_node = 1;
};
[[nodiscard]] LaunchNodes launch_nodes(const LaunchRequest& request);
/// Returns the reason if equal numbers of devices on each node need more nodes than full nodes do. Empty if they do not.
[[nodiscard]] std::optional<CannotLaunch> lacks_equal_nodes(const LaunchRequest& request);

/// Returns the command that starts a script on every device: `torchrun --standalone
/// --nproc-per-node=8`. With several nodes, the user must run the command on each node.
[[nodiscard]] std::string torchrun_command(const LaunchNodes& nodes);
/// Returns a command line that runs a script with torchrun. `command` begins with torchrun_command(). With several nodes,
/// the command line sets MASTER_ADDR, the address of the first node, before `command`.
[[nodiscard]] std::string told_first_node(const LaunchNodes& nodes, std::string_view command);
/// Returns the start of a script of the plan's folder, such as `launch/run.sh`, from a batch job.
[[nodiscard]] JobCommand job_script(std::string_view script, std::string_view variables = {});

/// Names the plan's axes that are not in `axes`: `filter and spatial`; empty if all axes of the plan are in `axes`.
[[nodiscard]] std::string axes_other_than(const Plan& plan, Family axes);
/// Returns why a runtime that supports only `axes` cannot run the plan; empty if the runtime can.
[[nodiscard]] std::optional<CannotLaunch> lacks_axes(const Plan& plan, Family axes);

/// Returns why a runtime that always trains the whole model cannot run the plan; empty if the runtime can.
[[nodiscard]] std::optional<CannotLaunch> lacks_frozen_parts(const LaunchRequest& request);
/// Returns the largest number of samples that a rank processes at once. Ranks may have different numbers.
[[nodiscard]] std::int64_t micro_batch_size(const Plan& plan);

}  // namespace ddl
