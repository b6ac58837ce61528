#include "calibration/sweep/transports.hpp"

#include <utility>

#include <fmt/format.h>

#include "calibration/sweep/agreement.hpp"
#include "calibration/sweep/transport_module.hpp"
#include "calibration/sweep/transports/simulated/network_text.hpp"
#include "core/error.hpp"
#include "core/module_loader.hpp"
#include "profiler/rank.hpp"

namespace ddl {
namespace {

/// NCCL with the MPI that its processes found each other by, which must outlive it.
class Joined final : public Transport {
 public:
  Joined(std::unique_ptr<Transport> mpi, std::unique_ptr<Transport> nccl) : mpi_(std::move(mpi)), nccl_(std::move(nccl)) {}
  [[nodiscard]] std::string name() const override { return nccl_->name(); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override { return nccl_->details(); }
  [[nodiscard]] Processes& processes() override { return nccl_->processes(); }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nccl_->nodes(); }
  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    return nccl_->time(step, repetitions);
  }

 private:
  std::unique_ptr<Transport> mpi_, nccl_;
};

}  // namespace

std::unique_ptr<Transport> open_mpi() {
  std::unique_ptr<Transport> mpi =
      load_module<TransportModule>("transport-mpi", "ddl_transport_mpi", "libopenmpi-dev").open(nullptr);
  // A launcher that does not know this MPI starts processes each of which is alone in it, and would measure by itself.
  const Rank launched = this_rank();
  if (const int joined = mpi->processes().count(); joined != launched.ranks && !launched.launcher.empty()) {
    throw Error(fmt::format("{} started {} processes, but {} joined by MPI", launched.launcher, launched.ranks, joined),
                "start them by the mpirun of this MPI; or tell srun which it is: srun --mpi=pmix, or what --mpi=list says");
  }
  return mpi;
}

std::unique_ptr<Transport> open_nccl() {
  // Loaded first: where it is missing nothing is joined.
  const auto& module = load_module<TransportModule>("transport-nccl", "ddl_transport_nccl", "CUDA and NCCL with its header");
  if (this_rank().ranks == 1) return module.open(nullptr);
  std::unique_ptr<Transport> mpi = open_mpi();
  std::unique_ptr<Transport> nccl;
  do_or_agree(mpi->processes(), [&] { nccl = module.open(&mpi->processes()); });
  return std::make_unique<Joined>(std::move(mpi), std::move(nccl));
}

std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin) {
  return make_simulated_network(parse_simulated_network(figures, origin));
}

}  // namespace ddl
