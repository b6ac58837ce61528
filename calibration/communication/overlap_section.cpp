#include "calibration/communication/overlap_section.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibration/communication/file_section.hpp"

namespace ddl {

std::optional<OverlapSlowdown> measured_overlap(const Overlap& overlap, const std::string& source) {
  if (overlap.ranks < 2 || !(overlap.kernel_alone > Seconds(0) && overlap.exchange_alone > Seconds(0))) return std::nullopt;
  return OverlapSlowdown{.kernels = std::max(1.0, overlap.kernel_beside / overlap.kernel_alone),
                         .exchange = std::max(1.0, overlap.exchange_beside / overlap.exchange_alone),
                         .source = source};
}

std::string with_overlap_section(std::string_view file, const OverlapSlowdown& measured) {
  return with_section(file, "overlap:",
                      fmt::format("overlap: {{kernels: {:.4g}, exchange: {:.4g}, source: {{citation: {}}}}}\n",
                                  measured.kernels, measured.exchange, yaml_quoted(measured.source)));
}

}  // namespace ddl
