#include <algorithm>
#include <array>

#include "cli/manual/word_help.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

constexpr std::string_view say_all_gpus = "use --gpus, the total over all nodes";
constexpr std::string_view say_sequence = "use --seq, the tokens per sample";
constexpr std::string_view say_micro_batch =
    "--micro-batches is the number of micro-batches: the batch per GPU divided by the samples of a micro-batch";
constexpr std::string_view say_batch = "use --global-batch, the samples per step of all GPUs, or --batch-per-gpu";
constexpr std::string_view say_batch_tokens =
    "use --global-batch in samples: the tokens per step divided by the tokens per sample (--seq)";
constexpr std::string_view say_machine =
    "use --machine for the hardware (see 'machines list'), and --gpus for the number of GPUs";
constexpr std::string_view say_price = "use --price 2.5USD/h, the price of a GPU for an hour";
constexpr std::string_view say_tokens =
    "use --train-tokens 1T for the length of the training, or --seq for the tokens per sample";
constexpr std::string_view say_length = "use --train-tokens 1T or --epochs 90, the length of the training";
constexpr std::string_view say_lora = "set the rank of LoRA: --lora 16";
constexpr std::string_view say_fine_tuning = "use --lora 16 for adapters of rank 16; without it, all weights are trained";
constexpr std::string_view say_recompute = "use --recompute full or --recompute selective";
constexpr std::string_view say_memory =
    "use --gpu-memory 80GiB, the memory of a GPU, or --margin 5%, the memory to keep free";
constexpr std::string_view say_deadline = "use --deadline 7d, the longest time of the whole training";
constexpr std::string_view say_budget = "use --budget 10kUSD, the highest cost of the whole training";
constexpr std::string_view say_framework =
    "use --for torchtitan for plans and files of a framework, or --software for its speed (see 'software list')";
constexpr std::string_view say_failures =
    "use --mtbf '5.8 years per GPU' (mean time between failures), and set the training's length with --train-tokens or "
    "--epochs";
constexpr std::string_view say_format = "use --format json, or csv, html, markdown";

