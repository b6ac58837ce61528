// Emulates NCCL without a network. Each process runs its exchanges alone, and receives zeros in
// place of the data of other processes.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <nccl.h>

#include "tests/contract/nccl_emulation/emulation.hpp"
#include "tests/contract/nccl_emulation/streams.hpp"

struct ncclComm {
  int ranks = 1, rank = 0;
  std::atomic<bool> is_aborted = false;
  std::atomic<ncclResult_t> asynchronous = ncclSuccess;
};

namespace ddl::emulated {
namespace {

constexpr std::string_view id_mark = "emulated";

Script script_of_environment() {
  Script script;
  const char* const text = std::getenv("DDL_EMULATED_NCCL");
  if (text == nullptr) return script;
  const std::string_view said(text);
  const std::size_t sign = said.find('=');
  int number = 0;
  std::from_chars(said.data() + std::min(sign + 1, said.size()), said.data() + said.size(), number);
  const std::string_view key = said.substr(0, sign);
  if (key == "stall_at") script.stall_at = number;
  if (key == "error_at") script.error_at = number;
  if (key == "devices") script.devices = number;
  return script;
}

bool is_cleared(const char* data, std::size_t bytes) {
  return std::all_of(data, data + bytes, [](char byte) { return byte == 0; });
}

ncclResult_t exchange(const char* name, const void* given, std::size_t given_bytes, void* result, std::size_t result_bytes,
                      const void* place_in_place, ncclComm_t communicator, cudaStream_t stream) {
  const std::lock_guard lock(guard());
  const auto* const from = static_cast<const char*>(given);
  auto* const to = static_cast<char*>(result);
  const bool in_place = place_in_place != nullptr && (given_bytes < result_bytes   ? given == place_in_place
                                                      : given_bytes > result_bytes ? result == place_in_place
                                                                                   : given == result);
  seen().exchanges.push_back({name, std::max(given_bytes, result_bytes), in_place});
  const auto number = static_cast<int>(seen().exchanges.size());
  const bool overlaps = from != nullptr && to != nullptr && from < to + result_bytes && to < from + given_bytes;
  if ((from != nullptr && !is_allocated(from, given_bytes)) || (to != nullptr && !is_allocated(to, result_bytes)) ||
      (overlaps && !in_place)) {
    ++seen().out_of_bounds;
    return ncclInvalidArgument;
  }
  const bool stalls = number == script().stall_at || number == script().error_at;
  const bool fails = number == script().error_at;
  enqueue(stream, [=] {
    if (communicator->is_aborted) return true;
    if (fails) communicator->asynchronous = ncclRemoteError;
    if (stalls) return false;
    if (from != nullptr && !is_cleared(from, given_bytes)) ++seen().garbage;
    if (to != nullptr) std::memset(to, 0, result_bytes);
    return true;
  });
  return ncclSuccess;
}

}  // namespace

Script& script() {
  static Script now = script_of_environment();
  return now;
}
Seen& seen() {
  static Seen all;
  return all;
}
void reset() {
  const std::lock_guard lock(guard());
  script() = {};
  seen() = {};
}

}  // namespace ddl::emulated

using namespace ddl::emulated;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  std::copy(id_mark.begin(), id_mark.end(), id->internal);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  if (std::string_view(id.internal, id_mark.size()) != id_mark) return ncclInvalidArgument;
  const auto hangs = [] {
    const std::lock_guard lock(guard());
    return script().joining_hangs;
  };
  while (hangs()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(guard());
  ++seen().joined;
  auto* const fresh = new ncclComm();
  fresh->ranks = ranks;
  fresh->rank = rank;
  *communicator = fresh;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->is_aborted = true;
  const auto hangs = [] {
    const std::lock_guard lock(guard());
    return script().abort_hangs;
  };
  while (hangs()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(guard());
  ++seen().aborted;
  return ncclSuccess;  // the communicator is not deleted, because queued work still uses it
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  const std::lock_guard lock(guard());
  ++seen().destroyed;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* status) {
  *status = communicator->asynchronous;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t status) {
  return status == ncclRemoteError ? "remote process exited or there was a network error" : "emulated error";
}
const char* ncclGetLastError(ncclComm_t) { return "socket closed by the emulated peer"; }

ncclResult_t ncclAllReduce(const void* given, void* result, size_t count, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t bytes = count * sizeof(float);
  return exchange("allreduce", given, bytes, result, bytes, given, communicator, stream);
}
ncclResult_t ncclAllGather(const void* given, void* result, size_t bytes, ncclDataType_t, ncclComm_t communicator,
                           cudaStream_t stream) {
  const char* const place = static_cast<char*>(result) + static_cast<std::size_t>(communicator->rank) * bytes;
  return exchange("allgather", given, bytes, result, bytes * static_cast<std::size_t>(communicator->ranks), place,
                  communicator, stream);
}
ncclResult_t ncclReduceScatter(const void* given, void* result, size_t count, ncclDataType_t, ncclRedOp_t,
                               ncclComm_t communicator, cudaStream_t stream) {
  const std::size_t bytes = count * sizeof(float);
  const char* const place = static_cast<const char*>(given) + static_cast<std::size_t>(communicator->rank) * bytes;
  return exchange("reduce_scatter", given, bytes * static_cast<std::size_t>(communicator->ranks), result, bytes, place,
                  communicator, stream);
}
ncclResult_t ncclBroadcast(const void* given, void* result, size_t bytes, ncclDataType_t, int, ncclComm_t communicator,
                           cudaStream_t stream) {
  return exchange("broadcast", given, bytes, result, bytes, given, communicator, stream);
}
ncclResult_t ncclSend(const void* data, size_t bytes, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
  return exchange("send", data, bytes, nullptr, 0, nullptr, communicator, stream);
}
ncclResult_t ncclRecv(void* data, size_t bytes, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
  return exchange("receive", nullptr, 0, data, bytes, nullptr, communicator, stream);
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

}  // extern "C"
