#include "calibration/network/sweep/transports/mpi/exchanges.hpp"

#include <limits>

#include <fmt/format.h>

#include "calibration/network/sweep/transports/mpi/checked.hpp"
#include "core/error.hpp"

namespace ddl::mpi {
namespace {

constexpr int tag = 7;

int count_of(std::int64_t bytes, std::int64_t unit) {
  const std::int64_t count = bytes / unit;
  if (count > std::numeric_limits<int>::max()) {
    throw Error(fmt::format("MPI cannot count a message of {} bytes", bytes), "use a smaller --largest");
  }
  return static_cast<int>(count);
}

template <class Exchange>
double time_collective(MPI_Comm group, int repetitions, const Exchange& exchange) {
  double spent = 0;
  for (int i = 0; i < repetitions; ++i) {
    check(MPI_Barrier(group), "a barrier");
    const double start = MPI_Wtime();
    check(exchange(), "a collective");
    spent += MPI_Wtime() - start;
  }
  return spent / repetitions;
}

/// Whether this is the first of two ranks.
bool is_first(MPI_Comm pair) {
  int rank = 0;
  check(MPI_Comm_rank(pair, &rank), "the rank");
  return rank == 0;
}

double time_latency(int bytes, int repetitions, MPI_Comm pair, Buffers& buffers) {
  const bool first = is_first(pair);
  check(MPI_Barrier(pair), "a barrier");
  const double start = MPI_Wtime();
  for (int i = 0; i < repetitions; ++i) {
    if (first) check(MPI_Send(buffers.sent(), bytes, MPI_CHAR, 1, tag, pair), "a message");
    check(MPI_Recv(buffers.received(), bytes, MPI_CHAR, first ? 1 : 0, tag, pair, MPI_STATUS_IGNORE), "a message");
    if (!first) check(MPI_Send(buffers.sent(), bytes, MPI_CHAR, 0, tag, pair), "a message");
  }
  return (MPI_Wtime() - start) / (2.0 * repetitions);
}

double time_bandwidth(int bytes, int window, bool both_ways, int repetitions, MPI_Comm pair, Buffers& buffers) {
  const bool first = is_first(pair);
  const int other = first ? 1 : 0;
  std::vector<MPI_Request> requests;
  check(MPI_Barrier(pair), "a barrier");
  const double start = MPI_Wtime();
  for (int i = 0; i < repetitions; ++i) {
    requests.clear();
    const auto add = [&]() -> MPI_Request* { return &requests.emplace_back(MPI_REQUEST_NULL); };
    for (int k = 0; k < window && (both_ways || !first); ++k) {
      check(MPI_Irecv(buffers.received(), bytes, MPI_CHAR, other, tag, pair, add()), "a message");
    }
    for (int k = 0; k < window && (both_ways || first); ++k) {
      check(MPI_Isend(buffers.sent(), bytes, MPI_CHAR, other, tag, pair, add()), "a message");
    }
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "a window of messages");
    char word = 0;
    if (first) {
      check(MPI_Recv(&word, 1, MPI_CHAR, other, tag + 1, pair, MPI_STATUS_IGNORE), "the reply to a window of messages");
    } else {
      check(MPI_Send(&word, 1, MPI_CHAR, other, tag + 1, pair), "the reply to a window of messages");
    }
  }
  return (MPI_Wtime() - start) / (static_cast<double>(repetitions) * window);
}

}  // namespace

void Buffers::resize(std::size_t sent, std::size_t received) {
  const auto floats = [](std::size_t bytes) { return bytes / sizeof(float) + 1; };
  if (sent_.size() < floats(sent)) sent_.resize(floats(sent), 1.0F);
  if (received_.size() < floats(received)) received_.resize(floats(received), 0.0F);
}

double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions, MPI_Comm group,
                    Buffers& buffers) {
  int ranks = 1;
  check(MPI_Comm_size(group, &ranks), "the number of ranks");
  const std::int64_t whole = bytes * ranks;
  const bool gathers = operation == SweepOperation::allgather || operation == SweepOperation::all_to_all;
  buffers.resize(static_cast<std::size_t>(operation == SweepOperation::all_to_all ? whole : bytes),
                 static_cast<std::size_t>(gathers ? whole : bytes));
  void* const sent = buffers.sent();
  void* const received = buffers.received();
  switch (operation) {
    case SweepOperation::latency:
      return time_latency(count_of(bytes, 1), repetitions, group, buffers);
    case SweepOperation::bandwidth:
    case SweepOperation::two_way_bandwidth:
      return time_bandwidth(count_of(bytes, 1), window, operation == SweepOperation::two_way_bandwidth, repetitions, group,
                            buffers);
    case SweepOperation::allreduce: {
      const int count = count_of(bytes, sizeof(float));
      return time_collective(group, repetitions,
                             [&] { return MPI_Allreduce(sent, received, count, MPI_FLOAT, MPI_SUM, group); });
    }
    case SweepOperation::allgather: {
      const int count = count_of(bytes, 1);
      return time_collective(group, repetitions,
                             [&] { return MPI_Allgather(sent, count, MPI_CHAR, received, count, MPI_CHAR, group); });
    }
    case SweepOperation::reduce_scatter: {
      const std::vector<int> counts(static_cast<std::size_t>(ranks), count_of(bytes / ranks, sizeof(float)));
      return time_collective(group, repetitions,
                             [&] { return MPI_Reduce_scatter(sent, received, counts.data(), MPI_FLOAT, MPI_SUM, group); });
    }
    case SweepOperation::broadcast: {
      const int count = count_of(bytes, 1);
      return time_collective(group, repetitions, [&] { return MPI_Bcast(sent, count, MPI_CHAR, 0, group); });
    }
    case SweepOperation::all_to_all: {
      const int count = count_of(bytes, 1);
      return time_collective(group, repetitions,
                             [&] { return MPI_Alltoall(sent, count, MPI_CHAR, received, count, MPI_CHAR, group); });
    }
  }
  return 0;
}

}  // namespace ddl::mpi
