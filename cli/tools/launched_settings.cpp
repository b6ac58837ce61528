#include "cli/tools/launched_settings.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "estimator/inputs/settings.hpp"

namespace ddl {
namespace {

constexpr LaunchedSetting of_training(std::string_view key, std::string_view usual) { return {key, true, usual}; }
constexpr LaunchedSetting of_mixed_precision(std::string_view key, std::string_view usual) {
  return {key, true, usual, true};
}

constexpr auto settings_of_launches = std::to_array<LaunchedSetting>({
    of_mixed_precision("mixed_precision", ""),
    of_mixed_precision("gradient_sums", ""),
    of_training("narrow_weights", "copies"),
    of_training("base", "half"),
    of_mixed_precision("master_weights", "fp32"),
    of_mixed_precision("moments", "fp32"),
    of_training("fp8_activation_inputs", "no"),
    of_training("cross_entropy", ""),
    of_training("one_process", "no"),
    of_training("managed_memory", "no"),
    // The library for communication chooses among algorithms that exchange the same gradients.
    of_training("allreduce",
                "linear tree butterfly ring rabenseifner shifted-halving-doubling far-halving-doubling hierarchical "
                "multi-leader leader reduce-broadcast double-tree"),
    of_training("sparse_gradients", "no"),
    of_training("local_steps", "1"),
    of_training("compress", "none"),
    of_training("capacity_factor", ""),
    of_training("padded_experts", "no"),
    of_training("synchronization", "sync"),
    // Details of settings above.
    {"parameter_servers"},
    {"sparse_density"},
    {"compress_density"},
    {"compress_rank"},
    {"staleness"},
    {"neighbors"},
    {"precondition_every"},
    // How a software runs a training.
    {"launch_overhead"},
    {"memory_format"},
    {"memory_format_of_fp32"},
    {"copies_volumes"},
    {"recomputes_elementwise"},
    {"recompute_stops_early"},
    {"keeps_gathered"},
    {"attention"},
    {"fusing"},
    {"composites"},
    {"attention_sinks"},
    {"own_half_norms"},
    {"convolution_biases"},
    {"linear_biases"},
    {"expert_biases"},
    {"selective_recompute"},
    {"optimizer_implementation"},
    {"extra_update_bytes"},
    {"older_framework"},
    {"engine_groups"},
    {"keeps_sent"},
    {"flat_gradients"},
    {"images_only"},
    {"idle_communicators"},
    {"overlaps_gradients"},
    {"overlaps_weight_gathers"},
    {"overlaps_tensor_exchanges"},
    {"overlaps_expert_exchanges"},
    {"routes_tokens_once"},
    {"equal_stages"},
    {"gradient_route"},
    {"layer_route"},
    {"halo_route"},
    {"gradient_algorithm"},
    {"hybrid_gradient_algorithm"},
    {"layer_algorithm"},
    {"gradient_bucket"},
    {"bucket_parameters"},
    {"bucket_parameters_per_rank"},
    {"gradient_density"},
    {"whole_gradients_in_hybrids"},
    {"layered_gradients_in_hybrids"},
    {"step_overhead"},
    {"exchange_cycle"},
    {"backward_launches"},
    {"expert_launches"},
    {"serial_forward"},
    {"backward_threads"},
    {"tile_copies"},
    {"rank_waiting"},
    {"overlap_slowdown"},
    {"overlap"},
    // The loads of experts, devices and networks, and the data.
    {"expert_imbalance"},
    {"routing"},
    {"straggler"},
    {"congestion"},
    {"input"},
    {"input_exposed"},
    {"staging"},
    {"exchanged_samples"},
    // Failures, checkpoints and energy of a whole training.
    {"mtbf"},
    {"mtbf_of"},
    {"restart"},
    {"checkpoint_every"},
    {"checkpoint_time"},
    {"checkpoint_bandwidth"},
    {"checkpoint_writing"},
    {"spare_nodes"},
    {"repair"},
    {"pue"},
    {"carbon"},
});

std::string text_of(const SettingRow& row, const SettingValue& setting) {
  if (row.kind == SettingKind::name) return std::string(row.names[static_cast<std::size_t>(setting.value)]);
  if (row.kind == SettingKind::flag) return setting.value != 0 ? "yes" : "no";
  return fmt::format("{}", setting.value);
}

bool is_word_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool is_carried(std::span<const std::string_view> carried, std::string_view key, std::string_view value) {
  return std::any_of(carried.begin(), carried.end(), [&](std::string_view each) {
    const std::size_t at = each.find('=');
    return each.substr(0, at) == key && (at == std::string_view::npos || is_word_of(each.substr(at + 1), value));
  });
}

}  // namespace

std::span<const LaunchedSetting> launched_settings() { return settings_of_launches; }

std::optional<std::string> asked_setting(const LaunchRequest& request, std::string_view key) {
  const SettingRow* const row = find_setting(key);
  const SettingValue* const found = request.study.spec().settings.find(key);
  if (row == nullptr || found == nullptr) return std::nullopt;
  return text_of(*row, *found);
}

std::optional<CannotLaunch> lacks_settings(const LaunchRequest& request, std::span<const std::string_view> carried) {
  std::optional<CannotLaunch> lacks;
  request.study.spec().settings.for_each([&](const SettingRow& row, const SettingValue& setting) {
    const auto known = launched_settings();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const LaunchedSetting& each) { return each.key == row.key; });
    if (lacks || (found != known.end() && !found->is_of_training)) return;
    if (found != known.end() && found->is_of_mixed_precision && !is_mixed(request.plan().precision)) return;
    const std::string value = text_of(row, setting);
    if ((found != known.end() && is_word_of(found->usual, value)) || is_carried(carried, row.key, value)) return;
    std::string option(row.key);
    std::replace(option.begin(), option.end(), '_', '-');
    lacks = CannotLaunch{row.has_option ? fmt::format("its files have no --{} {}", option, value)
                                        : fmt::format("its files have no --setting {}={}", row.key, value)};
  });
  return lacks;
}

}  // namespace ddl
