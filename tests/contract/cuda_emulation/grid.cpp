#include "tests/contract/cuda_emulation/grid.hpp"

#include <array>
#include <csetjmp>
#include <cstddef>
#include <memory>
#include <vector>

#include <ucontext.h>

#include "tests/contract/cuda_emulation/device.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace ddl::emulation {
namespace {

constexpr unsigned warp_size = 32;
constexpr std::size_t stack_bytes = 128U << 10U;

/// A barrier at which threads wait for each other. The barrier does not wait for threads that have ended.
struct Barrier {
  unsigned alive = 0, arrived = 0, generation = 0;
  void open_if_all() {
    if (arrived < alive || alive == 0) return;
    arrived = 0;
    ++generation;
  }
};

/// A position on a stack at which execution continues. swapcontext also saves the signal mask, with a system call at every
/// switch. Once a stack is in use, _setjmp and _longjmp are ten times as fast.
struct Place {
  jmp_buf registers;
};

struct Thread {
  Place place{};
  std::unique_ptr<char[]> stack;
  uint3 index{};
  bool ended = false;
};

struct Block {
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Barrier> warps;
  std::vector<std::array<float, warp_size>> words;
  Barrier all;
  Place scheduler{};
  std::size_t current = 0;
  const std::function<void()>* body = nullptr;
};
Block running;

void switch_to(Place& from, Place& to) {
  if (_setjmp(from.registers) == 0) _longjmp(to.registers, 1);
}

void take_turn() { switch_to(running.threads[running.current]->place, running.scheduler); }

void wait(Barrier& barrier) {
  const unsigned generation = barrier.generation;
  ++barrier.arrived;
  barrier.open_if_all();
  while (barrier.generation == generation) take_turn();
}

/// Runs one block after the other.
void enter() {
  while (true) {
    take_turn();
    (*running.body)();
    running.threads[running.current]->ended = true;
    for (Barrier* barrier : {&running.all, &running.warps[running.current / warp_size]}) {
      --barrier->alive;
      barrier->open_if_all();
    }
  }
}

/// Adds a thread that waits for its first block.
void add_thread() {
  running.current = running.threads.size();
  Thread& thread = *running.threads.emplace_back(std::make_unique<Thread>());
  thread.stack = std::make_unique<char[]>(stack_bytes);
  ucontext_t context{};
  getcontext(&context);
  context.uc_stack.ss_sp = thread.stack.get();
  context.uc_stack.ss_size = stack_bytes;
  makecontext(&context, enter, 0);
  if (_setjmp(running.scheduler.registers) == 0) setcontext(&context);
}

long long cycles = 0;

void run_block(unsigned count) {
  running.warps.assign((count + warp_size - 1) / warp_size, {});
  running.words.assign(running.warps.size(), {});
  running.all = {.alive = count};
  while (running.threads.size() < count) add_thread();
  for (unsigned i = 0; i < count; ++i) {
    ++running.warps[i / warp_size].alive;
    Thread& thread = *running.threads[i];
    thread.ended = false;
    thread.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
  }
  for (bool any = true; any;) {
    any = false;
    for (running.current = 0; running.current < count; ++running.current) {
      Thread& thread = *running.threads[running.current];
      if (thread.ended) continue;
      any = true;
      threadIdx = thread.index;
      switch_to(running.scheduler, thread.place);
    }
  }
}

}  // namespace

void wait_for_block() { wait(running.all); }
void wait_for_warp() { wait(running.warps[running.current / warp_size]); }
float* warp_words() { return running.words[running.current / warp_size].data(); }
unsigned lane() { return static_cast<unsigned>(running.current % warp_size); }

long long next_cycle() {
  constexpr long long step = 1000;
  return cycles += step;
}

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  const long long before = cycles;
  gridDim = grid;
  blockDim = block;
  running.body = &thread;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(block.x * block.y * block.z);
      }
    }
  }
  if (cycles == before) {
    launched();
  } else {
    launched(static_cast<double>(cycles - before) * 1e-9);
  }
}

}  // namespace ddl::emulation