constexpr auto synonym_table = std::to_array<Synonym>({
    // torchrun, Slurm, Megatron-LM, torchtitan, transformers and DeepSpeed
    {"nodes", "gpus", say_all_gpus},
    {"nnodes", "gpus", say_all_gpus},
    {"num-nodes", "gpus", say_all_gpus},
    {"world-size", "gpus", "use --gpus"},
    {"num-gpus", "gpus", "use --gpus"},
    {"ngpus", "gpus", "use --gpus"},
    {"n-gpus", "gpus", "use --gpus"},
    {"devices", "gpus", "use --gpus"},
    {"nproc-per-node", "gpus", say_all_gpus},
    {"scale", "gpus", "use several numbers of GPUs: --gpus 8..1024"},
    {"sweep", "gpus", "use several numbers of GPUs: --gpus 8..1024"},
    {"tokens", "train-tokens", say_tokens},
    {"tokens", "seq", say_sequence},
    {"context", "seq", say_sequence},
    {"context-length", "seq", say_sequence},
    {"max-seq-len", "seq", say_sequence},
    {"max-length", "seq", say_sequence},
    {"block-size", "seq", say_sequence},
    {"micro-batch", "micro-batches", say_micro_batch},
    {"micro-batch-size", "micro-batches", say_micro_batch},
    {"mbs", "micro-batches", say_micro_batch},
    {"gradient-accumulation-steps", "micro-batches",
     "use --micro-batches, without a pipeline the number of accumulated batches"},
    {"grad-accum", "micro-batches", "use --micro-batches, without a pipeline the number of accumulated batches"},
    {"gbs", "global-batch", "use --global-batch"},
    {"batch-size", "global-batch", say_batch},
    {"train-batch-size", "global-batch", say_batch},
    {"bs", "global-batch", say_batch},
    {"batch-tokens", "global-batch", say_batch_tokens},
    {"global-batch-tokens", "global-batch", say_batch_tokens},
    {"tokens-per-batch", "global-batch", say_batch_tokens},
    {"tokens-per-step", "global-batch", say_batch_tokens},
    {"dtype", "precision", "use --precision"},
    {"quantization", "precision", "use --precision fp8 or nvfp4; frozen weights in 4 bits (QLoRA): --lora 16 --base nf4"},
    {"quantize", "precision", "use --precision fp8 or nvfp4; frozen weights in 4 bits (QLoRA): --lora 16 --base nf4"},
    {"forward-only", "lora", "use MODEL@trained=none: a step is then a forward pass"},
    {"lora-rank", "lora", say_lora},
    {"lora-r", "lora", say_lora},
    {"peft", "lora", say_lora},
    {"dora", "adapter", "write --lora 16 --adapter dora"},
    {"use-dora", "adapter", "write --lora 16 --adapter dora"},
    {"galore-rank", "projection-rank", "write --optimizer galore --projection-rank 128"},
    {"galore", "optimizer", "write --optimizer galore, or galore8bit; --projection-rank gives the rank"},
    {"tiled-mlp", "mlp-tiles", "write --mlp-tiles 0 for tiles as long as the hidden size"},
    {"fine-tune", "lora", say_fine_tuning},
    {"fine-tuning", "lora", say_fine_tuning},
    {"finetune", "lora", say_fine_tuning},
    {"qlora", "lora", "QLoRA has frozen weights in 4 bits: --lora 16 --base nf4"},
    {"gpu", "machine", say_machine},
    {"device", "machine", say_machine},
    {"accelerator", "machine", say_machine},
    {"hardware", "machine", say_machine},
    {"cluster", "machine", say_machine},
    {"system", "machine", say_machine},
    {"network", "machine",
     "the network is a part of the machine: see 'machines show NAME', or 'machines new' for your own machine"},
    {"bandwidth", "machine",
     "the network is a part of the machine: see 'machines show NAME', or 'machines new' for your own machine"},
    {"cost-per-hour", "price", say_price},
    {"gpu-price", "price", say_price},
    {"price-per-gpu", "price", say_price},
    {"price-per-hour", "price", say_price},
    {"hourly-rate", "price", say_price},
    {"rate", "price", say_price},
    {"usd", "price", say_price},
    {"dollars", "price", say_price},
    {"cost", "price", "--objective cost ranks by cost, and --price 2.5USD/h sets the price of a GPU for an hour"},
    {"money", "budget", say_budget},
    {"max-cost", "budget", say_budget},
    {"zero-stage", "zero", "use --zero 3"},
    {"step-time", "measured", "use --measured 3.1s"},
    {"observed", "measured", "use --measured 3.1s"},
    {"vpp", "virtual-stages", "use --virtual-stages 2, the virtual stages (model chunks) of each pipeline stage"},
    {"interleave", "virtual-stages", "use --virtual-stages 2, the virtual stages (model chunks) of each pipeline stage"},
    {"gpu-type", "machine", say_machine},
    {"machine-type", "machine", say_machine},
    {"instance", "machine", say_machine},
    {"instance-type", "machine", say_machine},
    {"per-device-batch", "batch-per-gpu", "use --batch-per-gpu"},
    {"per-device-batch-size", "batch-per-gpu", "use --batch-per-gpu"},
    {"per-device-train-batch-size", "batch-per-gpu", "use --batch-per-gpu"},
    {"per-gpu-batch", "batch-per-gpu", "use --batch-per-gpu"},
    {"workers", "loader-workers", "use --loader-workers, the processes of each rank that decode images"},
    {"num-workers", "loader-workers", "use --loader-workers, the processes of each rank that decode images"},
    {"recompute-activations", "recompute", say_recompute},
    {"time", "deadline", say_deadline},
    {"days", "deadline", say_deadline},
    {"hours", "deadline", say_deadline},
    {"walltime", "deadline", say_deadline},
    {"fsdp", "zero", "FSDP is ZeRO-3: use --strategy fsdp; recommend --for fsdp writes launch files"},
    {"nvlink", "machine",
     "the network is a part of the machine: see 'machines show NAME', or 'machines new' for your own machine"},
    {"failures", "mtbf", say_failures},
    {"failure-rate", "mtbf", say_failures},
    {"mttf", "mtbf", say_failures},
    {"goodput", "mtbf", say_failures},
    {"checkpoint-interval", "checkpoint-every", "use --checkpoint-every 30min"},
    {"save-interval", "checkpoint-every", "use --checkpoint-every 30min"},
    {"training-tokens", "train-tokens", say_tokens},
    {"total-tokens", "train-tokens", say_tokens},
    {"num-tokens", "train-tokens", say_tokens},
    {"steps", "train-tokens", say_length},
    {"max-steps", "train-tokens", say_length},
    {"train-iters", "train-tokens", say_length},
    {"iterations", "train-tokens", say_length},
    {"vram", "gpu-memory", say_memory},
    {"ram", "offload", "use --offload optimizer or weights to use host memory, or --gpu-memory 80GiB for a GPU's"},
    {"hbm", "gpu-memory", say_memory},
    {"mem", "gpu-memory", say_memory},
    {"max-memory", "gpu-memory", say_memory},
    {"memory-limit", "gpu-memory", say_memory},
    {"activation-checkpointing", "recompute", say_recompute},
    {"gradient-checkpointing", "recompute", say_recompute},
    {"checkpointing", "recompute", say_recompute},
    {"remat", "recompute", say_recompute},
    {"ac", "recompute", say_recompute},
    {"cpu-offload", "offload", "use --offload optimizer or weights, or --offload-activations yes"},
    {"framework", "for", say_framework},
    {"trainer", "for", say_framework},
    {"tool", "for", say_framework},
    {"backend", "for", say_framework},
    {"library", "for", say_framework},
    {"json", "format", say_format},
    {"csv", "format", say_format},
    {"html", "format", say_format},
    {"markdown", "format", say_format},
    {"out", "output", "use --output FILE for the report, or --save-dir DIR for launch files"},
    {"output-dir", "save-dir", "use --save-dir DIR"},
    {"verbose", "wide", "use --wide for all columns"},
    {"config", "like", "use --like FILE, a configuration of torchtitan, Megatron-LM, DeepSpeed or another trainer"},
    {"parallelism", "strategy", "use --strategy data+tensor for a strategy, or --degrees data=8,tensor=8 for one plan"},
    {"mode", "strategy", "use --strategy data+tensor for a strategy, or --degrees data=8,tensor=8 for one plan"},
    {"explain", "plan", "'ddl-oracle explain' explains one plan"},
});

}  // namespace

std::span<const Synonym> synonyms() { return synonym_table; }

std::string plain_word(std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  std::string word = lower_case(typed);
  std::ranges::replace(word, '_', '-');
  return word;
}

}  // namespace ddl
