#pragma once

#include <functional>
#include <random>
#include <string>

#include "tests/fuzz/structure/language.hpp"

namespace ddl {

using MutationRandom = std::minstd_rand;
/// Changes the bytes of a value.
using ChangeBytes = std::function<void(std::string&)>;

/// Changes one thing of what a text says: removes, doubles, moves or copies a piece, gives it another key or value, or does
/// so to a whole column.
void mutate(Piece& whole, MutationRandom& random, const ChangeBytes& change_bytes);

/// Puts a piece of another text in the place of one.
void cross(Piece& whole, const Piece& other, MutationRandom& random);

}  // namespace ddl
