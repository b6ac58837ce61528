#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace ddl {

/// Shares the processors among the questions of a server. At most `at_once` questions compute at a time. A question that has
/// computed for long gives way to a question that has computed less (multilevel feedback scheduling), so that short searches
/// do not wait until long searches end. Thread-safe.
class Turns {
 public:
  explicit Turns(std::size_t at_once);

  /// The turn of one question. It ends with the object.
  class Turn {
   public:
    /// Waits until the question may compute, or until `given_up` is set.
    Turn(Turns& turns, const std::atomic<bool>& given_up);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    /// If another question has computed much less than this question, waits until this question's turn comes again, or until
    /// `given_up` is set. `computed_seconds`: how long this question has computed.
    void give_way(double computed_seconds);

   private:
    Turns& turns_;
    const std::atomic<bool>& given_up_;
    std::uint64_t number_ = 0;  ///< in the order of arrival
  };

  /// The level of a question: questions of a lower level go first. Level 0 ends at a quarter of a second, each further level
  /// lasts twice as long as all levels before it.
  [[nodiscard]] static int level_of(double computed_seconds);

 private:
  using Key = std::pair<int, std::uint64_t>;  ///< level and number
  void wait(std::unique_lock<std::mutex>& lock, const Key& key, const std::atomic<bool>& given_up);

  std::mutex mutex_;  ///< protects the following members
  std::condition_variable changed_;
  std::int64_t free_;  ///< how many more questions may compute; negative while abandoned questions still compute
  std::uint64_t arrived_ = 0;
  std::set<Key> waiting_;
};

/// Returns the processor time of this thread in seconds.
[[nodiscard]] double thread_seconds();

}  // namespace ddl
