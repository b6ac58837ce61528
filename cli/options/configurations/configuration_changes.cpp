#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace {

/// What a field says of a plan, as a meaning; nothing if the field is of no plan.
std::optional<std::string> meaning_in(ConfigField field, const Plan& plan, const Configuration& configuration,
                                      std::int64_t layers) {
  const Mesh& mesh = plan.mesh;
  const std::int64_t replicas = std::int64_t{mesh[Axis::data]} * mesh[Axis::expert];
  const std::int64_t share = std::max<std::int64_t>(plan.global_batch / replicas, 1);
  const bool has_stages = mesh[Axis::pipeline] > 1;
  const auto text = [](auto value) { return fmt::format("{}", value); };
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  // torchtitan and accelerate count shards and copies.
  const bool is_sharded = plan.zero_stage > 0;
  const int group = plan.shard_group > 0 ? plan.shard_group : mesh[Axis::data];
  switch (field) {
    case ConfigField::tensor:
      return text(mesh[Axis::tensor]);
    case ConfigField::pipeline:
      return text(mesh[Axis::pipeline]);
    case ConfigField::context:
      return text(mesh[Axis::context]);
    case ConfigField::expert:
      return text(mesh[Axis::expert] * (plan.whole_experts ? mesh[Axis::tensor] : 1));
    case ConfigField::expert_tensor:
      return text(plan.whole_experts ? 1 : mesh[Axis::tensor]);
    case ConfigField::offload:
      return std::string(to_string(plan.offload));
    case ConfigField::offload_activations:
      return flag(plan.offload_activations);
    case ConfigField::data_shard:
      return text(is_sharded ? replicas / (mesh[Axis::data] / std::max(group, 1)) : 1);
    case ConfigField::data_replicate:
      return text(is_sharded ? mesh[Axis::data] / std::max(group, 1) : mesh[Axis::data]);
    case ConfigField::global_batch:
      return text(plan.global_batch);
    case ConfigField::micro_batch: {
      const bool cuts_again = configuration.says(ConfigField::pipeline_batch) && has_stages;
      return text(cuts_again ? share : std::max<std::int64_t>(share / plan.micro_batches, 1));
    }
    case ConfigField::pipeline_batch:
      return text(has_stages ? std::max<std::int64_t>(share / plan.micro_batches, 1) : 1);
    case ConfigField::accumulation:
    case ConfigField::micro_batches:
      return text(plan.micro_batches);
    case ConfigField::zero:
    case ConfigField::sharding:
      return text(plan.zero_stage);
    case ConfigField::reshards:
      return plan.zero_stage == 0 ? std::nullopt : std::optional(flag(plan.zero_stage == 3));
    case ConfigField::secondary_shards:
      return text(std::max(plan.secondary_shards, 1));
    case ConfigField::recompute:
      return std::string(to_string(plan.recompute));
    case ConfigField::recompute_method:
      if (plan.recompute != Recompute::full) return "";
      return plan.recompute_blocks > 0 ? "block" : "uniform";
    case ConfigField::recompute_blocks:
      return plan.recompute != Recompute::full ? "" : text(std::max(plan.recompute_blocks, 1));
    case ConfigField::recompute_modules:
      return plan.recompute != Recompute::selective ? "" : to_string(plan.recompute_modules, " ");
    case ConfigField::sequence_parallel:
      return flag(plan.sequence_parallel && mesh[Axis::tensor] > 1);
    case ConfigField::virtual_stages:
      return text(has_stages ? plan.virtual_stages : 1);
    case ConfigField::layers_per_virtual_stage:
      return has_stages && plan.virtual_stages > 1 ? text(layers / mesh[Axis::pipeline] / plan.virtual_stages) : "";
    case ConfigField::schedule:
      return has_stages ? std::string(to_string(plan.schedule)) : "1f1b";
    case ConfigField::context_exchange:
      return mesh[Axis::context] > 1 ? std::string(to_string(plan.context_exchange)) : std::string();
    default:
      return std::nullopt;
  }
}

/// How a row writes a meaning; nothing if it has no word for it.
std::optional<std::string> written(const ArgumentRow& row, const std::string& meaning) {
  if (row.words.empty()) return meaning;
  for (const ArgumentWord& word : row.words) {
    if (word.meaning == meaning) return std::string(word.word);
  }
  return std::nullopt;
}

