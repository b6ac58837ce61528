#include "profiler/measurement/sequence.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "profiler/measurement/tensor_values.hpp"

namespace ddl {
namespace {

constexpr std::string_view start = "sequence ";

}  // namespace

std::string one_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ' ' || c == '='; }, '-');
  return text;
}

std::string print_problem(const SequenceProblem& problem) {
  std::string line =
      fmt::format("{}model={} samples={} precision={} optimizer={} pass={}", start, one_word(problem.model), problem.samples,
                  to_string(problem.precision), to_string(problem.optimizer), to_string(problem.part));
  if (!problem.by.empty()) line += fmt::format(" by={}", one_word(problem.by));
  if (problem.graph) line += " launch=graph";
  if (!problem.by.empty() && problem.keeps_memory) line += " memory=kept";
  return line;
}

bool is_sequence_problem(std::string_view line) { return line.starts_with(start); }

SequenceProblem parse_sequence_problem(const std::string& line, const std::string& origin) {
  const SourceText source(line, origin);
  std::size_t at = std::min(start.size(), line.size());
  // The words are parsed in the order in which they are printed.
  const auto word = [&](std::string_view key) {
    const std::size_t equals = at + key.size();
    if (line.compare(at, key.size(), key) != 0 || equals >= line.size() || line[equals] != '=') {
      throw source.error(at, fmt::format("expected {}=", key), print_problem(SequenceProblem{.model = "resnet50"}));
    }
    const std::size_t begin = equals + 1;
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    at = std::min(end + 1, line.size());
    return std::pair(begin, line.substr(begin, end - begin));
  };
  const auto known = [&](const auto& place, auto parsed) {
    if (!parsed) throw source.error(place.first, fmt::format("unknown {}", quote(place.second)));
    return *parsed;
  };
  SequenceProblem problem;
  problem.model = word("model").second;
  const auto samples = word("samples");
  const auto* const end = samples.second.data() + samples.second.size();
  if (const auto [stop, wrong] = std::from_chars(samples.second.data(), end, problem.samples);
      wrong != std::errc() || stop != end || problem.samples < 1) {
    throw source.error(samples.first, fmt::format("{} is not a number of samples", quote(samples.second)));
  }
  const auto precision = word("precision");
  problem.precision = known(precision, parse_enum<Precision>(precision.second));
  const auto optimizer = word("optimizer");
  problem.optimizer = known(optimizer, parse_measured_optimizer(optimizer.second));
  const auto part = word("pass");
  problem.part = known(part, parse_enum<StepPart>(part.second));
  const auto is_next = [&](std::string_view key) { return at < line.size() && line.compare(at, key.size(), key) == 0; };
  if (at < line.size() && !is_next("launch=")) {
    const auto by = word("by");
    if (by.second.empty()) throw source.error(by.first, "the framework is missing", "use for example by=pytorch-1.13.1");
    problem.by = by.second;
  }
  if (is_next("launch=")) {
    const auto launch = word("launch");
    if (launch.second != "graph") throw source.error(launch.first, fmt::format("unknown {}", quote(launch.second)));
    problem.graph = true;
  }
  if (at < line.size() && !problem.by.empty()) {
    const auto memory = word("memory");
    if (memory.second != "kept") throw source.error(memory.first, fmt::format("unknown {}", quote(memory.second)));
    problem.keeps_memory = true;
  }
  if (at < line.size()) throw source.error(at, fmt::format("unknown {}", quote(line.substr(at))));
  return problem;
}

struct Sequence::Step {
  StepPart part = StepPart::forward;
  PreparedKernel* kernel = nullptr;
  std::vector<DeviceBuffer*> buffers;
};

