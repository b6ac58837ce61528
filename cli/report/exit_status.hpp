#pragma once

namespace ddl {

/// What the program returns. 2 is always "could not answer"; what is interrupted and reports what it knows returns what
/// shells say of a program that Ctrl-C ended.
enum class ExitStatus : int {
  ok = 0,
  nothing_fits = 1,
  beyond_tolerance = 1,
  incomplete = 1,  ///< written, and what else to measure is said
  could_not_answer = 2,
  at_risk = 3,
  interrupted = 130
};

}  // namespace ddl
