#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/tools/config_text.hpp"
#include "cli/tools/run_values.hpp"

namespace ddl {

/// A training run on Megatron Core, which Megatron-LM and NeMo use, or the reason why this run is not possible.
struct MegatronRun {
  Transformer model{};
  RunValues values{};
  std::vector<std::string> notes{};  ///< notes for Launch::notes
  std::optional<CannotLaunch> refused{};
};
[[nodiscard]] MegatronRun megatron_run(const LaunchRequest& request, const ConfigurationFormat& format);

}  // namespace ddl