/// Defaults of most tools if the argument is missing.
bool is_usual(ConfigField field, const std::string& meaning, const Configuration& configuration) {
  const auto& usual = configuration.format->usual;
  const auto own = std::find_if(usual.begin(), usual.end(), [&](const UsualValue& each) { return each.field == field; });
  if (own != usual.end()) return own->value == meaning;
  switch (field) {
    case ConfigField::tensor:
    case ConfigField::pipeline:
    case ConfigField::context:
    case ConfigField::expert:
    case ConfigField::data_replicate:
    case ConfigField::virtual_stages:
    case ConfigField::accumulation:
    case ConfigField::micro_batches:
    case ConfigField::secondary_shards:
      return meaning == "1";
    case ConfigField::zero:
      return meaning == "0";
    case ConfigField::offload:
      return meaning == "none";
    case ConfigField::offload_activations:
      return meaning == "no";
    case ConfigField::recompute:
      return meaning == "none";
    case ConfigField::sequence_parallel:
      return meaning == "no";
    case ConfigField::reshards:
      return meaning == "yes";
    case ConfigField::schedule:
      return meaning == "1f1b";
    case ConfigField::context_exchange:
      return meaning == "ring" || meaning.empty();
    default:
      return meaning.empty();
  }
}

/// A field of a configuration that a plan decides, and what reports call it.
struct PlanField {
  ConfigField field;
  std::string_view name;
};
constexpr std::array compared_fields{
    PlanField{ConfigField::tensor, "tensor"},
    PlanField{ConfigField::pipeline, "pipeline"},
    PlanField{ConfigField::context, "context"},
    PlanField{ConfigField::expert, "expert"},
    PlanField{ConfigField::data_replicate, "replicas of the shards"},
    PlanField{ConfigField::data_shard, "shards"},
    PlanField{ConfigField::micro_batch, "samples per micro-batch"},
    PlanField{ConfigField::pipeline_batch, "samples per micro-batch"},
    PlanField{ConfigField::accumulation, "micro-batches"},
    PlanField{ConfigField::micro_batches, "micro-batches"},
    PlanField{ConfigField::virtual_stages, "virtual stages per pipeline stage"},
    PlanField{ConfigField::layers_per_virtual_stage, "layers per virtual stage"},
    PlanField{ConfigField::schedule, "schedule"},
    PlanField{ConfigField::zero, "ZeRO stage"},
    PlanField{ConfigField::recompute, "recompute"},
    PlanField{ConfigField::sequence_parallel, "sequence parallel"},
    PlanField{ConfigField::context_exchange, "exchange of contexts"},
    PlanField{ConfigField::reshards, "reshard after forward"},
    PlanField{ConfigField::offload, "offload"},
    PlanField{ConfigField::offload_activations, "offload of activations"},
    PlanField{ConfigField::expert_tensor, "expert-tensor-parallel size"},
    PlanField{ConfigField::recompute_method, "method of recomputation"},
    PlanField{ConfigField::recompute_blocks, "recomputed blocks"},
    PlanField{ConfigField::secondary_shards, "secondary shards"},
    PlanField{ConfigField::recompute_modules, "recomputed modules"},
};

bool counts(const Configuration& configuration, const ArgumentRow& row) {
  return row.only_with.empty() || row.only_with == configuration.word(ConfigField::distributed_type);
}

/// The row by which the file says a field, or would say it.
const ArgumentRow* row_for(const Configuration& configuration, ConfigField field, const std::string& meaning) {
  const Fact* fact = configuration.find(field);
  if (fact != nullptr && fact->from) {
    for (const ConfigurationFormat* format : configuration_formats()) {
      for (const ArgumentRow& row : format->rows) {
        if (row.field == field && row.key == fact->from->key && (!row.alone.empty() || written(row, meaning))) return &row;
      }
    }
  }
  const ArgumentRow *flag = nullptr, *elsewhere = nullptr;
  for (const ArgumentRow& row : configuration.format->rows) {
    if (row.field != field || !counts(configuration, row)) continue;
    if (!row.alone.empty() && row.words.empty() && row.alone == meaning) return &row;
    if (row.alone.empty() && written(row, meaning)) {
      // Of several spellings that of the parts which the file has.
      const std::string section(row.key.substr(0, row.key.find('.')));
      if (row.key.find('.') == std::string_view::npos || configuration.sections.contains(section)) return &row;
      if (elsewhere == nullptr) elsewhere = &row;
    }
    if (!row.alone.empty() && (row.alone == meaning || is_usual(field, meaning, configuration)) && flag == nullptr)
      flag = &row;
  }
  return flag != nullptr ? flag : elsewhere;
}

