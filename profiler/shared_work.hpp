#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/rank.hpp"

namespace ddl {

/// Items that the processes of one run do together, a row of text for each, and the file that gets the rows. A row is one
/// line, with or without its line break.
struct SharedWork {
  std::string output;
  std::string head;      ///< stands before the rows; with its line break
  std::string identity;  ///< what the items are and how they are done, in any words: the same in all processes
  std::size_t items = 0;
  std::vector<std::string> known{};  ///< rows of an earlier output, by item, empty where there is none; or nothing at all
  bool resume = false;               ///< goes on with parts that an earlier run left
};

/// How patient processes are with each other.
struct SharingRule {
  Seconds start = Seconds(30);  ///< a rank of which nothing is seen so long after our own start counts as dead
  Seconds poll = Seconds(0.2);  ///< between looks at the others, for who has nothing else to do
};

struct SharedResult {
  bool merged = false;                 ///< the output is there, with all rows that there are
  bool wrote = false;                  ///< by this process
  std::vector<int> dead{};             ///< ranks that ended before their share did, or never began, as far as seen from here
  std::vector<std::size_t> missing{};  ///< items without a row, as far as seen from here
};

/// Does one rank's share of the items, then what dead ranks left, and returns when the output is written. No process talks
/// to another: rank r of P appends the rows of items r, r+P, ... to a part of its own, `OUTPUT.rankR`, whose lock it holds
/// while it lives (PartFile). Where a lock is free and the share is not done, its rank has died, and whoever has nothing
/// else to do takes the part over. An item at which two processes died in a row is given up. Once no share lacks a row, rank
/// 0, or another in its place, writes the output whole and removes the parts. What a killed run leaves is gone on with by a
/// run of any number of processes, even one.
///
/// `row_of` does one item; nothing where it was stopped. `stop` is asked before each item and each look at the others: the
/// process then returns, and its part stays. An Error where the parts are not ours (another run's, or left by one that is
/// not resumed), and where files cannot be written or locked. It waits for a rank as long as that one lives.
[[nodiscard]] SharedResult share_work(const Rank& rank, const SharedWork& work,
                                      const std::function<std::optional<std::string>(std::size_t item)>& row_of,
                                      const std::function<bool()>& stop = {}, const SharingRule& rule = {});

/// The parts that earlier runs left for this output: their paths, sorted.
[[nodiscard]] std::vector<std::string> parts_of(const std::string& output);

}  // namespace ddl
