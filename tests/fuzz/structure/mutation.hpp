#pragma once

#include <functional>
#include <random>
#include <string>

#include "tests/fuzz/structure/language.hpp"

namespace ddl {

using MutationRandom = std::minstd_rand;
/// A function that changes the bytes of a value.
using ChangeBytes = std::function<void(std::string&)>;

/// Changes one part of a text: removes, doubles, moves or copies a piece, gives a piece another key
/// or value, or does so for a whole column.
void mutate(Piece& whole, MutationRandom& random, const ChangeBytes& change_bytes);

/// Replaces a piece by a piece of another text.
void cross(Piece& whole, const Piece& other, MutationRandom& random);

}  // namespace ddl
