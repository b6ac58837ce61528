#pragma once

#include <string>
#include <vector>

#include <mpi.h>

#include "calibration/network/sweep/processes.hpp"

namespace ddl::mpi {

/// All ranks of MPI_COMM_WORLD, from MPI_Init to MPI_Finalize. Ranks that share memory are on one node.
class MpiProcesses final : public Processes {
 public:
  MpiProcesses();
  ~MpiProcesses() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int count() const override { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nodes_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const override { return node_names_; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override;
  void abort_all() noexcept override;

 private:
  void find_nodes();

  int rank_ = 0;
  std::vector<int> nodes_;
  std::vector<std::string> node_names_;
};

}  // namespace ddl::mpi
