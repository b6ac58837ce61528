#include "profiler/importers/trace_events.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json_cursor.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view trace_hint = "a trace is written by torch.profiler: profiler.export_chrome_trace(\"trace.json\")";

constexpr std::size_t max_trace_depth = 64;
/// Maximum dimensions of a tensor; PyTorch's tensors have at most 64.
constexpr std::size_t max_dimensions = 64;
constexpr double longest_extent = 9007199254740992.0;  // 2^53: the limit of every tensor of a model
/// Upper limits in microseconds: a year for durations, and more than any clock shows for starts.
constexpr double longest_event = 3.2e13;
constexpr double latest_start = 1e18;

/// Assigns ids to texts in the order of their occurrence.
class Names {
 public:
  int number(const std::string& text) {
    const auto [place, is_new] = numbers_.emplace(text, static_cast<int>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return place->second;
  }
  std::vector<std::string>& texts() { return texts_; }

 private:
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::string> texts_;
};

/// The kind of an event. Versions of Kineto use different names for one kind.
std::optional<TraceEvent::Kind> kind_of(std::string_view category) {
  using Kind = TraceEvent::Kind;
  if (category == "cpu_op" || category == "Operator") return Kind::operation;
  if (category == "user_annotation") return Kind::annotation;
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") return Kind::launch;
  for (const std::string_view device : {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}) {
    if (category == device) return Kind::kernel;
  }
  return std::nullopt;
}

/// Whether a kernel is a copy between host and device: `Memcpy HtoD (Pageable -> Device)`, `CopyHostToDevice`.
bool is_copy_of_host(std::string_view category, std::string_view name) {
  if (category != "gpu_memcpy" && category != "Memcpy" && !name.starts_with("Memcpy ") && !name.starts_with("Copy"))
    return false;
  for (const std::string_view way : {"HtoD", "DtoH", "HostToDevice", "DeviceToHost", "H2D", "D2H"}) {
    if (name.find(way) != std::string_view::npos) return true;
  }
  return false;
}

TraceEvent::Items items_of(std::string_view type) {
  if (type == "c10::BFloat16") return TraceEvent::Items::bf16;
  if (type == "c10::Half") return TraceEvent::Items::fp16;
  return type == "float" ? TraceEvent::Items::fp32 : TraceEvent::Items::unknown;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Processes the parser's events and keeps the trace events. The whole file as JSON values would take ten times its size in
/// memory.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const SourceText& source) : source_(source) {}

  Trace read() {
    const std::string& text = source_.text();
    Json::sax_parse(JsonCursor(text.data(), &bytes_read_), JsonCursor(text.data() + text.size(), &bytes_read_), this);
    if (!events_seen_) throw source_.error(0, "this is not a trace: it has no list 'traceEvents'", std::string(trace_hint));
    trace_.names = std::move(names_.texts());
    return std::move(trace_);
  }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value), value); }
  bool number_unsigned(std::uint64_t value) override {
    return number(static_cast<double>(value),
                  (value >> 63U) != 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) override { return number(value, std::nullopt); }
  bool string(std::string& value) override;
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON text has no binary values

  bool start_object(std::size_t /*size*/) override;
  bool end_object() override;
  bool start_array(std::size_t /*size*/) override;
  bool end_array() override;
  bool key(std::string& key) override {
    key_.swap(key);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
    const bool out_of_range = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    const std::size_t place = out_of_range ? bytes_read_ : byte;
    throw source_.error(place == 0 ? 0 : place - 1, out_of_range ? "a number that is too large" : "not valid JSON",
                        std::string(trace_hint));
  }

 private:
  /// The element that is being read.
  enum class In { root, events, event, arguments, shapes, types, devices, device, other };

  [[nodiscard]] In in() const { return open_.empty() ? In::other : open_.back(); }
  [[nodiscard]] In inside(bool object) const;
  void open(In what);
  bool number(double value, std::optional<std::int64_t> integer);
  void set(std::int64_t value);
  void keep();
  void close_list();
  [[noreturn]] void fail(const std::string& message) const {
    throw source_.error(event_start_, message, std::string(trace_hint));
  }

  const SourceText& source_;
  std::size_t bytes_read_ = 0;
  std::vector<In> open_;
  std::string key_;
  bool events_seen_ = false;
  Names names_;
  std::unordered_map<std::string, int> threads_, shape_numbers_;
  Trace trace_;

  // The state of the event that is being read.
  std::size_t event_start_ = 0;
  TraceEvent event_;
  std::string phase_, category_, name_, process_, thread_;
  std::optional<double> start_, duration_;
  // The state of the shapes that are being read: the depth of open lists, the numbers of the
  // innermost list, and all shapes as text, for deduplication.
  std::size_t list_depth_ = 0;
  bool has_shapes_ = false;
  OperatorShapes shapes_;
  std::vector<std::int64_t> numbers_;
  bool list_of_lists_ = false;
  std::string shapes_text_;
};

