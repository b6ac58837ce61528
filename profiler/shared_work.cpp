#include "profiler/shared_work.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "profiler/part_file.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Two processes that died at the same item are enough.
constexpr int deaths_of_an_item = 2;
/// So many looks go by before a part that another holds without having taken it over counts as another run's: looking
/// whether it is held holds it for a moment.
constexpr int looks_at_a_held_part = 10;

std::chrono::duration<double> duration_of(Seconds time) { return std::chrono::duration<double>(time.value()); }

/// FNV-1a of 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string part_path(const std::string& output, int share) { return fmt::format("{}.rank{}", output, share); }

bool exists(const std::string& path) {
  std::error_code problem;
  return fs::exists(path, problem);
}

void remove(const std::string& path) {
  std::error_code already_gone;
  fs::remove(path, already_gone);
}

class Sharing {
 public:
  Sharing(const Rank& rank, const SharedWork& work, const std::function<std::optional<std::string>(std::size_t)>& row_of,
          const std::function<bool()>& stop, const SharingRule& rule)
      : rank_(rank), work_(work), row_of_(row_of), stop_(stop), rule_(rule), identity_(hash_of(work.identity)) {}

  SharedResult run() {
    find_shares();
    join();
    for (;;) {
      for (auto& [share, part] : held_) {
        if (!do_share(share, part)) return result(false);
      }
      if (take_another()) continue;
      if (all_done() && merge()) return result(true);
      if (is_gone()) return result(true);
      if (is_stopped()) return result(false);
      // Many processes look less often, so that the file system has other things to do.
      std::this_thread::sleep_for(duration_of(rule_.poll) * std::max(1, shares_ / 16));
    }
  }

 private:
  [[nodiscard]] bool is_stopped() const { return stop_ && stop_(); }
  [[nodiscard]] std::string path(int share) const { return part_path(work_.output, share); }
  [[nodiscard]] bool started_long_ago() const { return Clock::now() - start_ >= duration_of(rule_.start); }
  [[nodiscard]] bool is_known(std::size_t item) const { return item < work_.known.size() && !work_.known[item].empty(); }
  [[nodiscard]] PartHeading heading(int share) const {
    return {.share = share, .shares = shares_, .items = work_.items, .identity = identity_};
  }
  [[nodiscard]] bool is_done(const PartState& state, std::size_t item) const {
    return is_known(item) || state.rows.contains(item) || state.given_up.contains(item);
  }
  [[nodiscard]] bool is_done(const PartState& state) const {
    for (auto item = static_cast<std::size_t>(state.heading.share); item < work_.items;
         item += static_cast<std::size_t>(shares_)) {
      if (!is_done(state, item)) return false;
    }
    return true;
  }

  void check(const PartState& state, int share) const {
    if (state.heading != heading(share)) fail_as_foreign(path(share));
  }
  [[noreturn]] void fail_as_foreign(const std::string& part) const {
    throw Error(fmt::format("{} is a part of another run", quote(part)),
                fmt::format("remove {}.rank*, or give --output another name", work_.output));
  }

  /// A run that goes on with another's parts has as many shares as that one.
  void find_shares() {
    shares_ = rank_.ranks;
    if (const std::optional<PartFile> first = PartFile::lock(path(0)); first && first->state().merged) remove_parts();
    for (const std::string& part : parts_of(work_.output)) {
      const std::optional<PartState> state = PartFile::read(part);
      if (!state) continue;
      shares_ = state->heading.shares;
      if (state->heading != heading(state->heading.share) || path(state->heading.share) != part) fail_as_foreign(part);
    }
    states_.resize(static_cast<std::size_t>(shares_));
  }

  /// Takes our own share, unless others gave us up before we came.
  void join() {
    if (rank_.rank >= shares_) return;
    const std::string ours = path(rank_.rank);
    for (int look = 0; look < looks_at_a_held_part; ++look) {
      std::optional<PartFile> part = PartFile::create(ours, heading(rank_.rank));
      if (!part) {
        part = PartFile::lock(ours);
        if (part) check(part->state(), rank_.rank);
        if (part && !work_.resume && !part->state().taken_over) {
          throw Error(fmt::format("{} is left of an earlier run", quote(ours)),
                      fmt::format("--resume goes on with it; to start anew, remove {}.rank*", work_.output));
        }
      }
      if (part) {
        part->owned_by(rank_.rank);
        held_.emplace(rank_.rank, std::move(*part));
        return;
      }
      if (const std::optional<PartState> state = PartFile::read(ours); state && state->taken_over) return;
      std::this_thread::sleep_for(duration_of(rule_.poll));
    }
    throw Error(fmt::format("another run writes {}", quote(work_.output)), "let it end, or give --output another name");
  }

