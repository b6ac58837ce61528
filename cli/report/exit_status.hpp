#pragma once

namespace ddl {

/// The exit status of the program. 2 always means "could not answer". An interrupted command
/// reports a partial result, and returns the status that shells use for Ctrl-C.
enum class ExitStatus : int {
  ok = 0,
  nothing_fits = 1,
  beyond_tolerance = 1,
  incomplete = 1,  ///< the report was written; it lists measurements that are still needed
  could_not_answer = 2,
  at_risk = 3,
  interrupted = 130
};

}  // namespace ddl
