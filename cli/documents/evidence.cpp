#include "cli/documents/evidence.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/units.hpp"

namespace ddl {
namespace {

std::string class_text(ModelClass model_class) {
  switch (model_class) {
    case ModelClass::convolutional:
      return "networks without attention";
    case ModelClass::transformer:
      return "transformers";
    case ModelClass::mixture_of_experts:
      break;
  }
  return "mixtures of experts";
}

/// Returns the maker of a device, the first word of its name.
std::string_view maker_of(std::string_view device) { return device.substr(0, device.find(' ')); }

/// Returns whether kernel times come from a profile of another device, which no measured run used.
bool has_kernels_of_another(const Study& study) {
  const std::vector<FoundProfile>& profiles = study.profiles().profiles;
  return std::ranges::any_of(
      profiles, [&](const FoundProfile& each) { return !is_device(study.machine().device, each.profile.head.device); });
}

std::string_view precision_text(PrecisionClass precision) {
  switch (precision) {
    case PrecisionClass::full:
      return "fp32 or tf32";
    case PrecisionClass::half:
      return "fp16 or bf16";
    default:
      return precision_class_names[precision];
  }
}

/// Returns the groups of alike_runs() among runs of the plan's class of models and of its device's maker.
std::vector<AlikeRuns> groups_of(const std::vector<Evidence>& evidence, const std::string& what, const std::string& software,
                                 const std::string& device) {
  std::vector<AlikeRuns> alike;
  for (const auto& [same_software, same_device] : {std::pair(true, true), {false, true}, {true, false}, {false, false}}) {
    AlikeRuns group{what};
    if (same_software) group.what += ", " + software;
    if (same_device) group.what += ", " + device;
    for (const Evidence& each : evidence) {
      if ((same_software && each.software != software) || (same_device && each.device != device)) continue;
      group.runs += each.runs;
      group.error += each.runs * each.error;
    }
    // The last group contains all others. Groups of one device and of one software are not parts of each other.
    const bool is_narrower_repeated = !alike.empty() && alike.back().runs == group.runs && !(same_software && !same_device);
    if (group.runs == 0 || is_narrower_repeated) continue;
    group.error /= group.runs;
    alike.push_back(std::move(group));
  }
  return alike;
}

}  // namespace

std::vector<AlikeRuns> alike_runs(const Study& study, const Estimate& estimate, const std::vector<Evidence>& evidence) {
  if (!estimate.sensitivity || has_kernels_of_another(study)) return {};
  const ModelClass model_class = estimate.sensitivity->model_class;
  const std::string& device = study.machine().device.name;
  const PrecisionClass precision = precision_class(estimate.plan.precision);
  std::vector<Evidence> same, others;
  for (const Evidence& each : evidence) {
    if (each.model_class != model_class || maker_of(each.device) != maker_of(device)) continue;
    (each.precision == precision ? same : others).push_back(each);
  }
  const std::string what = class_text(model_class);
  const std::string& software = estimate.sensitivity->software;
  std::vector<AlikeRuns> alike = groups_of(same, fmt::format("{} in {}", what, precision_text(precision)), software, device);
  if (!alike.empty()) return alike;
  alike = groups_of(others, what + " in other precisions", software, device);
  for (AlikeRuns& group : alike) group.other_precision = true;
  return alike;
}

std::string evidence_text(const std::vector<AlikeRuns>& alike, bool is_fitted, Detail detail) {
  if (alike.empty()) return "no measured run is similar";
  const AlikeRuns& nearest = alike.front();
  return fmt::format("{}{} similar {}run{}{} {} {:.0f} % off{}",
                     nearest.other_precision ? "no measured run has this precision; " : "", with_thousands(nearest.runs),
                     nearest.other_precision ? "" : "measured ", nearest.runs == 1 ? "" : "s",
                     detail == Detail::complete ? fmt::format(" ({})", nearest.what) : std::string(),
                     nearest.runs == 1 ? "was" : "were", nearest.error * 100, is_fitted ? " before the fit to runs" : "");
}

void add_evidence(Document& document, const std::vector<AlikeRuns>& alike) {
  if (alike.empty()) return;
  document.section("Similar measured runs", " (ddl-oracle validate lists them)");
  Table table({essential(prose("of")), figures("runs"), figures("mean |error|")});
  for (const AlikeRuns& group : alike)
    table.add({group.what, with_thousands(group.runs), fmt::format("{:.0f} %", group.error * 100)});
  document.add(std::move(table));
}

nlohmann::ordered_json evidence_to_json(const std::vector<AlikeRuns>& alike) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const AlikeRuns& group : alike) json.push_back({{"of", group.what}, {"runs", group.runs}, {"error", group.error}});
  return json;
}

}  // namespace ddl
