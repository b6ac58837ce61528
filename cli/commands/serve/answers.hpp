#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/commands/serve/guard.hpp"
#include "cli/commands/serve/http.hpp"
#include "cli/commands/serve/page.hpp"
#include "cli/commands/serve/question.hpp"

namespace ddl {

/// What the server answers to each path: the page, answers alone, files of them, style and script. Threads may share it.
class Answers {
 public:
  /// `seconds`: what a search may take; then it answers with the best so far.
  Answers(OfferedFiles files, KnownHosts hosts, double seconds);

  /// What needs no search: refusals, style, script, what cannot be understood, and what was answered a moment ago.
  [[nodiscard]] std::optional<HttpAnswer> at_once(const HttpRequest& request);
  /// The rest.
  [[nodiscard]] HttpAnswer later(const HttpRequest& request, const std::atomic<bool>& given_up);
  /// How many questions were answered, those from memory included.
  [[nodiscard]] std::size_t answered() const { return answered_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::string key;
    std::shared_ptr<const PageAnswer> answer;
    Clock::time_point since;
  };

  [[nodiscard]] std::string key_of(const PageQuestion& question) const;
  [[nodiscard]] std::shared_ptr<const PageAnswer> kept(const std::string& key);
  void keep(const std::string& key, std::shared_ptr<const PageAnswer> answer);
  [[nodiscard]] HttpAnswer shown(const HttpRequest& request, const PageQuestion& question, const PageAnswer& answer);

  OfferedFiles files_;
  KnownHosts hosts_;
  double seconds_;
  std::atomic<std::size_t> answered_ = 0;
  std::mutex mutex_;      ///< of what follows
  std::list<Kept> kept_;  ///< the last used first
  std::size_t kept_bytes_ = 0;
};

}  // namespace ddl
