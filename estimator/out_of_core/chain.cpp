#include "estimator/out_of_core/chain.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/enum_array.hpp"

namespace ddl {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

bool moves(GroupChoice choice) { return choice == GroupChoice::swap || choice == GroupChoice::both; }
bool computes_again(GroupChoice choice) { return choice == GroupChoice::recompute || choice == GroupChoice::both; }

/// Returns whether a choice is possible for this group.
bool is_possible(const Chain& chain, const ChainGroup& group, GroupChoice choice) {
  if (computes_again(choice) && !group.may_recompute) return false;
  if (!moves(choice)) return true;
  return chain.link.value() > 0 && group.moved(choice).value() > 0;
}

double copy_time(const Chain& chain, const ChainGroup& group, GroupChoice choice) {
  const double bytes = group.moved(choice).value();
  return bytes > 0 ? bytes / chain.link.value() : 0.0;
}

/// Returns the maximum memory during a group's pass if `absent` bytes of earlier groups are not on the device.
double peak_of(const ChainGroup& group, GroupChoice choice, double absent) {
  Bytes peak = max(group.forward_peak, group.backward_peak);
  if (computes_again(choice)) peak = max(peak, group.again_peak);
  return peak.value() - absent;
}

/// A partial schedule: the choices for the first groups of layers, whose forward is done. If backward of the next group
/// starts at s and ends at t, and the link is busy with copies to the device until u, then backward of the first groups ends
/// at max(t + after_end, s + after_start, u + after_copy, not_before).
struct Label {
  /// bytes of the label's groups that are not on the device: `gone` while the group after the next
  /// group runs, `gone_next` while the next group runs
  double gone = 0, gone_next = 0;
  double forward = 0;          ///< end of the forward of the label's last group
  double left = never;         ///< end of the last copy to the host
  double left_before = never;  ///< end of the last copy to the host, without the label's last group
  double after_end = 0, after_start = never, after_copy = never, not_before = never;
  int before = -1;  ///< the label without the last group
  GroupChoice choice = GroupChoice::keep;

  [[nodiscard]] double end() const { return std::max(forward + std::max({after_end, after_start, after_copy}), not_before); }
  /// Returns whether this label is at least as good as `other`, for any continuation of the schedule.
  [[nodiscard]] bool is_as_good_as(const Label& other) const {
    return gone >= other.gone && gone_next >= other.gone_next && forward <= other.forward && left <= other.left &&
           left_before <= other.left_before && after_end <= other.after_end && after_start <= other.after_start &&
           after_copy <= other.after_copy && not_before <= other.not_before;
  }
};

Label with(const Chain& chain, const Label& label, int place, const ChainGroup& group, GroupChoice choice) {
  Label next;
  next.before = place;
  next.choice = choice;
  next.gone = label.gone + group.absent(choice, false).value();
  next.gone_next = label.gone + group.absent(choice, true).value();
  next.forward = std::max(label.forward, label.left_before) + group.forward.value();
  next.left = next.left_before = label.left;
  const double backward = group.backward.value() + (computes_again(choice) ? group.forward.value() : 0.0);
  next.after_end = std::max(label.after_end + backward, label.after_start);
  next.after_copy = label.after_copy;
  next.not_before = label.not_before;
  if (!moves(choice)) return next;
  const double copy = copy_time(chain, group, choice);
  next.left = std::max(next.forward, label.left) + copy;
  const double behind = std::max(next.after_end, label.after_copy);
  next.after_start = next.after_copy = behind + copy;
  next.not_before = std::max(label.not_before, next.left + copy + behind);
  return next;
}

/// Removes dominated labels. If too many labels remain, also removes labels that are slower than
/// others with about the same memory.
void thin(std::vector<Label>& labels) {
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
    const double end_a = a.end(), end_b = b.end();
    return end_a != end_b ? end_a < end_b : a.gone > b.gone;
  });
  std::vector<Label> best;
  for (const Label& label : labels) {
    const auto is_better = [&label](const Label& other) { return other.is_as_good_as(label); };
    if (std::none_of(best.begin(), best.end(), is_better)) best.push_back(label);
  }
  if (best.size() > most_labels) {
    // The labels are sorted by time, so for each range of memory the first label is kept.
    const auto [least, most] =
        std::minmax_element(best.begin(), best.end(), [](const Label& a, const Label& b) { return a.gone < b.gone; });
    const double low = least->gone, width = (most->gone - low) / static_cast<double>(most_labels);
    std::vector<bool> taken(most_labels + 1, false);
    std::vector<Label> spread;
    for (const Label& label : best) {
      const auto step = static_cast<std::size_t>(width > 0 ? (label.gone - low) / width : 0.0);
      if (taken[std::min(step, most_labels)]) continue;
      taken[std::min(step, most_labels)] = true;
      spread.push_back(label);
    }
    best = std::move(spread);
  }
  labels = std::move(best);
}