  /// False where it was stopped.
  bool do_share(int share, PartFile& part) {
    const PartState& state = part.state();
    bool did_any = false;
    for (auto item = static_cast<std::size_t>(share); item < work_.items; item += static_cast<std::size_t>(shares_)) {
      if (is_done(state, item)) continue;
      if (const auto begun = state.begun.find(item); begun != state.begun.end() && begun->second >= deaths_of_an_item) {
        part.give_up(item);
        continue;
      }
      if (is_stopped()) return false;
      part.begin(item);
      std::optional<std::string> row = row_of_(item);
      if (!row) {
        part.hand_back(item);
        return false;
      }
      if (row->ends_with('\n')) row->pop_back();
      if (row->empty() || row->find('\n') != std::string::npos) throw Error("a row is one line");
      part.row(item, *row);
      did_any = true;
      flush_now_and_then(part);
    }
    if (did_any) part.flush();
    return true;
  }

  void flush_now_and_then(PartFile& part) {
    if (rank_.ranks == 1 || Clock::now() - flushed_ < std::chrono::seconds(1)) return;
    part.flush();
    flushed_ = Clock::now();
  }

  /// What others have done of a share by now. One that is done stays as it is, and so does one that was merged and removed.
  void look_at(int share) {
    std::optional<PartState>& state = states_[static_cast<std::size_t>(share)];
    if (state && is_done(*state)) return;
    std::optional<PartState> now = PartFile::read(path(share));
    if (!now) return;
    check(*now, share);
    state = std::move(now);
  }

  /// Looks at the other shares; true where one was left undone and is now ours.
  bool take_another() {
    for (int i = 1; i < shares_ + 1; ++i) {
      const int share = (rank_.rank + i) % shares_;
      if (held_.contains(share)) continue;
      look_at(share);
      const std::optional<PartState>& state = states_[static_cast<std::size_t>(share)];
      if (!(state && is_done(*state)) && take(share)) return true;
    }
    return false;
  }

  /// Whether a share is ours now.
  bool take(int share) {
    std::optional<PartState>& state = states_[static_cast<std::size_t>(share)];
    // Nobody here has it for their own, or who has was given enough time.
    const bool nobody_comes = share >= rank_.ranks || started_long_ago();
    if (!state && !nobody_comes) return false;
    std::optional<PartFile> part = state ? PartFile::lock(path(share)) : PartFile::create(path(share), heading(share));
    if (!part) {
      if (state) seen_held_.insert(share);
      return false;
    }
    check(part->state(), share);
    if (state && is_done(part->state())) {
      state = part->state();
      return false;
    }
    // Somebody took this share, did it, merged all parts and removed it between our look and now.
    if (!state && is_merged()) {
      remove(path(share));
      return false;
    }
    // The part of an earlier run whose rank may still come for it.
    if (!nobody_comes && work_.resume && !seen_held_.contains(share)) return false;
    if (share < rank_.ranks || seen_held_.contains(share)) {
      part->taken_over_by(rank_.rank);
    } else {
      part->owned_by(rank_.rank);
    }
    held_.emplace(share, std::move(*part));
    return true;
  }

  [[nodiscard]] bool all_done() const {
    for (int share = 0; share < shares_; ++share) {
      const std::optional<PartState>& state = states_[static_cast<std::size_t>(share)];
      if (!held_.contains(share) && !(state && is_done(*state))) return false;
    }
    return true;
  }

  [[nodiscard]] const PartState* state_of(int share) const {
    if (const auto held = held_.find(share); held != held_.end()) return &held->second.state();
    const std::optional<PartState>& state = states_[static_cast<std::size_t>(share)];
    return state ? &*state : nullptr;
  }

