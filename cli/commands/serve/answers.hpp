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
#include "cli/commands/serve/turns.hpp"

namespace ddl {

/// The server's answer to each path: the whole page, an answer without the page around it, an answer as a file, two answers
/// compared, the progress of a search, the style sheet, the script. Thread-safe.
class Answers {
 public:
  /// `seconds`: the time limit of a search. At the limit, the answer contains the best plans so far.
  /// `at_once`: how many searches compute at a time.
  Answers(OfferedFiles files, KnownHosts hosts, double seconds, std::size_t at_once);

  /// Returns the answer if no search is needed (a refusal, style sheet, script, invalid question,
  /// or cached answer); else empty.
  [[nodiscard]] std::optional<HttpAnswer> at_once(const HttpRequest& request);
  /// Returns an answer that needs a search, which shares the processors with searches of other threads. `given_up`: set by
  /// the server when the client has disconnected.
  [[nodiscard]] HttpAnswer later(const HttpRequest& request, const std::atomic<bool>& given_up);
  /// The number of answered questions, including those from the cache.
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
  /// Returns how far the search for a question is, as JSON: an empty object if no search is running.
  [[nodiscard]] HttpAnswer progress(const PageQuestion& question);
  [[nodiscard]] HttpAnswer compared(const HttpRequest& request) const;
  [[nodiscard]] HttpAnswer shown(const HttpRequest& request, const PageQuestion& question, const PageAnswer& answer);

  OfferedFiles files_;
  KnownHosts hosts_;
  double seconds_;
  Turns turns_;
  std::atomic<std::size_t> answered_ = 0;
  std::mutex mutex_;                              ///< protects the following members
  std::map<std::string, std::string> searching_;  ///< progress of each running search as JSON, by question
  std::list<Kept> kept_;                          ///< the most recently used first
  std::size_t kept_bytes_ = 0;
};

}  // namespace ddl
