#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/options/command_line.hpp"
#include "cli/report/progress.hpp"
#include "core/quantity.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

Option add_time_limit(const Command& command, std::optional<Seconds>& into);

/// Watches a search: shows its progress and its best plan on a terminal, and ends it at the time limit or when the user
/// asks.
class SearchWatch {
 public:
  explicit SearchWatch(const std::optional<Seconds>& limit) : limit_(limit) {}

  /// Lets `options` report to this object, which must outlive the search.
  void watch(SearchOptions& options);
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// Whether the time limit ended the search, and not the user.
  [[nodiscard]] bool is_at_limit() const { return at_limit_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Seconds> limit_;
  Clock::time_point start_ = Clock::now();
  LateProgress progress_{"plans"};
  bool at_limit_ = false;
};

/// Returns the largest share of the step time of `best` by which a plan that a stopped search has not examined may be
/// faster: 0.1 means that no plan takes less than 90 % of this time. 1 if nothing is known of these plans. Unset if the
/// search was not stopped, or ranks plans by memory.
[[nodiscard]] std::optional<double> gap_of(const SearchResult& result, const Estimate& best, Objective objective);
/// The gap as a sentence.
[[nodiscard]] std::string gap_text(double gap, const SearchResult& result);

}  // namespace ddl
