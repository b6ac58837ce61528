#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"

namespace ddl {

/// Another process ended, or had all of them end: in its words, which all of them have.
class EndedElsewhere : public Error {
 public:
  using Error::Error;
};

/// The processes of one launch, and how they agree: every one of them calls the same functions in the same order.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int count() const = 0;
  /// Of each process, a number that is the same for those of one node: from 0, in the order of their first ranks.
  [[nodiscard]] virtual const std::vector<int>& nodes() const = 0;
  /// Names of these nodes.
  [[nodiscard]] virtual const std::vector<std::string>& node_names() const = 0;
  /// What each process says, by rank.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// An EndedElsewhere where it can be seen at once, without waiting, that another has ended. For who waits for something
  /// else.
  virtual void look() {}
  /// Has all the others end with these words. False where they can only be ended without: by abort_all.
  virtual bool end_others(const std::string& /*what*/, const std::string& /*hint*/) noexcept { return false; }
  /// Ends all of them at once, wherever they are; the launcher's exit status is not zero. May not come back.
  virtual void abort_all() noexcept = 0;
};

/// A process that nobody launched beside others.
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
