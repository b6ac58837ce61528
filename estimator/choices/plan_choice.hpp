#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// All choices of a plan other than its mesh, batch, micro-batches and placement.
enum class PlanChoice {
  schedule,
  virtual_stages,
  first_stage_blocks,
  last_stage_blocks,
  zero,
  shard_group,
  reshard,
  secondary_shards,
  recompute,
  recompute_blocks,
  recompute_modules,
  offload,
  offload_activations,
  sequence_parallel,
  context_exchange,
  experts,
  tables
};
inline constexpr std::size_t plan_choice_count = enum_count<PlanChoice>();
/// The largest number of virtual stages per pipeline stage.
inline constexpr int most_virtual_stages = 32;

/// The largest number of blocks that the user may assign to a pipeline stage.
inline constexpr int most_stage_blocks = 1024;

/// The largest group of data ranks that ZeRO shards among, if it does not shard among all ranks. The same limit holds for
/// secondary shards.
inline constexpr int most_shard_group = 1024;

/// The largest number of recomputed blocks per virtual stage in plans that recompute only some blocks.
inline constexpr int most_recompute_blocks = 1024;

struct ModelFacts;

/// How time and memory of a plan change from one value of a choice to a later value, as far as this
/// is known without an estimate.
enum class Trade {
  open,                ///< a plan with a later value may be faster or slower, and need more or less memory
  slower_but_smaller,  ///< a plan with a later value is not faster, and needs no more memory
  first_is_smallest,   ///< a later value may make a plan faster or slower, and needs at least the memory of the first value
};

/// What a framework can run: for each choice, its values; unset: all values.
struct AdmittedChoices : EnumArray<PlanChoice, std::optional<std::vector<int>>> {
  bool pipelines = true;  ///< whether it divides layers into pipeline stages
};

/// Everything that options, files, reports and the search know about a choice. A new choice needs one new member of Plan and
/// one new row of the table.
struct PlanChoiceRow {
  PlanChoice choice;
  std::string_view key;      ///< name of the choice in reports and tables: `zero_stage`
  std::string_view option;   ///< name of the choice on the command line, without dashes, and in job files: `zero`
  std::string_view meaning;  ///< text that follows "fix" in the help: `the ZeRO stage`
  std::string_view noun;     ///< noun phrase for a value: `stage of ZeRO`
  /// The key of the values that a framework supports, in software files; empty: every framework supports all values.
  std::string_view software_key{};
  bool is_software_flag = false;  ///< whether that key is yes or no, and not a list of values
  int last;                       ///< values are 0 to `last`, the simplest first
  /// Values are written as numbers, and the first value is written as this number. If unset, values are written by name.
  std::optional<int> first_number{};
  bool needs_host = false;  ///< whether values above 0 use host memory; searches try them if nothing fits with value 0
  bool is_searched = true;  ///< whether a search tries all values; otherwise only the user sets the value
  /// If not empty, a value of the choice is a set of these names, such as `core_attn+mlp`.
  std::span<const std::string_view> parts{};
  bool divides_layers = false;  ///< whether the choice changes how layers are divided among ranks, or what a layer costs
  Trade trade = Trade::open;
  std::optional<int> never_better{};  ///< a value that saves neither time nor memory compared with the first value
  std::string_view beyond_ideal{};    ///< text for values above 0 that ParaDL's closed forms do not support; else empty
  std::string_view separator = ", ";  ///< separator before this choice in the text of a plan
  std::string_view (*name)(int value);
  /// Returns the text for a value in reports: `ZeRO-1`; empty for a value that is not mentioned.
  std::string (*words)(int value);
  /// Returns the text for a value in the short notation of plans: `z1`; empty for a value that is not mentioned.
  std::string (*sign)(int value);
  /// Explains the letters of `sign`: `z ZeRO stage`. If this function is null, `sign` is explained by `words`.
  std::string_view (*legend)(int value) = nullptr;
  /// Returns whether the choice makes a difference on this mesh of ranks.
  bool (*matters)(const Mesh& mesh);
  /// Returns whether a plan of this model may have this value, which is above 0, given the plan's mesh, micro-batches and
  /// other choices. If a value is impossible while all other choices have their first values, it is always impossible; only
  /// shard groups are an exception. If this function is null, every value is possible.
  bool (*possible)(const ModelFacts& facts, const Plan& plan, int value) = nullptr;
  /// Returns whether the choice makes a difference, given the other choices of a plan. If this
  /// function is null, the choice always makes a difference.
  bool (*counts)(const Plan& plan) = nullptr;
  int (*get)(const Plan& plan);
  void (*set)(Plan& plan, int value);

  [[nodiscard]] std::optional<int> parse(std::string_view text) const;
  /// Returns the names of all values. If values are sets, returns the names of their elements.
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// Returns the values as text: `none or full`, `0 to 3`.
  [[nodiscard]] std::string values_text() const;
};

/// Returns the table of all choices, with one row for each choice.
[[nodiscard]] std::span<const PlanChoiceRow, plan_choice_count> plan_choices();
[[nodiscard]] const PlanChoiceRow& row_of(PlanChoice choice);

/// The values of the choices that the user has made. Choices that the user has not made have no value.
class ChosenOfPlan {
 public:
  [[nodiscard]] std::optional<int>& operator[](PlanChoice choice) { return values_[choice]; }
  [[nodiscard]] const std::optional<int>& operator[](PlanChoice choice) const { return values_[choice]; }
  /// Sets in `plan` the choices that the user has made, and leaves all other choices unchanged.
  void apply(Plan& plan) const;
  friend auto operator<=>(const ChosenOfPlan&, const ChosenOfPlan&) = default;

 private:
  EnumArray<PlanChoice, std::optional<int>> values_;
};

/// Derives choices from others: a number of recomputed blocks implies full recomputation,
/// recomputed modules imply selective recomputation, and secondary shards imply ZeRO-3.
void choose_what_follows(ChosenOfPlan& chosen);

/// Sets each choice that ParaDL's closed forms lack to its first value, unless the user has made the choice.
void keep_to_ideal(ChosenOfPlan& chosen);

/// Resets the choices that do not affect how layers are divided among ranks, and keeps unknown choices. Two plans with equal
/// results divide layers in the same way, so the result serves as a cache key.
[[nodiscard]] Plan split_of(const Plan& plan);

}  // namespace ddl