bool is_kept_by(const Configuration& configuration, ConfigField field) {
  const auto& rows = configuration.format->rows;
  return std::any_of(rows.begin(), rows.end(),
                     [&](const ArgumentRow& row) { return row.field == field && counts(configuration, row); });
}

}  // namespace

ConfigurationChanges changes_of(const Configuration& configuration, const Plan& own, const Plan& other,
                                std::int64_t layers) {
  ConfigurationChanges changes;
  for (const auto& [field, name] : compared_fields) {
    const auto before = meaning_in(field, own, configuration, layers),
               after = meaning_in(field, other, configuration, layers);
    if (!before || !after || *before == *after) continue;
    const Fact* fact = configuration.find(field);
    const bool is_written = fact != nullptr && fact->from.has_value();
    const bool is_known_to_format = is_written || is_kept_by(configuration, field);
    // Fields that only other tools have, and those that follow from the rest.
    if (!is_known_to_format) {
      const bool has_batch =
          is_kept_by(configuration, ConfigField::micro_batch) || is_kept_by(configuration, ConfigField::accumulation) ||
          is_kept_by(configuration, ConfigField::micro_batches) || configuration.writes(ConfigField::micro_batch);
      if (field == ConfigField::accumulation && !has_batch) changes.unsaid.push_back(fmt::format("{}={}", name, *after));
      const bool is_own_axis = field == ConfigField::tensor || field == ConfigField::pipeline ||
                               field == ConfigField::context || field == ConfigField::expert || field == ConfigField::zero ||
                               field == ConfigField::recompute || (field == ConfigField::schedule && !after->empty());
      if (is_own_axis) changes.unsaid.push_back(fmt::format("{}={}", name, *after));
      continue;
    }
    // What says recomputation in more detail stays unsaid where the file does not say it.
    if (field == ConfigField::recompute_modules && !is_written && other.recompute_modules == Plan().recompute_modules)
      continue;
    if ((field == ConfigField::recompute_method || field == ConfigField::recompute_blocks) && !is_written) continue;
    if (field == ConfigField::reshards && is_kept_by(configuration, ConfigField::zero)) continue;
    // What follows from the tensor degree is not said.
    if (field == ConfigField::expert_tensor && own.whole_experts == other.whole_experts && !is_written) continue;
    // Two fields for one thing: the one that the file has counts.
    const bool counts_shards = field == ConfigField::data_shard || field == ConfigField::data_replicate;
    if (counts_shards && !configuration.writes(ConfigField::data_shard) &&
        !configuration.writes(ConfigField::data_replicate) && is_kept_by(configuration, ConfigField::zero)) {
      continue;
    }
    if (field == ConfigField::virtual_stages && configuration.writes(ConfigField::layers_per_virtual_stage)) continue;
    if (field == ConfigField::layers_per_virtual_stage && !is_written) {
      if (configuration.writes(ConfigField::virtual_stages) || !is_kept_by(configuration, ConfigField::virtual_stages)) {
        if (is_kept_by(configuration, ConfigField::virtual_stages)) continue;
      } else {
        continue;
      }
    }
    if (field == ConfigField::data_shard && fact != nullptr && fact->value == "-1" && *after != "1") continue;
    const ArgumentRow* row = row_for(configuration, field, *after);
    if (row == nullptr) {
      changes.unsaid.push_back(fmt::format("{}={}", name, *after));
      continue;
    }
    ConfigurationChange change{.argument = std::string(row->key), .now = "", .then = ""};
    if (is_written) {
      change.now = fact->from->value.empty() ? "yes" : fact->from->value;
      change.place = fact->from->place();
      change.argument = fact->from->key;
    }
    const bool leaves_out = row->words.empty() && !row->alone.empty() && row->alone != *after;
    if (!leaves_out && !(is_usual(field, *after, configuration) && !is_written)) {
      change.then = !row->alone.empty() && row->words.empty() ? "yes" : written(*row, *after).value_or("");
    }
    if (change.now == change.then) continue;
    changes.arguments.push_back(std::move(change));
  }
  return changes;
}

}  // namespace ddl
