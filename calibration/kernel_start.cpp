#include "calibration/kernel_start.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace ddl {

Seconds read_kernel_start(const YamlNode& node) {
  const Seconds start = node.seconds(true);
  if (start > longest_kernel_start) {
    node.fail(fmt::format("more than {}", humanize(longest_kernel_start)), "hosts take microseconds to start a kernel");
  }
  return start;
}

}  // namespace ddl
