#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddl {

/// What a part says first: whose work it is a share of. Item i belongs to share i mod `shares`.
struct PartHeading {
  int share = 0, shares = 1;
  std::size_t items = 0;
  std::uint64_t identity = 0;  ///< of the work: parts of another are none of ours
  bool operator==(const PartHeading&) const = default;
};

/// What has become of a share: what the lines of its file say, one after the other.
struct PartState {
  PartHeading heading;
  std::map<std::size_t, std::string> rows{};  ///< by item
  std::set<std::size_t> given_up{};           ///< items that nobody survived
  std::map<std::size_t, int> begun{};         ///< how often an item was begun since its owner came, and never ended
  std::vector<int> dead{};                    ///< ranks that left it undone, in the order in which others noticed
  std::optional<int> holder{};                ///< the rank that worked on it last
  bool taken_over = false;                    ///< by another than its owner
  bool merged = false;                        ///< the output has the rows

  /// Takes in one line, without its end; false where it is none of a part.
  [[nodiscard]] bool apply(std::string_view line);
};

/// One share's file: a heading, then a line for each thing that happens, written at once, so that a process that is killed
/// leaves at most a last line without its end, which counts as not written. Whoever works on the share holds its lock
/// (flock), which the system frees when the process ends, however it ends.
class PartFile {
 public:
  /// A new file, locked before anybody else can see it. Nothing where there is one of that name.
  [[nodiscard]] static std::optional<PartFile> create(const std::string& path, const PartHeading& heading);
  /// The file that is there, locked. Nothing where there is none, or somebody else holds it.
  [[nodiscard]] static std::optional<PartFile> lock(const std::string& path);
  /// What a file says, whoever holds it; nothing where there is none. An Error where it is no part.
  [[nodiscard]] static std::optional<PartState> read(const std::string& path);

  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&& other) noexcept;
  ~PartFile();

  [[nodiscard]] const PartState& state() const { return state_; }
  void owned_by(int rank);
  void taken_over_by(int rank);
  void begin(std::size_t item);
  void row(std::size_t item, const std::string& text);
  void hand_back(std::size_t item);  ///< begun, and left by order: no fault of the item
  void give_up(std::size_t item);
  void merged();
  /// Puts what was written where processes on other machines see it.
  void flush();

 private:
  PartFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  void append(const std::string& line);

  int descriptor_ = -1;
  std::string path_;
  PartState state_{};
};

}  // namespace ddl