Reader::In Reader::inside(bool object) const {
  if (open_.empty()) return object ? In::root : In::events;
  switch (open_.back()) {
    case In::root:
      if (!object && key_ == "traceEvents") return In::events;
      return !object && key_ == "deviceProperties" ? In::devices : In::other;
    case In::events:
      return object ? In::event : In::other;
    case In::devices:
      return object ? In::device : In::other;
    case In::event:
      return object && key_ == "args" ? In::arguments : In::other;
    case In::arguments:
      if (!object && (key_ == "Input Dims" || key_ == "Input dims")) return In::shapes;
      return !object && key_ == "Input type" ? In::types : In::other;
    case In::shapes:
      return object ? In::other : In::shapes;
    default:
      return In::other;
  }
}

void Reader::open(In what) {
  if (open_.size() == max_trace_depth) {
    throw source_.error(bytes_read_ - 1, fmt::format("nested deeper than {} levels", max_trace_depth));
  }
  open_.push_back(what);
}

bool Reader::start_object(std::size_t /*size*/) {
  const In what = inside(true);
  if (in() == In::shapes) fail("'Input Dims' of this event are not lists of sizes");
  open(what);
  if (what == In::event) {
    event_start_ = bytes_read_ - 1;
    event_ = {};
    phase_.clear();
    category_.clear();
    name_.clear();
    process_.clear();
    thread_.clear();
    start_.reset();
    duration_.reset();
    has_shapes_ = false;
  }
  return true;
}

bool Reader::end_object() {
  if (in() == In::event) keep();
  open_.pop_back();
  return true;
}

bool Reader::start_array(std::size_t /*size*/) {
  const bool nested = in() == In::shapes;
  const In what = inside(false);
  open(what);
  if (what == In::events) {
    if (events_seen_) throw source_.error(bytes_read_ - 1, "duplicate list 'traceEvents'");
    events_seen_ = true;
  }
  if (what == In::shapes && !nested) {
    list_depth_ = 0;
    shapes_.clear();
    shapes_text_.clear();
    has_shapes_ = true;
  }
  if (nested) {
    // The outer list contains arguments. An argument is a list of dimensions, or a list of tensors with lists of dimensions.
    if (++list_depth_ > 2) fail("'Input Dims' of this event are nested deeper than lists of tensors");
    if (list_depth_ == 1) {
      shapes_.emplace_back();
      list_of_lists_ = false;
    } else {
      if (!numbers_.empty()) fail("'Input Dims' of this event mix sizes and lists");
      list_of_lists_ = true;
    }
    numbers_.clear();
    shapes_text_ += '[';
  }
  return true;
}

bool Reader::end_array() {
  const In what = in();
  open_.pop_back();
  if (what == In::shapes && in() == In::shapes) close_list();
  return true;
}

