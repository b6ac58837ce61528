#include "cli/report/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/report/figures.hpp"
#include "cli/report/interrupt.hpp"

namespace ddl {
namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

thread_local const ProgressListener::Told* listener = nullptr;

std::size_t terminal_columns() {
  winsize size{};
  constexpr std::size_t usual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

}  // namespace

std::string progress_line(std::size_t done, std::size_t skipped, std::size_t items, double elapsed_seconds,
                          std::string_view what, std::size_t columns) {
  done = std::min(done, items);
  const double share = items > 0 ? static_cast<double>(done) / static_cast<double>(items) : 1;
  // A search does not know the number of its plans at the start.
  std::string line = items > 1 ? fmt::format("{:3.0f} %  {}/{}", std::floor(share * 100), done, items) : std::string();
  // The first few items say little about the others: a search leaves most plans out quickly.
  constexpr double least_share = 0.01;
  if (const std::size_t timed = done - std::min(done, skipped); timed > 0 && share >= least_share) {
    const double left = elapsed_seconds / static_cast<double>(timed) * static_cast<double>(items - done);
    line += fmt::format("  {} left", duration_text(left));
  }
  line += fmt::format("{}{}", line.empty() ? "" : "  ", what);
  // The bar is left out if the text needs its place.
  constexpr std::size_t width = 20;
  const auto filled = static_cast<std::size_t>(share * width);
  const std::string bar = fmt::format("[{}{}] ", std::string(filled, '#'), std::string(width - filled, '-'));
  if (bar.size() + display_width(line) <= columns) line.insert(0, bar);
  while (display_width(line) > columns) line.pop_back();
  return line;
}

Progress::Progress(std::size_t items) : items_(items), on_terminal_(!TimeLimit::is_set() && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (on_terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::size_t done, std::size_t skipped, std::string_view what) {
  if (!on_terminal_) return;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::fputs(fmt::format("\r\033[K{}", progress_line(done, skipped, items_, elapsed, what, terminal_columns() - 1)).c_str(),
             stderr);
  std::fflush(stderr);
}

ProgressListener::ProgressListener(Told told) : told_(std::move(told)) { listener = &told_; }

ProgressListener::~ProgressListener() { listener = nullptr; }

void ProgressListener::tell(std::size_t done, std::size_t items, const std::string& what) {
  if (listener != nullptr) (*listener)(done, items, what);
}

void LateProgress::show(std::size_t done, std::size_t items) {
  const Clock::time_point now = Clock::now();
  if (now - told_ > std::chrono::milliseconds(100)) {
    ProgressListener::tell(done, items, what_);
    told_ = now;
  }
  if (now - start_ <= std::chrono::milliseconds(200) || now - shown_ <= std::chrono::milliseconds(100)) return;
  if (!progress_ || items != items_) {
    progress_.emplace(items);
    items_ = items;
    done_before_ = done;
  }
  progress_->show(done, done_before_, what_);
  shown_ = now;
}

}  // namespace ddl