/// Schedules the kernels of a model in the order of a step, and connects their tensors.
struct Sequence::Builder {
  Sequence& sequence;
  KernelBackend& backend;
  const Model& model;
  std::int64_t samples;
  Precision precision;
  Optimizer optimizer;
  std::vector<bool> needs_gradient = needs_input_gradient(model);
  std::vector<int> additions = gradient_additions(model);
  std::vector<DeviceBuffer*> outputs = std::vector<DeviceBuffer*>(model.layers.size());
  std::vector<DeviceBuffer*> gradients = std::vector<DeviceBuffer*>(model.layers.size());
  /// For each layer, the gradients of its output that the output's readers have computed.
  std::vector<std::vector<DeviceBuffer*>> sent = std::vector<std::vector<DeviceBuffer*>>(model.layers.size());
  /// Tensors that belong to a layer: weights, kept tensors, weight gradients.
  std::map<std::tuple<std::size_t, TensorRole, int>, DeviceBuffer*> own{};
  /// Gradients without remaining readers, by number of elements. Their buffers can be reused.
  std::multimap<std::int64_t, DeviceBuffer*> free{};
  /// The scale of the current layer's weights. With this scale there are no denormals and
  /// infinities, which would make kernels slow.
  double scale_of_weights = 1;

  DeviceBuffer* allocate(const KernelTensor& tensor, std::int64_t token_rows) {
    sequence.buffers_.push_back(backend.allocate_for(tensor));
    fill(*sequence.buffers_.back(), tensor.role, token_rows, tensor.role == TensorRole::weight ? scale_of_weights : 1);
    return sequence.buffers_.back().get();
  }

  /// Whether a kernel can use a buffer. Kernels have fixed shapes, so the size must match.
  static bool fits(const DeviceBuffer* buffer, const KernelTensor& tensor) {
    return buffer != nullptr && buffer->holds(tensor);
  }

  DeviceBuffer* bind(std::size_t layer, const KernelTensor& tensor, std::int64_t token_rows) {
    const std::vector<int>& inputs = model.layers[layer].inputs;
    const auto producer = [&]() -> std::optional<std::size_t> {
      const auto place = static_cast<std::size_t>(tensor.index);
      if (place >= inputs.size() || inputs[place] < 0) return std::nullopt;
      return static_cast<std::size_t>(inputs[place]);
    };
    switch (tensor.role) {
      case TensorRole::input:
        if (const auto from = producer(); from && token_rows == 0 && fits(outputs[*from], tensor)) return outputs[*from];
        break;
      case TensorRole::output:
        if (!fits(outputs[layer], tensor)) outputs[layer] = allocate(tensor, 0);
        return outputs[layer];
      case TensorRole::output_gradient:
        if (fits(gradients[layer], tensor)) return gradients[layer];
        break;
      case TensorRole::input_gradient:
        if (const auto to = producer()) {
          sent[*to].push_back(gradient(tensor));
          return sent[*to].back();
        }
        break;
      default:
        break;
    }
    DeviceBuffer*& buffer = own[{layer, tensor.role, tensor.index}];
    if (!fits(buffer, tensor)) buffer = allocate(tensor, token_rows);
    return buffer;
  }

  DeviceBuffer* gradient(const KernelTensor& tensor) {
    const auto [begin, end] = free.equal_range(tensor.items);
    const auto found = std::find_if(begin, end, [&](const auto& one) { return fits(one.second, tensor); });
    if (found == end) return allocate(tensor, 0);
    DeviceBuffer* const buffer = found->second;
    free.erase(found);
    return buffer;
  }

  void add(StepPart part, std::size_t layer, std::unique_ptr<PreparedKernel> kernel, std::int64_t token_rows) {
    Step step{part, kernel.get(), {}};
    for (const KernelTensor& tensor : kernel->tensors()) step.buffers.push_back(bind(layer, tensor, token_rows));
    sequence.kernels_.push_back(std::move(kernel));
    if (!step.kernel->algorithm().empty()) sequence.steps_.push_back(std::move(step));
  }

  Problem problem_of(std::size_t index) const {
    const Layer& layer = model.layers[index];
    const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
    return {local.operation ? local.operation : layer.operation,
            local.inputs,
            layer.output_shape,
            samples,
            precision,
            Pass::forward};
  }

  /// Makes a gradient without remaining readers available for reuse.
  void release(DeviceBuffer* buffer) {
    const auto holds = [buffer](const std::vector<DeviceBuffer*>& some) {
      return std::find(some.begin(), some.end(), buffer) != some.end();
    };
    if (buffer != nullptr && !holds(gradients) && std::none_of(sent.begin(), sent.end(), holds))
      free.emplace(buffer->items(), buffer);
  }

