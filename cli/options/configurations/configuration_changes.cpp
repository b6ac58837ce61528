#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace {

/// What a field says of a plan, as a meaning; nothing where the field is of no plan.
std::optional<std::string> meaning_in(Said field, const Plan& plan, const Configuration& configuration,
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
    case Said::tensor:
      return text(mesh[Axis::tensor]);
    case Said::pipeline:
      return text(mesh[Axis::pipeline]);
    case Said::context:
      return text(mesh[Axis::context]);
    case Said::expert:
      return text(mesh[Axis::expert] * (plan.whole_experts ? mesh[Axis::tensor] : 1));
    case Said::expert_tensor:
      return text(plan.whole_experts ? 1 : mesh[Axis::tensor]);
    case Said::offload:
      return std::string(to_string(plan.offload));
    case Said::offload_activations:
      return flag(plan.offload_activations);
    case Said::data_shard:
      return text(is_sharded ? replicas / (mesh[Axis::data] / std::max(group, 1)) : 1);
    case Said::data_replicate:
      return text(is_sharded ? mesh[Axis::data] / std::max(group, 1) : mesh[Axis::data]);
    case Said::global_batch:
      return text(plan.global_batch);
    case Said::micro_batch: {
      const bool cuts_again = configuration.says(Said::pipeline_batch) && has_stages;
      return text(cuts_again ? share : std::max<std::int64_t>(share / plan.micro_batches, 1));
    }
    case Said::pipeline_batch:
      return text(has_stages ? std::max<std::int64_t>(share / plan.micro_batches, 1) : 1);
    case Said::accumulation:
    case Said::micro_batches:
      return text(plan.micro_batches);
    case Said::zero:
    case Said::sharding:
      return text(plan.zero_stage);
    case Said::reshards:
      return plan.zero_stage == 0 ? std::nullopt : std::optional(flag(plan.zero_stage == 3));
    case Said::secondary_shards:
      return text(std::max(plan.secondary_shards, 1));
    case Said::recompute:
      return std::string(to_string(plan.recompute));
    case Said::recompute_method:
      if (plan.recompute != Recompute::full) return "";
      return plan.recompute_blocks > 0 ? "block" : "uniform";
    case Said::recompute_blocks:
      return plan.recompute != Recompute::full ? "" : text(std::max(plan.recompute_blocks, 1));
    case Said::recompute_modules:
      return plan.recompute != Recompute::selective ? "" : to_string(plan.recompute_modules, " ");
    case Said::sequence_parallel:
      return flag(plan.sequence_parallel && mesh[Axis::tensor] > 1);
    case Said::virtual_stages:
      return text(has_stages ? plan.virtual_stages : 1);
    case Said::layers_per_virtual_stage:
      return has_stages && plan.virtual_stages > 1 ? text(layers / mesh[Axis::pipeline] / plan.virtual_stages) : "";
    case Said::schedule:
      return has_stages ? std::string(to_string(plan.schedule)) : "1f1b";
    case Said::context_exchange:
      return mesh[Axis::context] > 1 ? std::string(to_string(plan.context_exchange)) : std::string();
    default:
      return std::nullopt;
  }
}

/// How a row writes a meaning; nothing where it has no word for it.
std::optional<std::string> written(const ArgumentRow& row, const std::string& meaning) {
  if (row.words.empty()) return meaning;
  for (const ArgumentWord& word : row.words) {
    if (word.meaning == meaning) return std::string(word.word);
  }
  return std::nullopt;
}

/// Values that most tools have where nobody writes the argument.
bool is_usual(Said field, const std::string& meaning, const Configuration& configuration) {
  const auto& usual = configuration.format->usual;
  const auto own = std::find_if(usual.begin(), usual.end(), [&](const UsualValue& each) { return each.field == field; });
  if (own != usual.end()) return own->value == meaning;
  switch (field) {
    case Said::tensor:
    case Said::pipeline:
    case Said::context:
    case Said::expert:
    case Said::data_replicate:
    case Said::virtual_stages:
    case Said::accumulation:
    case Said::micro_batches:
    case Said::secondary_shards:
      return meaning == "1";
    case Said::zero:
      return meaning == "0";
    case Said::offload:
      return meaning == "none";
    case Said::offload_activations:
      return meaning == "no";
    case Said::recompute:
      return meaning == "none";
    case Said::sequence_parallel:
      return meaning == "no";
    case Said::reshards:
      return meaning == "yes";
    case Said::schedule:
      return meaning == "1f1b";
    case Said::context_exchange:
      return meaning == "ring" || meaning.empty();
    default:
      return meaning.empty();
  }
}