/// Replaces choices by simpler ones, such as keeping or only swapping activations, if the result is
/// not slower and still fits.
void keep_more(const Chain& chain, Bytes capacity, std::vector<GroupChoice>& choices) {
  const Seconds time = cost_of(chain, choices).time;
  const auto simplify = [&](std::size_t group) {
    for (const GroupChoice simpler : enum_values<GroupChoice>) {
      if (simpler >= choices[group]) return false;
      if (!is_possible(chain, chain.groups[group], simpler)) continue;
      const GroupChoice chosen = std::exchange(choices[group], simpler);
      const ChainCost cost = cost_of(chain, choices);
      if (cost.time <= time && cost.peak <= capacity) return true;
      choices[group] = chosen;
    }
    return false;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t group = 0; group < choices.size(); ++group) again |= simplify(group);
  }
}

std::vector<GroupChoice> least_memory(const Chain& chain) {
  std::vector<GroupChoice> best;
  double least = std::numeric_limits<double>::infinity();
  for (const GroupChoice choice : enum_values<GroupChoice>) {
    std::vector<GroupChoice> choices;
    for (const ChainGroup& group : chain.groups)
      choices.push_back(is_possible(chain, group, choice) ? choice : GroupChoice::keep);
    const double peak = cost_of(chain, choices).peak.value();
    if (peak >= least) continue;
    least = peak;
    best = std::move(choices);
  }
  return best;
}

}  // namespace

Bytes ChainGroup::moved(GroupChoice choice) const {
  if (choice == GroupChoice::swap) return kept;
  return choice == GroupChoice::both ? input + extra_input : Bytes{};
}

Bytes ChainGroup::absent(GroupChoice choice, bool next_runs) const {
  const Bytes dropped = kept - input - extra_input;
  switch (choice) {
    case GroupChoice::keep:
      return {};
    case GroupChoice::swap:
      return next_runs ? Bytes{} : kept;
    case GroupChoice::recompute:
      return dropped;
    case GroupChoice::both:
      return next_runs ? dropped : kept;
  }
  return {};
}

ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices) {
  const std::size_t count = chain.groups.size();
  ChainCost cost;
  double peak = chain.elsewhere.value(), gone = 0, gone_next = 0;
  double clock = 0, left = never, left_before = never, computing = 0;
  std::vector<double> left_at(count, never);
  for (std::size_t i = 0; i < count; ++i) {
    const ChainGroup& group = chain.groups[i];
    const GroupChoice choice = choices[i];
    peak = std::max(peak, peak_of(group, choice, gone_next));
    gone_next = gone + group.absent(choice, true).value();
    gone += group.absent(choice, false).value();
    clock = std::max(clock, left_before) + group.forward.value();
    computing += group.forward.value();
    left_before = left;
    if (!moves(choice)) continue;
    left = left_at[i] = std::max(clock, left) + copy_time(chain, group, choice);
    cost.on_host += group.moved(choice);
  }
  double start = clock, back = clock;
  for (std::size_t i = count; i-- > 0;) {
    const ChainGroup& group = chain.groups[i];
    const GroupChoice choice = choices[i];
    double next = clock;
    if (moves(choice)) {
      back = std::max({start, back, left_at[i]}) + copy_time(chain, group, choice);
      next = std::max(next, back);
    }
    const double again = computes_again(choice) ? group.forward.value() : 0.0;
    start = next;
    clock = next + group.backward.value() + again;
    cost.again += Seconds(again);
    computing += group.backward.value() + again;
  }
  cost.time = Seconds(clock);
  // Two sums of the same numbers in different orders differ by rounding.
  constexpr double rounding = 1e-12;
  cost.waits = Seconds(clock - computing > rounding * clock ? clock - computing : 0.0);
  cost.peak = Bytes(peak);
  return cost;
}

std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity) {
  if (chain.elsewhere > capacity) return least_memory(chain);
  std::vector<std::vector<Label>> labels{{Label{}}};
  for (const ChainGroup& group : chain.groups) {
    std::vector<Label> next;
    for (std::size_t i = 0; i < labels.back().size(); ++i) {
      const Label& label = labels.back()[i];
      for (const GroupChoice choice : enum_values<GroupChoice>) {
        if (!is_possible(chain, group, choice) || peak_of(group, choice, label.gone_next) > capacity.value()) continue;
        next.push_back(with(chain, label, static_cast<int>(i), group, choice));
      }
    }
    if (next.empty()) return least_memory(chain);
    thin(next);
    labels.push_back(std::move(next));
  }
  // The labels are sorted by time, so the first one that fits is the fastest.
  std::vector<GroupChoice> choices(chain.groups.size());
  int place = 0;
  for (std::size_t i = choices.size(); i-- > 0;) {
    const Label& label = labels[i + 1][static_cast<std::size_t>(place)];
    choices[i] = label.choice;
    place = label.before;
  }
  keep_more(chain, capacity, choices);
  return choices;
}

}  // namespace ddl