  /// Adds two tensors. If a tensor is missing, or does not have the required form, another buffer is added in its place.
  DeviceBuffer* add_up(const Problem& problem, DeviceBuffer* first, DeviceBuffer* second) {
    if (const std::string why = backend.refusal(problem); !why.empty()) throw Error(why);
    std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
    Step step{StepPart::backward, kernel.get(), {}};
    DeviceBuffer* sum = nullptr;
    for (const KernelTensor& tensor : kernel->tensors()) {
      DeviceBuffer* const part = tensor.index == 0 ? first : second;
      if (tensor.written) {
        sum = gradient(tensor);
        step.buffers.push_back(sum);
      } else {
        step.buffers.push_back(fits(part, tensor) ? part : gradient(tensor));
      }
    }
    sequence.kernels_.push_back(std::move(kernel));
    if (!step.kernel->algorithm().empty()) sequence.steps_.push_back(std::move(step));
    return sum;
  }

  /// Adds up the gradients from the readers of a layer's output.
  void sum_gradients(std::size_t index) {
    std::vector<DeviceBuffer*> arrived = std::exchange(sent[index], {});
    // A simulated device computes no gradients.
    gradients[index] = arrived.empty() ? nullptr : arrived.front();
    for (std::size_t i = 0; i < static_cast<std::size_t>(additions[index]); ++i) {
      DeviceBuffer* const first = gradients[index];
      DeviceBuffer* const second = i + 1 < arrived.size() ? arrived[i + 1] : first;
      DeviceBuffer* const sum =
          add_up(gradient_addition(model.layers[index].output_shape, samples, precision), first, second);
      gradients[index] = sum != nullptr ? sum : first;
      release(first);
      if (second != first) release(second);
    }
  }

  /// Adds the gradients of a table that two layers share.
  void sum_table(std::size_t index) {
    const Problem problem = problem_of(index);
    const SharedTable table = problem.operation->shared_table(problem.inputs, problem.output);
    if (table.rows > 0 && table.columns > 0) release(add_up(table_addition(table, precision), nullptr, nullptr));
  }

  bool run_layer(std::size_t index, Pass pass) {
    Problem problem = problem_of(index);
    problem.pass = pass;
    if (!problem.operation->work(pass, problem.inputs, problem.output).is_any()) return false;
    if (const std::string why = backend.refusal(problem); !why.empty()) throw Error(why);
    scale_of_weights = weight_scale(problem);
    add(pass == Pass::forward ? StepPart::forward : StepPart::backward, index, backend.prepare(problem),
        problem.operation->attribute_values().integer("vocabulary", 0));
    return true;
  }

  /// Assigns the tensor of a view's only input to the view. A view has no tensor of its own.
  void pass_on(std::vector<DeviceBuffer*>& tensors, std::size_t from, std::size_t to) const {
    if (tensors[to] == nullptr && model.layers[to].output_shape.items() == model.layers[from].output_shape.items()) {
      tensors[to] = tensors[from];
    }
  }

  void build() {
    const std::size_t layers = model.layers.size();
    for (std::size_t i = 0; i < layers; ++i) {
      run_layer(i, Pass::forward);
      for (const int input : model.layers[i].inputs) {
        if (input >= 0) pass_on(outputs, static_cast<std::size_t>(input), i);
      }
    }
    for (std::size_t i = layers; i-- > 0;) {
      sum_gradients(i);
      const bool passes = model.layers[i].operation->passes_gradient();
      const bool has_sent = needs_gradient[i] && !passes && run_layer(i, Pass::backward_data);
      if (!is_frozen(model, model.layers[i])) run_layer(i, Pass::backward_weight);
      if (model.layers[i].tied_to >= 0) sum_table(i);
      DeviceBuffer* const done = std::exchange(gradients[i], nullptr);
      if (done == nullptr) continue;
      for (const int input : model.layers[i].inputs) {
        // Views and sums pass on the gradient unchanged.
        if (input >= 0 && needs_gradient[i] && !has_sent) sent[static_cast<std::size_t>(input)].push_back(done);
      }
      release(done);
    }
    for (std::size_t i = 0; i < layers; ++i) {
      const std::int64_t parameters = model.layers[i].trained();
      if (parameters == 0) continue;
      const UpdateProblem problem{optimizer, parameters, precision};
      if (const std::string why = backend.refusal(problem); !why.empty()) throw Error(why);
      add(StepPart::update, i, backend.prepare(problem), 0);
    }
  }
};

