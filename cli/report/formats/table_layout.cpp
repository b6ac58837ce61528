#include "cli/report/formats/table_layout.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/report/figures.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

constexpr std::size_t gap = 2, least_words = 16;

class Fitter {
 public:
  Fitter(const Table& table, const Page& page)
      : table_(table), room_(page.width - std::min(table.indent, page.width - 1)), wide_(page.wide) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::size_t width = display_width(table.columns[c].heading);
      if (draws(c)) {
        width = std::max(width, bar_width);
      } else {
        for (const auto& row : table.rows) width = std::max(width, display_width(row[c]));
      }
      natural_.push_back(width);
      const bool says_nothing = draws(c) && table.columns[c].keep == Keep::useful && !bars_differ(*table.bars);
      if (wide_ || (table.columns[c].keep != Keep::asked && !says_nothing)) shown_.push_back(c);
    }
    widths_ = natural_;
  }

  TableLayout layout() {
    TableLayout out;
    if (!wide_) {
      shrink_prose();
      while (excess() > 0 && give_up(Keep::useful)) {}
      shorten_words();
      while (excess() > 0 && shown_.size() > 1 && give_up(Keep::always)) {
        restore();
        shorten_words();
      }
      // If a single column remains and is too wide, its cells are cut, even cells with numbers.
      if (excess() > 0 && !shown_.empty()) widths_[shown_.front()] = room_;
      widen_prose();
    }
    for (const std::size_t c : shown_) {
      out.columns.push_back({c, widths_[c]});
      out.cuts = out.cuts || (widths_[c] < natural_[c] && !table_.columns[c].wraps);
    }
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      if (!contains(shown_, c)) out.left_out.push_back(table_.columns[c].heading);
    }
    return out;
  }

 private:
  [[nodiscard]] bool draws(std::size_t c) const { return table_.bars && table_.bars->column == c; }
  [[nodiscard]] std::size_t taken() const {
    std::size_t sum = shown_.empty() ? 0 : gap * (shown_.size() - 1);
    for (const std::size_t c : shown_) sum += widths_[c];
    return sum;
  }
  [[nodiscard]] std::size_t excess() const { return taken() - std::min(taken(), room_); }

  void shrink_prose() {
    for (const std::size_t c : shown_) {
      if (table_.columns[c].wraps)
        widths_[c] = std::min(natural_[c], std::max(least_prose, display_width(table_.columns[c].heading)));
    }
  }
  void widen_prose() {
    for (const std::size_t c : shown_) {
      if (!table_.columns[c].wraps) continue;
      const std::size_t used = taken();
      if (used < room_) widths_[c] = std::min(natural_[c], widths_[c] + room_ - used);
    }
  }
  bool give_up(Keep keep) {
    const auto last = std::find_if(shown_.rbegin(), shown_.rend(), [&](std::size_t c) {
      return table_.columns[c].keep == keep && (c != shown_.front() || keep != Keep::always);
    });
    if (last == shown_.rend() || shown_.size() == 1) return false;
    shown_.erase(std::next(last).base());
    return true;
  }
  void shorten_words() {
    while (excess() > 0) {
      std::optional<std::size_t> widest;
      for (const std::size_t c : shown_) {
        const bool may_cut = !table_.columns[c].has_figures && !draws(c) && widths_[c] > least_words;
        if (may_cut && (!widest || widths_[c] > widths_[*widest])) widest = c;
      }
      if (!widest) return;
      widths_[*widest] -= std::min(excess(), widths_[*widest] - least_words);
    }
  }
  void restore() {
    widths_ = natural_;
    shrink_prose();
  }

  const Table& table_;
  std::size_t room_;
  bool wide_;
  std::vector<std::size_t> natural_{}, widths_{}, shown_{};
};

}  // namespace

std::vector<std::size_t> bar_lengths(const std::vector<double>& shares, std::size_t width) {
  std::vector<std::size_t> lengths;
  double sum = 0;
  std::size_t drawn = 0;
  for (const double share : shares) {
    sum += std::isfinite(share) ? std::max(0.0, share) : 0;
    const auto end = static_cast<std::size_t>(std::lround(std::min(1.0, sum) * static_cast<double>(width)));
    lengths.push_back(end - drawn);
    drawn = end;
  }
  return lengths;
}

/// A difference of one character may come from rounding.
bool bars_differ(const Bars& bars) {
  if (bars.shares.size() < 2) return true;
  std::vector<std::size_t> least, most;
  for (const std::vector<double>& shares : bars.shares) {
    const std::vector<std::size_t> lengths = bar_lengths(shares, bar_width);
    least.resize(std::max(least.size(), lengths.size()), bar_width);
    most.resize(least.size(), 0);
    for (std::size_t piece = 0; piece < least.size(); ++piece) {
      const std::size_t length = piece < lengths.size() ? lengths[piece] : 0;
      least[piece] = std::min(least[piece], length);
      most[piece] = std::max(most[piece], length);
    }
  }
  for (std::size_t piece = 0; piece < least.size(); ++piece) {
    if (most[piece] > least[piece] + 1) return true;
  }
  return false;
}

TableLayout layout_of(const Table& table, const Page& page) { return Fitter(table, page).layout(); }

}  // namespace ddl
