#include "cli/interrupt.hpp"

#include <csignal>

namespace ddl {
namespace {

volatile std::sig_atomic_t signals = 0;
int living = 0;

extern "C" void note_signal(int signal) {
  signals = signals + 1;
  // The default, from now on: the program may be in a kernel that takes minutes.
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  if (living++ > 0) return;
  signals = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

Interrupt::~Interrupt() {
  if (--living > 0) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::asked() { return signals > 0; }

}  // namespace ddl
