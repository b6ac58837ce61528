#include "calibration/files/launch_overhead.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace ddl {

Seconds read_launch_overhead(const YamlNode& node) {
  const Seconds start = node.seconds(true);
  if (start > longest_launch_overhead) {
    node.fail(fmt::format("more than {}", humanize(longest_launch_overhead)), "a kernel launch takes microseconds");
  }
  return start;
}

}  // namespace ddl