Sequence::Sequence(KernelBackend& backend, const Model& model, std::int64_t samples, Precision precision,
                   Optimizer optimizer) {
  Builder{*this, backend, model, samples, precision, optimizer}.build();
}

Sequence::~Sequence() = default;

void Sequence::run(StepPart part) {
  for (Step& step : steps_) {
    if (step.part == part) step.kernel->run(step.buffers);
  }
}

TimedWork Sequence::work(StepPart part, std::size_t piece) {
  std::vector<Step*> all;
  for (Step& step : steps_) {
    if (step.part == part) all.push_back(&step);
  }
  TimedWork work;
  for (std::size_t first = 0; first < all.size(); first += piece) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + piece));
    work.pieces.push_back({[some = std::vector<Step*>(begin, end)] {
      for (Step* step : some) step->kernel->run(step->buffers);
    }});
  }
  return work;
}

int Sequence::kernels(StepPart part) const {
  return static_cast<int>(
      std::count_if(steps_.begin(), steps_.end(), [part](const Step& step) { return step.part == part; }));
}

SequenceSampling::SequenceSampling(KernelBackend& backend, const Model& model, std::int64_t samples, Precision precision,
                                   Optimizer optimizer, StepStart start)
    : backend_(backend) {
  // A device queues about a thousand kernels, and one of our kernels may consist of several launches: hundreds for an LSTM.
  // If the device still waits for the host, pieces are made smaller.
  constexpr std::size_t largest_piece = 64;
  for (const StepPart part : enum_values<StepPart>) {
    const SequenceProblem problem{model.name, samples, precision, optimizer, part, {}, false, start == StepStart::graph};
    parts_.push_back({.problem = print_problem(problem)});
  }
  try {
    sequence_ = std::make_unique<Sequence>(backend, model, samples, precision, optimizer);
    for (std::size_t i = 0; i < enum_values<StepPart>.size(); ++i) {
      parts_[i].algorithm = fmt::format("{} kernels", sequence_->kernels(enum_values<StepPart>[i]));
      for (std::size_t piece = largest_piece; piece > 0; piece /= 4) {
        work_[i] = sequence_->work(enum_values<StepPart>[i], piece);
        // The first step is a warm-up for code and memory.
        static_cast<void>(backend_.time_again(work_[i]));
        if (work_[i].host_bound) static_cast<void>(time_without_host(backend_, work_[i]));
        if (!work_[i].host_bound) break;
      }
      if (start == StepStart::kernels || sequence_->kernels(enum_values<StepPart>[i]) == 0) continue;
      work_[i] = TimedWork(backend_.record([this, part = enum_values<StepPart>[i]] { sequence_->run(part); }));
      static_cast<void>(backend_.time_again(work_[i]));
    }
  } catch (const Error& error) {
    sequence_.reset();
    for (Measurement& part : parts_) part.reason = error.what();
  }
}

void SequenceSampling::step() {
  if (failed()) return;
  for (std::size_t i = 0; i < enum_values<StepPart>.size(); ++i) {
    seconds_[i].push_back(time_without_host(backend_, work_[i]).value());
    parts_[i].host_bound = parts_[i].host_bound || work_[i].host_bound;
  }
}

Seconds SequenceSampling::mean() const {
  double sum = 0;
  for (const std::vector<double>& part : seconds_) sum = std::accumulate(part.begin(), part.end(), sum);
  return Seconds(sum / steps());
}

std::vector<Measurement> SequenceSampling::measurements(const SamplingRule& rule) const {
  std::vector<Measurement> measured = parts_;
  for (std::size_t i = 0; i < enum_values<StepPart>.size(); ++i) measured[i].samples = summarize(seconds_[i], rule);
  return measured;
}

}  // namespace ddl
