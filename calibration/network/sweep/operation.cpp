#include "calibration/network/sweep/operation.hpp"

#include <algorithm>
#include <array>

namespace ddl {
namespace {

// Operations in the order of the enumeration. Titles and size conventions: mvapich.cse.ohio-state.edu/benchmarks, versions 5
// to 7.
constexpr std::array<SweepOperationKind, enum_count<SweepOperation>()> kinds{{
    {SweepOperation::latency, "latency", "Latency", Collective::point_to_point, ExchangePattern::one_way},
    {SweepOperation::bandwidth, "bw", "Bandwidth", Collective::point_to_point, ExchangePattern::one_way},
    {SweepOperation::two_way_bandwidth, "bibw", "Bi-Directional Bandwidth", Collective::point_to_point,
     ExchangePattern::both_ways},
    {SweepOperation::allreduce, "allreduce", "Allreduce Latency", Collective::allreduce, ExchangePattern::collective, false,
     true},
    {SweepOperation::allgather, "allgather", "Allgather Latency", Collective::allgather, ExchangePattern::collective, true},
    {SweepOperation::reduce_scatter, "reduce_scatter", "Reduce_scatter Latency", Collective::reduce_scatter,
     ExchangePattern::collective, false, true},
    {SweepOperation::broadcast, "bcast", "Broadcast Latency", Collective::broadcast, ExchangePattern::collective},
    {SweepOperation::all_to_all, "alltoall", "All-to-All Personalized Exchange Latency", Collective::all_to_all,
     ExchangePattern::collective, true},
}};

}  // namespace

std::span<const SweepOperationKind> sweep_operations() { return kinds; }

const SweepOperationKind& kind_of(SweepOperation operation) { return kinds.at(static_cast<std::size_t>(operation)); }

std::optional<SweepOperation> parse_sweep_operation(std::string_view name) {
  const auto* found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.name == name; });
  return found == kinds.end() ? std::nullopt : std::optional(found->operation);
}

}  // namespace ddl
