#include <array>

#include "cli/manual/word_help.hpp"

namespace ddl {
namespace {

constexpr std::string_view about_notation = R"(The notation of a plan

  dp32·tp2·pp4 v2 z1 m4
  degrees      choices

Reports print plans in this notation, and --plan and --against read it:

  ddl-oracle explain llama3-8b --machine h100 --plan 'dp32·tp2 z1 m2'

Degrees. Their product is the number of GPUs. Write a dot, a comma or a space
for the sign between them: dp32.tp2. The full names are read, too: data=32.

  dp   data parallelism     ep       expert parallelism
  tp   tensor parallelism   spatial  tiles of a sample: spatial2x2
  pp   pipeline             filter   output channels
  cp   context parallelism  channel  input channels

A plan may lay out layers differently: 'dp32 from14:filter32' has filter32 from
layer 14 on, counted from 0 (models show NAME lists the layers). --layers writes
it by names: --degrees data=32 --layers 'fc*: filter=32'. 'dp32 ac from14:keep'
recomputes the blocks before layer 14, 'dp32 from14:ac' those from layer 14 on.
'dp32 z3 from14:z2' has ZeRO-3 before layer 14, and ZeRO-2 from it on.

Choices. What is absent has its default.

  m4     4 micro-batches; default: 1
  z1     ZeRO stage 1, 2 or 3 (fsdp32 is dp32 z3); g8: shards in groups of 8
         GPUs (HSDP); hp8: secondary shards (hpZ); kw: weights kept
  v2     2 virtual stages (model chunks) of each pipeline stage
  gpipe, zb-h1, zb-v, …  the pipeline schedule; default: 1f1b
  ac     recomputation of all layers; ac b8: of the first 8 blocks of each stage
  sac    recomputation of attention; sac mlp+layernorm: of these modules
  oo     optimizer offloaded to the host; ow: weights, too; oa: activations
  sp     sequence parallelism on the ranks of tp
  ulysses  context parallelism exchanges heads; default: keys and values
  etp1   tensor parallelism distributes whole experts
  tw     whole tables on single ranks; rw, cw: tables by rows or columns; hy:
         frequent rows on all ranks; t5:rw: from table 5 on, counted from 0
  @pp    pipeline ranks are placed on neighboring GPUs; the degrees after @ are
         innermost, all others keep the order tp, channel, filter, cp, spatial,
         ep, dp, pp

Batch, precision and optimizer are options, not part of the notation.
)";

constexpr std::string_view about_memory = R"(Memory

  Memory      60.8 GiB of 79.1 GiB  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▒▒▒░░  FITS, at most 72.3 GiB

The first number is the expected peak of the fullest GPU during a step. The
last is an upper bound: the allocator may not be able to use all memory that it
has reserved, and contexts and communication buffers may be larger.

  FITS          the upper bound fits
  AT-RISK       the expected memory fits, but the upper bound does not
  DOES-NOT-FIT  the expected memory does not fit

  --gpu-memory 80GiB  the memory of a GPU, instead of the machine's
  --margin 5%         memory to keep free
  --offload, --offload-activations, --recompute, --zero
                      choices that save memory; a search tries all of them

  ddl-oracle explain MODEL --gpus N --memory      the contents at the peak
  ddl-oracle explain MODEL --gpus N --out-of-core how to make a plan fit
  ddl-oracle check JOB.yaml                       largest batch, fewest GPUs
)";

constexpr std::string_view about_files = R"(Files

Every name of a model, machine, data set, software or coefficients may be the
path of your own file. A path has a '/' or ends in .yaml, .json, .onnx, .toml.

  model         models import NET.onnx writes one (docs/models.md describes it);
                recommend NET.onnx reads ONNX directly
  machine       machines show NAME --format yaml prints one; machines new
                NAME --like OTHER writes one
  coefficients  calibrate writes them from measurements of your machine
  profile       profile MODEL measures the kernels of a GPU
  runs          a CSV table of measured runs, for validate and calibrate runs
  job           recommend --save-job JOB.yaml, for check
  plan          a JSON report of recommend or explain, for --plan
  configuration recommend --like FILE reads torchtitan, Megatron-LM, DeepSpeed,
                NeMo, accelerate and other trainers
  launch files  recommend --save-dir DIR writes them

Profiles and coefficients of your devices are found in the folder
~/.local/share/ddl-oracle, or in $DDL_ORACLE_DATA.
)";

constexpr std::string_view about_accuracy = R"(Accuracy

  Speed       1.98 s per step (1.7 to 2.6)
  Confidence  fair, -15 % to +32 % (90 % interval); 46 similar measured runs
              were 8 % off

Nine of ten measured steps should lie in the interval ('calibrate intervals'
counts them). The section Sources names what those runs have in common. The
width of the interval depends on the sources of the numbers, best first:

  kernel times  measured (profile of this device), fitted to published kernels
                of this device, fitted to kernels of other devices
  network       measured on this machine, published clusters, datasheet

Rows that a bracket joins are tied: the difference of their times is smaller
than the prediction error. Most errors are common to all plans of a question,
so the ratio of two plans is more certain than their times.

  ddl-oracle validate RUNS.csv      predictions next to your measured runs
  ddl-oracle calibrate runs TABLE   fits the predictions to your runs
  ddl-oracle calibrate network FILE fits the network to nccl-tests, OSU, …
  ddl-oracle profile MODEL          measures the kernels of your GPU
)";

constexpr auto topic_table = std::to_array<HelpTopic>({
    {"notation", "how a plan is written: dp32·tp2·pp4 v2 z1 m4", about_notation},
    {"memory", "what FITS means, and what saves memory", about_memory},
    {"files", "which files are read and written", about_files},
    {"accuracy", "intervals, ties, and what makes predictions better", about_accuracy},
});

}  // namespace

std::span<const HelpTopic> help_topics() { return topic_table; }

}  // namespace ddl
