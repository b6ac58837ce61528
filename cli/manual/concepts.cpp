#include <algorithm>
#include <array>
#include <string>

#include "cli/manual/word_help.hpp"

namespace ddl {
namespace {

constexpr auto concept_table = std::to_array<Concept>({
    // What reports contain
    {"throughput tokens-per-second tokens-per-sec tokens-s samples-per-second images-per-second tps",
     "'recommend' and 'explain' report tokens or samples per second and GPU in the line Speed. The JSON report has them in "
     "'throughput'."},
    {"mfu hfu utilization flops tflops",
     "'recommend' and 'explain' report MFU: the FLOP/s of the model as a share of the datasheet's peak. HFU also counts "
     "recomputed FLOPs. 'models show NAME' lists the FLOPs of each layer."},
    {"step-time iteration-time time-per-step latency",
     "'recommend' and 'explain' report the time of a step with a 90 % interval; 'explain' divides it into phases. 'explain "
     "--measured 3.1s' compares a measured step with it."},
    {"time-to-train training-time wall-clock duration eta",
     "--train-tokens 1T, --epochs 90 or --to-accuracy gives the length of the training; the report then has its time and "
     "cost."},
    {"bubble pipeline-bubble",
     "'explain' has the phase 'bubble': the time in which a stage of a pipeline waits for other stages. --schedule, "
     "--virtual-stages and --micro-batches change the bubble."},
    {"schedule schedules pipeline-schedule 1f1b gpipe zero-bubble zb-h1 zb-v dualpipe",
     "--schedule fixes the schedule; without it, a search chooses. To compare two: explain MODEL --gpus 64 --plan 'dp8·pp8 "
     "m16' --against 'dp8·pp8 zb-h1 "
     "m16'."},
    {"estimate simulate plan optimize search",
     "'recommend' ranks the plans of N GPUs, 'explain' shows one plan, and 'check' says whether a job fits in memory."},
    {"compare comparison versus vs baseline",
     "'recommend --model A,B' and '--machine C,D' compare models and machines, '--machine h100:32,a100:64' also numbers of "
     "GPUs, 'recommend --strategy data,spatial' compares strategies, and 'explain --against PLAN' compares two plans."},
    {"what-if upgrade faster-network faster-gpu",
     "--what-if 'bandwidth(between-nodes)*2' shows the step with a network that is twice as fast; 'bandwidth*2' doubles all "
     "links, NVLink too. Several changes: --what-if 'bandwidth*2' --what-if 'peak(bf16)*0.8'."},
    {"interval uncertainty error confidence tie ties how-sure", "'help accuracy' explains intervals and ties."},
    {"slower slow too-slow why-slow why-slower slower-than-predicted actual observed real measured-step",
     "'explain MODEL --gpus N --plan PLAN --software NAME --measured 3.1s' compares a measured step with the prediction of "
     "its "
     "plan, and says which errors would explain the difference."},
    {"scaling weak-scaling strong-scaling scalability scaling-efficiency",
     "'recommend MODEL --gpus 8..1024' shows the best plan of each number of GPUs: strong scaling with --global-batch, weak "
     "scaling without."},
    {"bottleneck where-does-the-time-go where-the-time-goes trace timeline perfetto chrome-trace gantt",
     "'explain' names the bottleneck of each phase. --format trace writes a timeline for Perfetto and chrome://tracing."},
    // Memory
    {"oom out-of-memory cuda-out-of-memory fit fits memory-usage",
     "'recommend MODEL --lora 16 --gpus 1' says whether a fine-tuning fits on one GPU. 'check JOB.yaml' says it for a job, "
     "with changes that would fit. See 'help memory'."},
    {"activation-memory activations peak-memory memory-breakdown",
     "'explain MODEL --gpus N --memory' lists the memory at the peak of a step, layer by layer. --memory-timeline FILE.svg "
     "draws the memory over the step."},
    {"fragmentation reserved-memory allocator",
     "'explain --memory' shows what torch.cuda.max_memory_allocated, max_memory_reserved and nvidia-smi will report."},
    {"max-batch max-batch-size largest-batch", "'check JOB.yaml' gives the largest batch that fits."},
    {"max-sequence-length longest-sequence", "'check JOB.yaml' gives the longest sequence that fits."},
    {"min-gpus how-many-gpus number-of-gpus hardware-requirements requirements",
     "'recommend MODEL --gpus 8..1024' names the smallest number of GPUs that fits, and with --deadline or --budget the "
     "numbers that meet them. 'check JOB.yaml' gives the fewest GPUs of a job."},
    // Parallelism
    {"data-parallel data-parallelism ddp distributed-data-parallel",
     "--strategy ddp is data parallelism without ZeRO, --strategy fsdp with ZeRO-3; --strategy data tries all stages."},
    {"zero1 zero-1 zero2 zero-2 zero3 zero-3 fsdp2 fully-sharded-data-parallel sharded-data-parallel distributed-optimizer",
     "--zero 1 shards the optimizer's state, --zero 2 the gradients, too, and --zero 3 (FSDP) also the weights. Without "
     "--zero, a search tries all."},
    {"hsdp hybrid-sharding mics",
     "--shard-group N shards among N neighbors, with replicas between the groups (HSDP, MiCS)."},
    {"tensor-parallel tensor-parallelism", "--strategy tensor, or --degrees data=8,tensor=8; see 'help notation'."},
    {"halo halos halo-exchange tiles spatial-parallel spatial-parallelism domain-decomposition",
     "--strategy spatial, or --degrees data=8,spatial=2x2x1, divides each sample into tiles. 'explain' has the time of "
     "halos "
     "in the phase 'halo', and with --format json the bytes of each halo."},
    {"filter-parallel filter-parallelism channel-parallel channel-parallelism",
     "--strategy filter divides the output channels of each layer, --strategy channel the input channels: --degrees "
     "data=8,filter=4. --layers 'fc*: filter=32' divides only some layers."},
    {"pipeline-parallel pipeline-parallelism interleaved interleaved-1f1b",
     "--strategy pipeline, or --degrees data=8,pipeline=8; --schedule and --virtual-stages (interleaved 1F1B) choose the "
     "schedule."},
    {"context-parallel context-parallelism ring-attention ulysses",
     "--strategy context, or --degrees data=8,context=8; --context-exchange chooses ring or ulysses."},
    {"expert-parallel expert-parallelism moe mixture-of-experts experts",
     "--strategy expert, or --degrees data=8,expert=8. --routing, --expert-imbalance and --capacity-factor describe the "
     "load "
     "of experts. 'models list --kind moe' lists mixtures of experts."},
    {"3d-parallelism 4d-parallelism hybrid hybrid-parallelism nd-parallel",
     "--strategy data+tensor+pipeline tries all degrees of one hybrid, --degrees data=8,tensor=8,pipeline=4 predicts one "
     "plan. Without both, a search tries all hybrids."},
    {"etp expert-tensor-parallel", "--expert-tensor whole is expert-tensor-parallel size 1, split shards each expert."},
    {"gradient-accumulation accumulation-steps",
     "--micro-batches is the number of accumulated batches of a step, if the plan has no pipeline."},
    // Kernels and precision
    {"flash-attention flashattention sdpa fused-attention",
     "'models show NAME' and 'software show NAME' say whether attention is fused. "
     "MODEL@fused=no is eager attention, --setting attention=flash2 fixes the kernels."},
    {"torch-compile compile compiled inductor xla",
     "--software pytorch-compiled predicts compiled PyTorch, jax compiled JAX."},
    {"cuda-graph cuda-graphs cudagraph", "--setting 'launch_overhead=1.5 us' predicts steps in CUDA graphs."},
    {"amp autocast mixed", "--mixed-precision autocast predicts PyTorch's AMP; --precision bf16 sets the number format."},
    {"bf16 fp16 fp32 tf32 fp8 nvfp4 mxfp8 mxfp6 mxfp4 half-precision number-format",
     "--precision sets the number format of a training: --precision fp8."},
    {"channels-last nhwc nchw", "--memory-format nhwc is PyTorch's channels_last."},
    {"int8 int4 nf4 4-bit 8-bit bitsandbytes",
     "--base nf4 or int8 is the format of frozen weights; with --lora 16, QLoRA. --precision int8 trains in INT8."},
    {"kernel kernels kernel-time gemm matmul",
     "'predict kernels FILE' predicts single kernels, 'profile MODEL' measures them, 'validate kernels' compares both."},
    {"image-size input-size resolution crop-size volume volumes 3d voxels",
     "--input-shape 3x448x448 (NAME@input=3x448x448) sets the size of the images or volumes of a vision model. --strategy "
     "spatial divides them."},
    // Network and clusters
    {"nccl nccl-tests all-reduce-perf rccl mpi osu",
     "'calibrate network FILE' reads the output of nccl-tests and other benchmarks, 'calibrate live --nccl' or --mpi "
     "measures "
     "the network, and 'predict exchange' predicts single collectives."},
    {"sharp nvls in-network",
     "--allreduce in-network predicts an allreduce in which the switches add the gradients. 'predict exchange "
     "--algorithm all' compares algorithms."},
    {"allreduce all-reduce allgather all-gather reduce-scatter all-to-all alltoall collective collectives",
     "'predict exchange --operation allreduce --ranks 64' predicts collectives. --allreduce fixes the algorithm of "
     "gradients."},
    {"infiniband ethernet roce efa slingshot topology fat-tree torus dragonfly interconnect pcie "
     "network-bandwidth",
     "'machines show NAME' prints a machine file, which describes the network, and 'machines new' writes one. --what-if "
     "'bandwidth(between-nodes)*2' shows the effect of a faster network."},
    {"overlap communication-overlap exposed-communication",
     "'explain' shows hidden and exposed communication. The software says what overlaps; --no-overlap and --setting "
     "overlaps_gradients=no change this."},
    {"slurm sbatch srun pbs lsf launch launcher launch-script launch-dir launch-files torchrun command",
     "'recommend --save-dir DIR' writes launch files (torchrun, Megatron-LM, DeepSpeed, torchtitan, NeMo, Slurm); --for "
     "chooses the framework. --like SCRIPT reads the GPUs of batch scripts."},
    {"tpu tpus trainium gaudi ascend npu",
     "'machines list' also has TPUs, Gaudi, Trainium and Ascend: --machine tpu-v5e. Most of their kernel times are fitted "
     "to GPUs."},
    {"cloud aws azure gcp spot", "'machines list --kind cloud' lists instances of clouds; --price sets your price."},
    {"heterogeneous mixed-gpus",
     "'predict mixed' predicts data parallelism with a batch in proportion to the speed of each GPU."},
    {"calibration", "'calibrate' fits coefficients to measurements; see also 'help accuracy'."},
    // Data and training
    {"dataloader data-loader data-loading io i-o disk storage filesystem",
     "--dataset gives the samples and the machine file the storage. --no-input ignores the time to read samples, "
     "--input-exposed does not overlap it."},
    {"learning-rate convergence accuracy-target mlperf",
     "--to-accuracy uses MLPerf's published samples to the target, --samples-to-target yours. Convergence is not "
     "predicted."},
    {"inference serving kv-cache generation decode prefill rlhf",
     "MODEL@trained=none predicts one forward pass. Caches of keys and values and generation are not modeled."},
    {"grpo ppo dpo reinforcement-learning post-training",
     "--model, --gpus, --seq and --global-batch predict the update of the trained model. Generation, rewards and the "
     "forward pass of a reference model are not predicted."},
    {"evaluation validation-loss eval",
     "--evaluate 50k@1.28M adds evaluations of 50,000 samples to a whole training, after each 1,280,000 training samples."},
    {"checkpoint checkpoints failure",
     "--mtbf '5.8 years per GPU' adds failures and checkpoints to a whole training. For activation checkpointing, see 'help "
     "recompute'."},
    {"energy power power-cap electricity carbon-footprint co2 watt watts kwh",
     "--objective energy ranks by energy; --pue and --carbon add energy and CO2 of a whole training to the "
     "report; --power-limit predicts time and energy with less power for each GPU."},
    // Tools
    {"python api notebook pandas jupyter",
     "'import ddl_oracle' loads the module of the wheel: ddl_oracle.recommend(model=\"llama3-8b\", machine=\"h100\", "
     "gpus=64)."},
    {"yaml model-file own-model my-model custom-model new-model",
     "--model FILE.yaml reads a model file, which lists the input and the layers (docs/models.md). 'models import FILE' "
     "writes one, and 'models show FILE.yaml' checks it."},
    {"own-machine my-machine own-cluster my-cluster custom-machine on-premise machine-file",
     "'machines new ours --gpu rtx4090 --per-node 4 --nodes 4 --network 100Gb/s -o ours.yaml' writes a machine file, and "
     "--machine ours.yaml reads it."},
    {"dropout", "MODEL@dropout=0.1 sets the rate of dropout; 'models show NAME' lists its layers."},
    {"hidden-size num-layers num-heads vocab-size vocab",
     "MODEL@layers=12 sets a size of a model; 'models show NAME' lists the sizes."},
    {"runs measured measured-runs runs-csv predicted-vs-measured",
     "'explain --measured 3.1s' compares one step, 'validate RUNS.csv' a table of measured runs. The table has the columns "
     "model, strategy, gpus, "
     "global_batch, quantity (such as iter_total_s, the time of a step) and value. 'calibrate runs' fits factors to such a "
     "table."},
    {"sft full-fine-tuning instruction-tuning", "--lora 16 trains only adapters. Without it, all weights are trained."},
    {"onnx import huggingface hugging-face config-json import-model",
     "'models import FILE' writes a model file from an ONNX file or a config.json of Hugging Face; --model also takes "
     "them."},
    {"web web-page page browser gui dashboard ui", "'serve' answers in a browser."},
    {"ci github junit pre-commit", "'check JOB.yaml' has exit codes for CI, and --format junit or github."},
    {"exit-code exit-codes exit-status return-code",
     "0: answered. 1: nothing fits, or a tolerance was missed. 2: the question cannot be answered. 3: 'check', the training "
     "may not fit. 130: interrupted."},
});

}  // namespace

std::span<const Concept> concepts() { return concept_table; }

bool is_spelling(const Concept& each, std::string_view plain) {
  return !plain.empty() && (" " + std::string(each.words) + " ").find(" " + std::string(plain) + " ") != std::string::npos;
}

std::string_view answer_about(std::string_view plain) {
  const auto found = std::ranges::find_if(concept_table, [&](const Concept& each) { return is_spelling(each, plain); });
  return found == concept_table.end() ? std::string_view() : found->answer;
}

}  // namespace ddl
