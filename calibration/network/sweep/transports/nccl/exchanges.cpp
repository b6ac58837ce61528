#include "calibration/network/sweep/transports/nccl/exchanges.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "calibration/network/sweep/transports/nccl/checked.hpp"
#include "core/error.hpp"

namespace ddl::nccl {
namespace {

void grow(char*& memory, std::size_t& have, std::size_t want, cudaStream_t stream) {
  if (have >= want) return;
  if (memory != nullptr) check(cudaFree(memory), "freeing memory");
  memory = nullptr;
  have = 0;
  void* fresh = nullptr;
  check(cudaMalloc(&fresh, want), "allocating memory for messages");
  memory = static_cast<char*>(fresh);
  have = want;
  // The fill runs in the stream of the exchanges, because this stream does not synchronize with the default stream.
  check(cudaMemsetAsync(memory, 0, want, stream), "clearing memory");
}

/// Waits until the queued work is done, by polling. cudaStreamSynchronize would wait forever for a missing rank.
void wait_for_stream(const Group& group, const char* what) {
  cudaError_t status = cudaSuccess;
  while ((status = cudaStreamQuery(group.stream)) == cudaErrorNotReady) {
    if (*group.is_given_up) throw Error(std::string(what) + " was aborted");
    std::this_thread::yield();
  }
  check(status, what);
  static_cast<void>(cudaGetLastError());  // clears the status "not ready"
}

void check_in(const Group& group, ncclResult_t status, const char* what) { check(status, what, group.communicator); }

void send(const Group& group, const char* data, std::size_t bytes, int to) {
  check_in(group, ncclSend(data, bytes, ncclChar, to, group.communicator, group.stream), "a message");
}
void receive(const Group& group, char* data, std::size_t bytes, int from) {
  check_in(group, ncclRecv(data, bytes, ncclChar, from, group.communicator, group.stream), "a message");
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
  check_in(pair, ncclGroupEnd(), "a window of messages");
  if (pair.rank == 0) {
    receive(pair, buffers.received(), 1, other);
  } else {
    send(pair, buffers.sent(), 1, other);
  }
}

void all_to_all(const Group& group, std::size_t part, const Buffers& buffers) {
  check(ncclGroupStart(), "an all-to-all");
  for (int rank = 0; rank < group.ranks; ++rank) {
    const std::size_t at = static_cast<std::size_t>(rank) * part;
    send(group, buffers.sent() + at, part, rank);
    receive(group, buffers.received() + at, part, rank);
  }
  check_in(group, ncclGroupEnd(), "an all-to-all");
}

void exchange(SweepOperation operation, std::size_t bytes, int window, const Group& group, const Buffers& buffers) {
  char* const sent = buffers.sent();
  char* const received = buffers.received();
  const char* const given = group.in_place ? received : sent;
  const auto rank = static_cast<std::size_t>(group.rank);
  switch (operation) {
    case SweepOperation::latency:
      return round_trip(group, bytes, buffers);
    case SweepOperation::bandwidth:
    case SweepOperation::two_way_bandwidth:
      return window_of_messages(group, bytes, window, operation == SweepOperation::two_way_bandwidth, buffers);
    case SweepOperation::allreduce:
      return check_in(
          group, ncclAllReduce(given, received, bytes / sizeof(float), ncclFloat, ncclSum, group.communicator, group.stream),
          "an Allreduce");
    case SweepOperation::allgather:
      return check_in(group,
                      ncclAllGather(group.in_place ? received + rank * bytes : sent, received, bytes, ncclChar,
                                    group.communicator, group.stream),
                      "an Allgather");
    case SweepOperation::reduce_scatter: {
      const std::size_t part = bytes / sizeof(float) / static_cast<std::size_t>(group.ranks);
      return check_in(group,
                      ncclReduceScatter(sent, group.in_place ? sent + rank * part * sizeof(float) : received, part,
                                        ncclFloat, ncclSum, group.communicator, group.stream),
                      "a Reduce-scatter");
    }
    case SweepOperation::broadcast:
      return check_in(group, ncclBroadcast(given, received, bytes, ncclChar, 0, group.communicator, group.stream),
                      "a broadcast");
    case SweepOperation::all_to_all:
      return all_to_all(group, bytes, buffers);
  }
}

}  // namespace

Buffers::~Buffers() {
  static_cast<void>(cudaFree(sent_));
  static_cast<void>(cudaFree(received_));
}

void Buffers::resize(std::size_t sent, std::size_t received, cudaStream_t stream) {
  grow(sent_, sent_bytes_, sent, stream);
  grow(received_, received_bytes_, received, stream);
}

void Buffers::forget() {
  sent_ = received_ = nullptr;
  sent_bytes_ = received_bytes_ = 0;
}

double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions, const Group& group,
                    Buffers& buffers) {
  const auto one = static_cast<std::size_t>(bytes);
  const std::size_t whole = one * static_cast<std::size_t>(group.ranks);
  const bool gathers = operation == SweepOperation::allgather || operation == SweepOperation::all_to_all;
  constexpr std::size_t word = sizeof(float);  // bytes of the allreduce that serves as a barrier
  buffers.resize(std::max(operation == SweepOperation::all_to_all ? whole : one, word),
                 std::max(gathers ? whole : one, word), group.stream);
  // The barrier excludes the late start of another rank from the time.
  check_in(group, ncclAllReduce(buffers.sent(), buffers.received(), 1, ncclFloat, ncclSum, group.communicator, group.stream),
           "a barrier");
  wait_for_stream(group, "a barrier");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) exchange(operation, one, window, group, buffers);
  wait_for_stream(group, "an exchange");
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  double exchanges = repetitions;
  if (operation == SweepOperation::latency) exchanges *= 2;
  if (operation == SweepOperation::bandwidth || operation == SweepOperation::two_way_bandwidth) exchanges *= window;
  return spent.count() / exchanges;
}

}  // namespace ddl::nccl
