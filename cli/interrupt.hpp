#pragma once

namespace ddl {

/// While one of these lives, Ctrl-C and SIGTERM ask the command to end with what it has; the second ends it at once. One may
/// live within another: what is asked of either is asked of both.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] static bool asked();
};

}  // namespace ddl