/// A field of a configuration that a plan decides, and what reports call it.
struct PlanField {
  Said field;
  std::string_view name;
};
constexpr std::array compared_fields{
    PlanField{Said::tensor, "tensor"},
    PlanField{Said::pipeline, "pipeline"},
    PlanField{Said::context, "context"},
    PlanField{Said::expert, "expert"},
    PlanField{Said::data_replicate, "copies of the shards"},
    PlanField{Said::data_shard, "shards"},
    PlanField{Said::micro_batch, "samples of a micro-batch"},
    PlanField{Said::pipeline_batch, "samples of a micro-batch"},
    PlanField{Said::accumulation, "micro-batches"},
    PlanField{Said::micro_batches, "micro-batches"},
    PlanField{Said::virtual_stages, "stretches of a stage"},
    PlanField{Said::layers_per_virtual_stage, "layers of a stretch"},
    PlanField{Said::schedule, "schedule"},
    PlanField{Said::zero, "ZeRO stage"},
    PlanField{Said::recompute, "recompute"},
    PlanField{Said::sequence_parallel, "sequence parallel"},
    PlanField{Said::context_exchange, "exchange of contexts"},
    PlanField{Said::reshards, "reshard after forward"},
    PlanField{Said::offload, "offload"},
    PlanField{Said::offload_activations, "offload of activations"},
    PlanField{Said::expert_tensor, "tensor degree of experts"},
    PlanField{Said::recompute_method, "method of recomputation"},
    PlanField{Said::recompute_blocks, "recomputed blocks"},
    PlanField{Said::secondary_shards, "secondary shards"},
    PlanField{Said::recompute_modules, "recomputed modules"},
};

bool counts(const Configuration& configuration, const ArgumentRow& row) {
  return row.only_with.empty() || row.only_with == configuration.word(Said::distributed_type);
}

/// The row by which the file says a field, or would say it.
const ArgumentRow* row_for(const Configuration& configuration, Said field, const std::string& meaning) {
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

bool is_kept_by(const Configuration& configuration, Said field) {
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
      const bool has_batch = is_kept_by(configuration, Said::micro_batch) || is_kept_by(configuration, Said::accumulation) ||
                             is_kept_by(configuration, Said::micro_batches) || configuration.writes(Said::micro_batch);
      if (field == Said::accumulation && !has_batch) changes.unsaid.push_back(fmt::format("{}={}", name, *after));
      const bool is_own_axis = field == Said::tensor || field == Said::pipeline || field == Said::context ||
                               field == Said::expert || field == Said::zero || field == Said::recompute ||
                               (field == Said::schedule && !after->empty());
      if (is_own_axis) changes.unsaid.push_back(fmt::format("{}={}", name, *after));
      continue;
    }
    // What says recomputation in more detail stays unsaid where the file does not say it.
    if (field == Said::recompute_modules && !is_written && other.recompute_modules == Plan().recompute_modules) continue;
    if ((field == Said::recompute_method || field == Said::recompute_blocks) && !is_written) continue;
    if (field == Said::reshards && is_kept_by(configuration, Said::zero)) continue;
    // What follows from the tensor degree is not said.
    if (field == Said::expert_tensor && own.whole_experts == other.whole_experts && !is_written) continue;
    // Two fields for one thing: the one that the file has counts.
    const bool counts_shards = field == Said::data_shard || field == Said::data_replicate;
    if (counts_shards && !configuration.writes(Said::data_shard) && !configuration.writes(Said::data_replicate) &&
        is_kept_by(configuration, Said::zero)) {
      continue;
    }
    if (field == Said::virtual_stages && configuration.writes(Said::layers_per_virtual_stage)) continue;
    if (field == Said::layers_per_virtual_stage && !is_written) {
      if (configuration.writes(Said::virtual_stages) || !is_kept_by(configuration, Said::virtual_stages)) {
        if (is_kept_by(configuration, Said::virtual_stages)) continue;
      } else {
        continue;
      }
    }
    if (field == Said::data_shard && fact != nullptr && fact->value == "-1" && *after != "1") continue;
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
