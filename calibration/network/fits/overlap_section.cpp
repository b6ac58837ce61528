#include "calibration/network/fits/overlap_section.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "core/yaml_section.hpp"

namespace ddl {

std::optional<OverlapSlowdown> measured_overlap(const Overlap& overlap, const std::string& source) {
  if (overlap.ranks < 2 || !(overlap.kernel_alone > Seconds(0) && overlap.exchange_alone > Seconds(0))) return std::nullopt;
  return OverlapSlowdown{.kernels = std::max(1.0, overlap.kernel_overlapped / overlap.kernel_alone),
                         .exchange = std::max(1.0, overlap.exchange_overlapped / overlap.exchange_alone),
                         .source = source};
}

std::string with_overlap_section(const std::string& file, const OverlapSlowdown& measured) {
  YAML::Emitter out;
  out << YAML::BeginMap << "overlap" << YAML::Flow << YAML::BeginMap << "kernels" << fmt::format("{:.4g}", measured.kernels)
      << "exchange" << fmt::format("{:.4g}", measured.exchange) << "source" << YAML::BeginMap << "citation"
      << YAML::DoubleQuoted << measured.source << YAML::EndMap << YAML::EndMap << YAML::EndMap;
  return replace_section(file, {"overlap"}, out.c_str());
}

}  // namespace ddl