void Reader::close_list() {
  shapes_text_ += ']';
  // An argument that is not a tensor has an empty list, like a tensor without dimensions.
  if (list_depth_ == 2 || !list_of_lists_) shapes_.back().push_back(numbers_);
  numbers_.clear();
  --list_depth_;
}

bool Reader::number(double value, std::optional<std::int64_t> integer) {
  switch (in()) {
    case In::event:
      if (key_ == "ts") start_ = value;
      if (key_ == "dur") duration_ = value;
      if (key_ == "pid") process_ = fmt::format("{}", value);
      if (key_ == "tid") thread_ = fmt::format("{}", value);
      break;
    case In::arguments:
      if (integer) set(*integer);
      break;
    case In::shapes:
      if (list_depth_ == 0 || (list_depth_ == 1 && list_of_lists_)) fail("'Input Dims' of this event mix sizes and lists");
      if (!integer || value < 0 || value > longest_extent) fail("a value in 'Input Dims' of this event is not a size");
      if (numbers_.size() == max_dimensions) {
        fail(fmt::format("a tensor among 'Input Dims' of this event has more than {} dimensions", max_dimensions));
      }
      numbers_.push_back(*integer);
      shapes_text_ += fmt::format("{},", *integer);
      break;
    default:
      break;
  }
  return true;
}

/// Stores the value of the event's argument `key_`.
void Reader::set(std::int64_t value) {
  if (key_ == "Sequence number") event_.sequence = value;
  if (key_ == "External id" || key_ == "external id") event_.external = value;
  if (key_ == "correlation") event_.correlation = value;
}

bool Reader::string(std::string& value) {
  switch (in()) {
    case In::event:
      if (key_ == "ph")
        phase_.swap(value);
      else if (key_ == "cat")
        category_.swap(value);
      else if (key_ == "name")
        name_.swap(value);
      else if (key_ == "pid")
        process_.swap(value);
      else if (key_ == "tid")
        thread_.swap(value);
      else if (key_ == "ts" || key_ == "dur")
        fail(fmt::format("'{}' of this event is not a number", key_));
      break;
    case In::arguments:
      if (const auto integer = whole(value)) set(*integer);
      break;
    case In::types:
      if (event_.items == TraceEvent::Items::unknown) event_.items = items_of(value);
      break;
    case In::shapes:
      fail("'Input Dims' of this event are not lists of sizes");
    case In::device:
      if (key_ == "name" && trace_.device.empty()) trace_.device.swap(value);
      break;
    default:
      break;
  }
  return true;
}

void Reader::keep() {
  const std::optional<TraceEvent::Kind> kind = kind_of(category_);
  if (phase_ != "X" || !kind) return;
  if (!start_ || !duration_) fail("an event without 'ts' and 'dur'");
  if (!std::isfinite(*start_) || std::abs(*start_) > latest_start) fail("'ts' of this event is not a time");
  if (!(*duration_ >= 0) || *duration_ > longest_event) fail("'dur' of this event is not a duration");
  constexpr double microsecond = 1e-6;
  event_.kind = *kind;
  event_.of_host = *kind == TraceEvent::Kind::kernel && is_copy_of_host(category_, name_);
  event_.name = names_.number(name_);
  event_.thread = threads_.emplace(process_ + '/' + thread_, static_cast<int>(threads_.size())).first->second;
  event_.start = *start_ * microsecond;
  event_.seconds = *duration_ * microsecond;
  if (has_shapes_) {
    const auto [place, is_new] = shape_numbers_.emplace(shapes_text_, static_cast<int>(trace_.shapes.size()));
    if (is_new) trace_.shapes.push_back(shapes_);
    event_.shapes = place->second;
  }
  trace_.events.push_back(event_);
}

}  // namespace

Trace parse_trace(std::string text, const std::string& origin) {
  const SourceText source(std::move(text), origin);
  if (source.text().find_first_not_of(" \t\r\n") == std::string::npos) {
    throw source.error(0, "the file is empty", std::string(trace_hint));
  }
  return Reader(source).read();
}

}  // namespace ddl
