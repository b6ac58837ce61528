#include "profiler/profiles/shard.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {
namespace {

constexpr int most_shards = 1'000'000;

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The expected cost of a kernel, in bytes: the bytes that it moves, or the bytes that the device
/// could move in the time of the kernel's arithmetic, whichever is more. Only the order of costs
/// matters. Current devices do about ten operations in the time of one byte.
double expected_cost(const std::string& line) {
  constexpr double operations_per_byte = 10, bytes_per_item = 4;
  if (is_fresh_memory_problem(line)) return static_cast<double>(parse_fresh_memory_problem(line, "the plan").bytes);
  if (is_update_problem(line)) {
    const UpdateProblem update = parse_update_problem(line, "the plan");
    return static_cast<double>(update.parameters) * update_words(update.optimizer, update.implementation) * bytes_per_item;
  }
  const Problem problem = parse_problem(line, "the plan");
  const Work work = problem.operation->work(problem.pass, problem.inputs, problem.output);
  const auto samples = static_cast<double>(problem.samples);
  return std::max(work.flops * samples / operations_per_byte,
                  (work.activation_items * samples + work.weight_items) * bytes_per_item);
}

/// The unit that is distributed to shards: a problem, or all parts of one whole step.
struct Piece {
  std::size_t first = 0, items = 1;
  /// sort key: first whether the piece is a whole step, which takes longer than any problem, then the expected cost
  std::pair<bool, double> cost{};
};

std::vector<Piece> pieces_of(const ProfilePlan& plan) {
  std::vector<Piece> pieces;
  std::unordered_set<std::string_view> assigned;
  for (std::size_t item = 0; item < plan.problems.size(); ++item) {
    // Lines that occur several times are one row of a profile.
    if (assigned.insert(plan.problems[item].line).second)
      pieces.push_back({item, 1, {false, expected_cost(plan.problems[item].line)}});
  }
  for (std::size_t step = 0; step < plan.sequences.size(); ++step) {
    pieces.push_back({plan.problems.size() + step * enum_values<StepPart>.size(),
                      enum_values<StepPart>.size(),
                      {true, static_cast<double>(plan.sequences[step])}});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.cost > b.cost; });
  return pieces;
}

}  // namespace

Shard parse_shard(const std::string& option, const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<int> index = number_of(std::string_view(text).substr(0, slash));
  const std::optional<int> count = number_of(std::string_view(text).substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index < 0 || *count < 1 || *count > most_shards) {
    throw Error(
        fmt::format("{}: {} is not a shard", option, quote(text)),
        "write INDEX/COUNT, numbered from 0 like ranks: 0/16 to 15/16; check that the variables of the launcher are set");
  }
  if (*index >= *count) {
    throw Error(fmt::format("{}: there is no shard {} of {}, because shards are numbered from 0, like ranks", option, *index,
                            *count),
                fmt::format("0/{} to {}/{}", *count, *count - 1, *count));
  }
  return {*index, *count};
}

std::string to_string(const Shard& shard) { return fmt::format("{}/{}", shard.index, shard.count); }

PlanShard shard_of(const ProfilePlan& plan, const Shard& shard) {
  const std::vector<Piece> pieces = pieces_of(plan);
  PlanShard part{.plan = plan};
  part.plan.problems.clear();
  part.plan.sequences.clear();
  for (auto at = static_cast<std::size_t>(shard.index); at < pieces.size(); at += static_cast<std::size_t>(shard.count)) {
    for (std::size_t i = 0; i < pieces[at].items; ++i) part.places.push_back(pieces[at].first + i);
  }
  std::sort(part.places.begin(), part.places.end());
  for (const std::size_t place : part.places) {
    if (place < plan.problems.size()) {
      part.plan.problems.push_back(plan.problems[place]);
    } else if (const std::size_t behind = place - plan.problems.size(); behind % enum_values<StepPart>.size() == 0) {
      part.plan.sequences.push_back(plan.sequences[behind / enum_values<StepPart>.size()]);
    }
  }
  return part;
}

std::string plan_name(const ProfilePlan& plan) {
  // FNV-1a of 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U; };
  for (std::size_t item = 0; item < plan.items(); ++item) {
    for (const char c : plan.line(item)) add(c);
    add('\n');
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace ddl
