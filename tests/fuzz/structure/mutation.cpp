#include "tests/fuzz/structure/mutation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace ddl {
namespace {

/// Values at the limits of ranges, and words that some language does not treat as text.
constexpr std::array values{"0",     "1",         "-1",       "2",          "1024",
                            "0.5",   "1e-9",      "5e-324",   "1.7e308",    "1e400",
                            "nan",   "inf",       "-0",       "2147483648", "9007199254740993",
                            "yes",   "null",      "~",        "\"\"",       "18446744073709551615",
                            "100 %", "80 GiB",    "900 GB/s", "1e-18 s",    "1 ZB",
                            "a+b",   "same",      "$n",       "[]",         "{}",
                            "-",     "2026-02-30"};

std::size_t below(std::size_t count, MutationRandom& random) { return random() % count; }

void collect(Piece& piece, std::vector<Piece*>& all) {
  all.push_back(&piece);
  for (Piece& inner : piece.pieces) collect(inner, all);
}

std::vector<Piece*> all_of(Piece& whole) {
  std::vector<Piece*> all;
  collect(whole, all);
  return all;
}

/// Returns a random piece for which `fits` is true; empty if there is none.
template <class Fits>
Piece* any_of(Piece& whole, MutationRandom& random, const Fits& fits) {
  std::vector<Piece*> found = all_of(whole);
  std::erase_if(found, [&](const Piece* piece) { return !fits(*piece); });
  return found.empty() ? nullptr : found[below(found.size(), random)];
}

Piece* any_leaf(Piece& whole, MutationRandom& random) {
  return any_of(whole, random, [](const Piece& piece) { return piece.pieces.empty(); });
}

void remove(std::vector<Piece>& pieces, std::size_t at) { pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at)); }

void insert(std::vector<Piece>& pieces, std::size_t at, Piece piece) {
  pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), std::move(piece));
}

/// Removes, doubles, moves or swaps the piece at `at`. `to`: the other position.
void rearrange(std::vector<Piece>& pieces, std::size_t at, std::size_t to, std::size_t how) {
  if (at >= pieces.size()) return;
  to = std::min(to, pieces.size() - 1);
  Piece moved;
  switch (how) {
    case 0:
      return remove(pieces, at);
    case 1:
      moved = pieces[at];
      return insert(pieces, to, std::move(moved));
    case 2:
      moved = std::move(pieces[at]);
      remove(pieces, at);
      return insert(pieces, to, std::move(moved));
    default:
      if (at != to) std::swap(pieces[at], pieces[to]);
  }
}

/// Increments, decrements, doubles or negates a whole number. Any other text is unchanged.
void change_number(std::string& value, MutationRandom& random) {
  const std::size_t first = value.find_first_of("0123456789");
  if (first == std::string::npos) return;
  std::int64_t number = 0;
  const auto read = std::from_chars(value.data() + first, value.data() + value.size(), number);
  constexpr std::int64_t most = 100'000'000'000'000'000;
  if (read.ec != std::errc() || number > most) return;
  const std::array<std::int64_t, 6> others{number + 1, number - 1, 2 * number, number / 2, -number, 10 * number};
  value.replace(first, static_cast<std::size_t>(read.ptr - value.data()) - first,
                std::to_string(others[below(others.size(), random)]));
}

/// Replaces the value of a piece by that of another piece. The key stays.
void replace(Piece& place, Piece by) {
  by.head = place.head;
  place = std::move(by);
}

}  // namespace

void mutate(Piece& whole, MutationRandom& random, const ChangeBytes& change_bytes) {
  const auto has_pieces = [](const Piece& piece) { return !piece.pieces.empty(); };
  switch (below(8, random)) {
    case 0:
    case 1:
      if (Piece* const group = any_of(whole, random, has_pieces)) {
        const std::size_t count = group->pieces.size();
        rearrange(group->pieces, below(count, random), below(count, random), below(4, random));
      }
      return;
    case 2:  // makes the same change to all neighbors, as in a column
      if (Piece* const group = any_of(whole, random, [&](const Piece& piece) {
            return piece.pieces.size() > 1 && std::any_of(piece.pieces.begin(), piece.pieces.end(), has_pieces);
          })) {
        const Piece& model = *std::find_if(group->pieces.begin(), group->pieces.end(), has_pieces);
        const std::size_t at = below(model.pieces.size(), random), to = below(model.pieces.size(), random);
        const std::size_t how = below(4, random);
        for (Piece& each : group->pieces) rearrange(each.pieces, at, to, how);
      }
      return;
    case 3:  // neither piece may contain the other
      if (Piece* const place = any_of(whole, random, [&](const Piece& piece) { return &piece != &whole; })) {
        const std::vector<Piece*> all = all_of(whole);
        Piece copy = *all[below(all.size(), random)];
        if (all.front()->pieces.size() != copy.pieces.size() || copy.kind != whole.kind) replace(*place, std::move(copy));
      }
      return;
    case 4: {
      Piece* const first = any_of(whole, random, [](const Piece& piece) { return !piece.head.empty(); });
      Piece* const second = any_of(whole, random, [](const Piece& piece) { return !piece.head.empty(); });
      if (first != nullptr && second != nullptr) first->head = std::string(second->head);
      return;
    }
    case 5:
      if (Piece* const leaf = any_leaf(whole, random)) leaf->value = values[below(values.size(), random)];
      return;
    case 6:
      if (Piece* const leaf = any_of(whole, random, [](const Piece& piece) {
            return piece.pieces.empty() && piece.value.find_first_of("0123456789") != std::string::npos;
          })) {
        change_number(leaf->value, random);
      }
      return;
    default:
      if (Piece* const leaf = any_leaf(whole, random)) change_bytes(leaf->value);
  }
}

void cross(Piece& whole, const Piece& other, MutationRandom& random) {
  Piece from = other;
  const std::vector<Piece*> taken = all_of(from);
  Piece* const place = any_of(whole, random, [&](const Piece& piece) { return &piece != &whole; });
  if (place == nullptr || taken.size() < 2) return;
  const Piece& by = *taken[1 + below(taken.size() - 1, random)];
  if (random() % 2 == 0) {
    replace(*place, by);
  } else {
    *place = by;
  }
}

}  // namespace ddl
