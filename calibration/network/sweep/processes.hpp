#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"

namespace ddl {

/// Thrown if another process has ended, or has requested that all processes end. The error has the
/// message of the other process.
class EndedElsewhere : public Error {
 public:
  using Error::Error;
};

/// The processes of one launch, and their communication. All processes must call the same functions in the same order.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int count() const = 0;
  /// For each process, the index of its node, counted from 0 in the order of the nodes' first ranks.
  [[nodiscard]] virtual const std::vector<int>& nodes() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& node_names() const = 0;
  /// Gathers a text from each process; the result is ordered by rank.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// Throws EndedElsewhere if another process is known to have ended. The call does not block, so
  /// callers can repeat it during other waits.
  virtual void look() {}
  /// Makes all other processes end with this message. Returns false if no message can reach them;
  /// then only abort_all can end them.
  virtual bool end_others(const std::string& /*what*/, const std::string& /*hint*/) noexcept { return false; }
  /// Ends all processes immediately, whatever their state. The launcher's exit status is not zero. May not return.
  virtual void abort_all() noexcept = 0;
};

/// A process without a launcher.
class SoleProcess final : public Processes {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nodes_; }
  [[nodiscard]] const std::vector<std::string>& node_names() const override { return names_; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override { return {text}; }
  void abort_all() noexcept override {}

 private:
  std::vector<int> nodes_{0};
  std::vector<std::string> names_{"this node"};
};

}  // namespace ddl
