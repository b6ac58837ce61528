#include <nlohmann/json.hpp>

#include "cli/documents/check.hpp"
#include "cli/documents/estimate.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

Json fitting_to_json(const Fitting& fitting, const Study& study) {
  Json json;
  json["verdict"] = to_string(fitting.verdict);
  json["gpus"] = fitting.estimate.plan.mesh.devices();
  json["plan"] = estimate_to_json(fitting.estimate, 0, study);
  return json;
}

std::string_view name_of(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::Kind::micro_batches:
      return "micro_batches";
    case Remedy::Kind::recompute:
      return "recompute";
    case Remedy::Kind::zero:
      return "zero";
    case Remedy::Kind::together:
      return "together";
    case Remedy::Kind::strategy:
      return "strategy";
  }
  return "";
}

Json items_to_json(const MemoryBreakdown& memory) {
  Json items = Json::array();
  for (const MemoryItem item : all_memory_items) {
    items.push_back(
        {{"item", to_string(item)}, {"bytes", memory.of(item).value()}, {"is", to_string(origin_of(memory, item))}});
  }
  return items;
}

Json check_to_json(const JobCheck& check) {
  Json json;
  json["file"] = check.file;
  json["verdict"] = nullptr;
  json["exit"] = static_cast<int>(check.status());
  if (check.problem) {
    json["problem"] = {{"message", check.problem->message},
                       {"hint", check.problem->hint},
                       {"line", check.problem->line},
                       {"column", check.problem->column}};
    return json;
  }
  const Study& study = *check.study;
  json["problem"] = nullptr;
  json.update(fitting_to_json(check.fitting, study));
  json["stage"] = check.fitting.estimate.deciding.memory + 1;
  json["items"] = items_to_json(check.fitting.estimate.memory);
  json["device_memory_bytes"] = check.device_memory.value();
  json["margin_bytes"] = check.margin.value();
  json["available_bytes"] = check.available().value();
  const auto batch = [](const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(nullptr); };
  json["largest_batch"] = {{"fits", batch(check.largest.fits)}, {"at_risk", batch(check.largest.at_risk)}};
  json["batch_kept"] = check.batch_per_gpu ? "per_gpu" : "global";
  json["fewest_gpus"] = check.fewest ? fitting_to_json(*check.fewest, study) : Json(nullptr);
  json["changes"] = Json::array();
  for (const Remedy& remedy : check.remedies) {
    Json change;
    change["kind"] = name_of(remedy.kind);
    change["change"] = remedy_text(check, remedy);
    change.update(fitting_to_json(remedy.fitting, study));
    json["changes"].push_back(std::move(change));
  }
  json["inputs"] = inputs_to_json(study);
  return json;
}

}  // namespace

Json checks_to_json(const std::vector<JobCheck>& checks) {
  Json json;
  json["schema"] = 1;
  json["version"] = version();
  json["commit"] = commit();
  json["exit"] = static_cast<int>(worst_status(checks));
  json["jobs"] = Json::array();
  for (const JobCheck& check : checks) json["jobs"].push_back(check_to_json(check));
  return json;
}

}  // namespace ddl
