#include "calibration/sweep/transports/nccl/exchanges.hpp"

#include <algorithm>
#include <chrono>

#include "calibration/sweep/transports/nccl/checked.hpp"

namespace ddl::nccl {
namespace {

void grow(char*& memory, std::size_t& have, std::size_t want) {
  if (have >= want) return;
  if (memory != nullptr) check(cudaFree(memory), "giving memory back");
  memory = nullptr;
  have = 0;
  void* fresh = nullptr;
  check(cudaMalloc(&fresh, want), "memory for messages");
  memory = static_cast<char*>(fresh);
  have = want;
  check(cudaMemset(memory, 0, want), "clearing memory");
}

void send(const Group& group, const char* data, std::size_t bytes, int to) {
  check(ncclSend(data, bytes, ncclChar, to, group.communicator, group.stream), "a message");
}
void receive(const Group& group, char* data, std::size_t bytes, int from) {
  check(ncclRecv(data, bytes, ncclChar, from, group.communicator, group.stream), "a message");
}

void round_trip(const Group& pair, std::size_t bytes, const Buffers& buffers) {
  if (pair.rank == 0) send(pair, buffers.sent(), bytes, 1);
  receive(pair, buffers.received(), bytes, 1 - pair.rank);
  if (pair.rank == 1) send(pair, buffers.sent(), bytes, 0);
}

void window_of_messages(const Group& pair, std::size_t bytes, int window, bool both_ways, const Buffers& buffers) {
  const int other = 1 - pair.rank;
  check(ncclGroupStart(), "a window of messages");
  for (int k = 0; k < window; ++k) {
    if (both_ways || pair.rank == 0) send(pair, buffers.sent(), bytes, other);
    if (both_ways || pair.rank == 1) receive(pair, buffers.received(), bytes, other);
  }
  check(ncclGroupEnd(), "a window of messages");
  if (pair.rank == 0) {
    receive(pair, buffers.received(), 1, other);
  } else {
    send(pair, buffers.sent(), 1, other);
  }
}

void all_to_all(const Group& group, std::size_t part, const Buffers& buffers) {
  check(ncclGroupStart(), "an exchange of all with all");
  for (int rank = 0; rank < group.ranks; ++rank) {
    const std::size_t at = static_cast<std::size_t>(rank) * part;
    send(group, buffers.sent() + at, part, rank);
    receive(group, buffers.received() + at, part, rank);
  }
  check(ncclGroupEnd(), "an exchange of all with all");
}

void exchange(SweepOperation operation, std::size_t bytes, int window, const Group& group, const Buffers& buffers) {
  const char* const sent = buffers.sent();
  char* const received = buffers.received();
  switch (operation) {
    case SweepOperation::latency:
      return round_trip(group, bytes, buffers);
    case SweepOperation::bandwidth:
    case SweepOperation::two_way_bandwidth:
      return window_of_messages(group, bytes, window, operation == SweepOperation::two_way_bandwidth, buffers);
    case SweepOperation::allreduce:
      return check(
          ncclAllReduce(sent, received, bytes / sizeof(float), ncclFloat, ncclSum, group.communicator, group.stream),
          "an Allreduce");
    case SweepOperation::allgather:
      return check(ncclAllGather(sent, received, bytes, ncclChar, group.communicator, group.stream), "an Allgather");
    case SweepOperation::reduce_scatter:
      return check(ncclReduceScatter(sent, received, bytes / sizeof(float) / static_cast<std::size_t>(group.ranks),
                                     ncclFloat, ncclSum, group.communicator, group.stream),
                   "a Reduce-scatter");
    case SweepOperation::broadcast:
      return check(ncclBroadcast(sent, received, bytes, ncclChar, 0, group.communicator, group.stream), "a broadcast");
    case SweepOperation::all_to_all:
      return all_to_all(group, bytes, buffers);
  }
}

}  // namespace

Buffers::~Buffers() {
  static_cast<void>(cudaFree(sent_));
  static_cast<void>(cudaFree(received_));
}

void Buffers::resize(std::size_t sent, std::size_t received) {
  grow(sent_, sent_bytes_, sent);
  grow(received_, received_bytes_, received);
}

double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions, const Group& group,
                    Buffers& buffers) {
  const auto one = static_cast<std::size_t>(bytes);
  const std::size_t whole = one * static_cast<std::size_t>(group.ranks);
  const bool gathers = operation == SweepOperation::allgather || operation == SweepOperation::all_to_all;
  constexpr std::size_t word = sizeof(float);  // of the barrier
  buffers.resize(std::max(operation == SweepOperation::all_to_all ? whole : one, word),
                 std::max(gathers ? whole : one, word));
  // A barrier, so that nobody waits for another rank's start.
  check(ncclAllReduce(buffers.sent(), buffers.received(), 1, ncclFloat, ncclSum, group.communicator, group.stream),
        "a barrier");
  check(cudaStreamSynchronize(group.stream), "a barrier");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) exchange(operation, one, window, group, buffers);
  check(cudaStreamSynchronize(group.stream), "an exchange");
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  double exchanges = repetitions;
  if (operation == SweepOperation::latency) exchanges *= 2;
  if (operation == SweepOperation::bandwidth || operation == SweepOperation::two_way_bandwidth) exchanges *= window;
  return spent.count() / exchanges;
}

}  // namespace ddl::nccl