  /// Writes the output if that is our part: who holds the first share does.
  bool merge() {
    if (!held_.contains(0)) {
      std::optional<PartFile> first = PartFile::lock(path(0));
      if (!first) return false;
      held_.emplace(0, std::move(*first));
    }
    PartFile& first = held_.at(0);
    if (!first.state().merged) {
      std::string content = work_.head;
      for (std::size_t item = 0; item < work_.items; ++item) {
        const std::string* const row = row_at(item);
        if (row == nullptr) continue;
        content += *row;
        if (!row->ends_with('\n')) content += '\n';
      }
      write_file(work_.output, content);
      first.merged();
      wrote_ = true;
    }
    remove_parts();
    return true;
  }

  [[nodiscard]] const std::string* row_at(std::size_t item) const {
    if (is_known(item)) return &work_.known[item];
    const PartState* const state = state_of(static_cast<int>(item % static_cast<std::size_t>(shares_)));
    if (state == nullptr) return nullptr;
    const auto found = state->rows.find(item);
    return found == state->rows.end() ? nullptr : &found->second;
  }

  /// The first goes last: while it is there, it says that the others are not needed.
  void remove_parts() const {
    std::vector<std::string> parts = parts_of(work_.output);
    std::stable_partition(parts.begin(), parts.end(), [&](const std::string& part) { return part != path(0); });
    for (const std::string& part : parts) remove(part);
  }

  /// Whether somebody else has merged the parts: ours, or the first where we have none, was there and is not any more.
  [[nodiscard]] bool is_gone() const {
    const int watched = rank_.rank < shares_ ? rank_.rank : 0;
    if (exists(path(watched)) || (watched != rank_.rank && state_of(watched) == nullptr)) return false;
    if (!exists(work_.output)) throw Error(fmt::format("{} was removed while it was needed", quote(path(watched))));
    return true;
  }

  /// Whether the output is written and the parts are going or gone: the first says so until it goes, as the last.
  [[nodiscard]] bool is_merged() const {
    const std::optional<PartState> first = PartFile::read(path(0));
    return (first && first->merged) || is_gone();
  }

  [[nodiscard]] SharedResult result(bool merged) {
    for (int share = 0; share < shares_ && !merged; ++share) {
      if (!held_.contains(share)) look_at(share);
    }
    SharedResult result{.merged = merged, .wrote = wrote_};
    std::set<int> dead;
    for (int share = 0; share < shares_; ++share) {
      if (const PartState* const state = state_of(share)) dead.insert(state->dead.begin(), state->dead.end());
    }
    result.dead.assign(dead.begin(), dead.end());
    for (std::size_t item = 0; item < work_.items; ++item) {
      const PartState* const state = state_of(static_cast<int>(item % static_cast<std::size_t>(shares_)));
      // What others did since we looked last, and have merged, is not known to be missing.
      const bool given_up = state != nullptr && state->given_up.contains(item);
      if (row_at(item) == nullptr && (given_up || !merged)) result.missing.push_back(item);
    }
    return result;
  }

  const Rank& rank_;
  const SharedWork& work_;
  const std::function<std::optional<std::string>(std::size_t)>& row_of_;
  const std::function<bool()>& stop_;
  const SharingRule& rule_;
  const std::uint64_t identity_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point flushed_ = Clock::now();
  int shares_ = 1;
  std::map<int, PartFile> held_{};                  ///< by share
  std::vector<std::optional<PartState>> states_{};  ///< of the other shares, as last seen
  std::set<int> seen_held_{};                       ///< shares that somebody else worked on while we looked
  bool wrote_ = false;
};

}  // namespace

SharedResult share_work(const Rank& rank, const SharedWork& work,
                        const std::function<std::optional<std::string>(std::size_t)>& row_of,
                        const std::function<bool()>& stop, const SharingRule& rule) {
  return Sharing(rank, work, row_of, stop, rule).run();
}

std::vector<std::string> parts_of(const std::string& output) {
  const fs::path path(output);
  const std::string beginning = path.filename().string() + ".rank";
  std::error_code problem;
  std::vector<std::string> parts;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (auto entry = fs::directory_iterator(folder, problem); !problem && entry != fs::directory_iterator();
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning) || name.size() == beginning.size()) continue;
    const std::string_view number = std::string_view(name).substr(beginning.size());
    if (number.find_first_not_of("0123456789") == std::string_view::npos)
      parts.push_back(output + ".rank" + std::string(number));
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace ddl
