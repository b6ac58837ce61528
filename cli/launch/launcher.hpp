#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "core/write_folder.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A plan that is to be run, and what it was made for.
struct LaunchRequest {
  const Study& study;
  const Estimate& estimate;

  [[nodiscard]] const Plan& plan() const { return estimate.plan; }
};

/// What runs a plan: files of the folder `launch`, and the command that starts them there.
struct Launch {
  std::vector<FolderFile> files{};   ///< named from the folder of the plan: `launch/train.py`
  std::string start{};               ///< a line for a shell in the folder of the plan
  std::vector<std::string> notes{};  ///< where the runtime does something else than the plan was priced with
};

/// Why a runtime cannot run a plan, in words.
struct CannotLaunch {
  std::string reason;
};

using LaunchOutcome = std::variant<Launch, CannotLaunch>;

/// A runtime, and what makes its files. Each has a file of its own in this folder.
struct Launcher {
  std::string_view name;
  LaunchOutcome (*launch)(const LaunchRequest& request);
};

/// All of them, in the order in which reports list them.
[[nodiscard]] std::span<const Launcher> launchers();

LaunchOutcome launch_torchrun(const LaunchRequest& request);
LaunchOutcome launch_slurm(const LaunchRequest& request);
LaunchOutcome launch_megatron(const LaunchRequest& request);
LaunchOutcome launch_deepspeed(const LaunchRequest& request);
LaunchOutcome launch_torchtitan(const LaunchRequest& request);
LaunchOutcome launch_nemo(const LaunchRequest& request);

/// How the devices of a plan lie on nodes of its machine: as many on each.
struct LaunchNodes {
  std::int64_t nodes = 1, devices_per_node = 1;
};
[[nodiscard]] LaunchNodes launch_nodes(const LaunchRequest& request);

/// What starts a script on every device: `torchrun --standalone --nproc-per-node=8`. On several nodes each of them runs it.
[[nodiscard]] std::string torchrun_command(const LaunchNodes& nodes);
/// What is typed to run a script that holds such a command: on several nodes it is told the first one.
[[nodiscard]] std::string told_first_node(const LaunchNodes& nodes, std::string_view command);

/// The axes of a plan that are not among `axes`: `filter and spatial`; empty where there are none.
[[nodiscard]] std::string axes_besides(const Plan& plan, Family axes);
/// Why a runtime that divides along `axes` alone cannot run the plan; nothing where it can.
[[nodiscard]] std::optional<CannotLaunch> lacks_axes(const Plan& plan, Family axes);

/// Why a runtime whose files train all of a model cannot run the plan; nothing where it can.
[[nodiscard]] std::optional<CannotLaunch> lacks_frozen_parts(const LaunchRequest& request);
/// Why a runtime whose files keep everything on the device, and gather weights again, cannot run the plan; nothing where it
/// can. `offloads`: what it can offload.
[[nodiscard]] std::optional<CannotLaunch> lacks_offload(const Plan& plan, std::initializer_list<Offload> offloads);

/// The samples that one rank computes at once, the largest share where they differ.
[[nodiscard]] std::int64_t micro_batch_size(const Plan& plan);

}  // namespace ddl
