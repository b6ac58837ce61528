#include "cli/sentences/sentences.hpp"

#include <string>
#include <utility>

#include "tests/catch.hpp"
#include "tests/compared_estimates.hpp"

namespace sentences_tests {

using namespace ddl;

namespace {

Model two_layers() {
  Model model;
  model.name = "small";
  model.layers.resize(2);
  model.layers[1].name = "narrow";
  return model;
}

std::string compared(const Estimate& explained, const Estimate& other, const std::string& name = "that") {
  const Model model;
  const Compared ours{"this", explained, model}, theirs{name, other, model};
  return describe(compare(ours, theirs), ours, theirs);
}

}  // namespace

TEST_CASE("a limit states the requirement, what is available, and the layer") {
  using Kind = Limit::Kind;
  const Model model = two_layers();
  const auto text = [&](const Limit& limit) { return describe(limit, model); };
  CHECK(text({Kind::batch, 16, 15}) == "needs 16 samples per step, but the global batch has 15");
  CHECK(text({Kind::no_extents, 2, 1}) == "small has no spatial extents to split");
  CHECK(text({Kind::extent, 33, 32, 1}) == "spatial degree 33 exceeds the extent 32 of the first split layer (narrow)");
  CHECK(text({Kind::halo, 5, 4, 1}) == "a halo of 5 is wider than the tile of 4 (narrow)");
  CHECK(text({Kind::filters, 7, 6, 1}) == "filter degree 7 exceeds min F = 6 (narrow)");
  CHECK(text({Kind::channels, 7, 6, 1}) == "channel degree 7 exceeds min C = 6 (narrow)");
  CHECK(text({Kind::tensor_units, 7, 6, 1}) ==
        "tensor degree 7 exceeds the 6 parts into which layers can be split (narrow)");
  CHECK(text({Kind::stages, 5, 4}) == "5 stages, but only 4 layers with weights");
  CHECK(text({Kind::schedule, 5, 4}) == "5 micro-batches, but a replica has only 4 samples");
  CHECK(text({Kind::segment_first, 9, 8}) == "a layout begins at layer 9, but small has 8 layers");
  CHECK(text({Kind::segment_first, 30, 26, -1, "table"}) == "tables from t30 on, but the tables of small are t0 to t25");
  CHECK(text({Kind::devices, 33, 32}) == "33 devices, but the machine has 32");
  CHECK(text({Kind::memory, 0x3p30, 0x2p30}) == "needs 3.00 GiB per device, which has 2.00 GiB: 1.00 GiB too much");
  CHECK(text({Kind::memory, 0x3p30, 0x2p30, -1, "activations", 0x2.8p30}) ==
        "needs 3.00 GiB per device, which has 2.00 GiB: 1.00 GiB too much; 2.50 GiB of it activations");
}

TEST_CASE("several limits are described in one line") {
  Limits limits;
  CHECK(describe(limits, two_layers()).empty());
  limits.add({Limit::Kind::stages, 5, 4});
  limits.add({Limit::Kind::devices, 33, 32});
  CHECK(describe(limits, two_layers()) == "5 stages, but only 4 layers with weights; 33 devices, but the machine has 32");
}

TEST_CASE("a run without a prediction states the reason, which may be a limit of its plan") {
  CHECK(describe(Unpredictable{"the batch is missing"}) == "the batch is missing");
  CHECK(describe(Unpredictable{BrokenLimit{{Limit::Kind::filters, 7, 6, 1}, "small", "narrow"}}) ==
        "filter degree 7 exceeds min F = 6 (narrow)");
  CHECK(describe(Unpredictable{BrokenLimit{{Limit::Kind::no_extents, 2, 1}, "small", ""}}) ==
        "small has no spatial extents to split");
}

TEST_CASE("a finding states its share, and the largest one bounds the plan") {
  using Kind = Finding::Kind;
  const Model model = two_layers();
  const auto text = [&](const Finding& finding) { return describe(finding, model); };
  CHECK(text({Kind::halo, 0.6, {}, true}) == "bound by: halo exchange between tiles takes 60 % of the time");
  CHECK(text({Kind::compute, 0.4}) == "forward and backward compute takes 40 % of the time");
  CHECK(text({Kind::gradient_exchange, 1, Finding::Gradients{16, 0, to_string(AllreduceAlgorithm::hierarchical)}, true}) ==
        "bound by: gradient communication among 16 ranks (hierarchical) takes 100 % of the time");
  CHECK(text({Kind::gradient_exchange, 0.6, Finding::Gradients{8, 2, to_string(AllreduceAlgorithm::ring)}}) ==
        "gradient communication among 8 ranks (ZeRO-2) takes 60 % of the time");
  CHECK(text({Kind::gradient_exchange, 0.1, Finding::Gradients{1, 0, to_string(AllreduceAlgorithm::ring), true}}) ==
        "copying weights from the host takes 10 % of the time");
  CHECK(text({Kind::gradient_exchange, 0.1, Finding::Gradients{2, 3, to_string(AllreduceAlgorithm::ring), true}}) ==
        "copying weights from the host and gradient communication among 2 ranks (ZeRO-3) takes 10 % of the time");
  CHECK(text({Kind::bubble, 0.1, Finding::Pipeline{3, 1}}) ==
        "the pipeline bubble (3 stages, 1 micro-batch) takes 10 % of the time");
  CHECK(text({Kind::bubble, 0.1, Finding::Pipeline{3, 4}}) ==
        "the pipeline bubble (3 stages, 4 micro-batches) takes 10 % of the time");
  CHECK(text({Kind::waiting, 0.1, Finding::Host{Seconds(4e-6)}}) ==
        "waiting for the host (4.00 us per kernel launch) takes 10 % of the time");
  CHECK(
      text({Kind::waiting, 0.8, Finding::Activations{}, true}) ==
      "bound by: waiting for copies of activations to and from the host, and for the slowest rank, takes 80 % of the time");
  CHECK(text({Kind::waiting, 0.6, Finding::Pages{}, true}) ==
        "bound by: loading managed memory from the host takes 60 % of the time");
  CHECK(text({Kind::layer_collectives, 0.1}) == "layer-wise collectives of activations take 10 % of the time");
  CHECK(text({Kind::waiting, 0.1}) == "waiting for the slowest rank and for the framework takes 10 % of the time");
}

TEST_CASE("a finding that is not about time describes its subject") {
  using Kind = Finding::Kind;
  const Model model = two_layers();
  const auto text = [&](const Finding& finding) { return describe(finding, model); };
  const std::string repeats = "25 % of the compute time is redundant, or runs at lower efficiency than unsharded layers";
  CHECK(text({Kind::replicated_work, 0.25}) == repeats);
  CHECK(text({Kind::replicated_work, 0.25, Finding::TilesEnd{1}}) == repeats + "; layers from narrow on are not sharded");
  CHECK(text({Kind::load_imbalance, 1.0 / 3}) == "the slowest stage takes 33 % longer than the mean");
  CHECK(text({Kind::memory_redundancy, 0.3, Finding::Copies{4}}) ==
        "30 % of the memory is model state replicated on 4 ranks");
  CHECK(text({Kind::scaling_limit, 1}) == "each replica has a single sample: data parallelism cannot scale further");
  CHECK(text({Kind::scaling_limit, 2, Finding::Samples{64, 32}}) ==
        "one step needs more samples (64) than the data set has (32)");
  CHECK(text({Kind::local_storage, 4, Finding::DataSet{Bytes(4096), Bytes(1024), true}}) ==
        "the data set (4.00 KiB) does not fit a node's local storage (1.00 KiB): it is read from the shared file system");
  CHECK(text({Kind::local_storage, 4, Finding::DataSet{Bytes(4096), Bytes(1024), false}}) ==
        "the data set (4.00 KiB) does not fit a node's local storage (1.00 KiB): it is read from the shared file system, "
        "whose bandwidth is not in the machine file, so the read time counts as zero");
}

TEST_CASE("for two plans that fit, the sentence names the deciding term, with its numbers") {
  const Estimate fast = estimate_of(1.0, 0.2, 4);
  const Estimate slow = estimate_of(1.1, 0.9, 3);
  CHECK(compared(fast, slow) ==
        "that takes 800 ms (67 %) longer than this, 2.00 s against 1.20 s per step: gradient communication decides, "
        "900 ms against 200 ms");
  CHECK(compared(slow, fast) ==
        "that is faster: it takes 800 ms (40 %) less than this, 1.20 s against 2.00 s per step: gradient communication "
        "decides, 200 ms against 900 ms");
  CHECK(compared(fast, fast, "this") == "this is the explained plan");
}

TEST_CASE("the verb of the deciding term is that of its number") {
  const Estimate few = estimate_of(1.0, 0.2, 4);
  Estimate many = few;
  many.time[Part::layer_collectives] += Seconds(1);
  CHECK_THAT(compared(few, many), ContainsSubstring("layer-wise collectives of activations decide, 1.00 s against"));
}

TEST_CASE("for plans within half a percent, the sentence compares their memory") {
  CHECK(compared(estimate_of(1.0, 0.2, 4), estimate_of(1.001, 0.2, 6)) ==
        "that takes as long as this within 0.5 %, 1.20 s against 1.20 s per step, with 2.00 GiB more memory");
  CHECK(compared(estimate_of(1.0, 0.2, 6), estimate_of(1.001, 0.2, 4)) ==
        "that takes as long as this within 0.5 %, 1.20 s against 1.20 s per step, with 2.00 GiB less memory");
  CHECK(compared(estimate_of(1, 0, 4), estimate_of(1, 0, 4)) ==
        "that takes as long as this within 0.5 %, 1.00 s against 1.00 s per step, with as much memory");
}

TEST_CASE("for a plan that does not fit, the sentence gives the excess, and the deciding item of memory") {
  const Estimate small = estimate_of(1.0, 0.2, 4);
  const Estimate large = estimate_of(0.5, 0.2, 23);
  CHECK(compared(small, large) ==
        "that does not fit: it needs 24.0 GiB per device, which has 16.0 GiB: 8.00 GiB too much; activations decide, 23.0 "
        "GiB against 4.00 GiB of this");
  CHECK(compared(large, small) ==
        "that fits, with 1.20 s per step, but this does not: it needs 24.0 GiB per device, which has 16.0 GiB: 8.00 "
        "GiB too much; activations decide, 23.0 GiB against 4.00 GiB of that");
  CHECK(compared(large, estimate_of(1, 1, 31)) ==
        "neither fits: that needs 32.0 GiB per device, this 24.0 GiB: activations decide, 31.0 GiB against 23.0 GiB");
}

TEST_CASE("for an impossible plan, the sentence gives the reason") {
  const Estimate possible = estimate_of(1.0, 0.2, 4);
  CHECK(compared(possible, impossible()) == "that cannot run: needs 16 samples per step, but the global batch has 8");
  CHECK(compared(impossible(), possible) ==
        "that can run, in 2 min 00 s per epoch, but this cannot: needs 16 samples per step, but the global batch has 8");
  CHECK(compared(impossible(), impossible()) ==
        "neither can run: that: needs 16 samples per step, but the global batch has 8; this: needs 16 samples per step, but "
        "the global batch has 8");
}

TEST_CASE("for plans with different batches, the sentence compares epochs") {
  Estimate large = estimate_of(1.0, 0.8, 4);
  large.plan.global_batch = 128;
  large.epoch = large.time.step_time() * 50.0;
  CHECK(compared(estimate_of(1.0, 0.2, 4), large) ==
        "that is faster: it takes 30.0 s (25 %) less than this, 1 min 30 s against 2 min 00 s per epoch: forward and "
        "backward compute decides, 50.0 s against 1 min 40 s");
}

TEST_CASE("the activity that has grown most is the reason of a slower plan") {
  const SlowdownReason slower = behind_first(estimate_of(1.0, 0.44, 4), estimate_of(1.0, 0.2, 4), {});
  CHECK(slower.longer == "20 %");
  CHECK(slower.why == "gradient communication");
  CHECK(behind_first(estimate_of(1.0, 0.201, 4), estimate_of(1.0, 0.2, 4), {}).longer == "as fast");
}

TEST_CASE("a faster plan that ranks lower has a reason") {
  const Estimate first = estimate_of(1.0, 1.0, 4);
  Estimate faster = estimate_of(0.5, 0.5, 4);
  CHECK(behind_first(faster, first, {}).longer == "-50 %");
  CHECK(behind_first(faster, first, {}).why == "less simple");
  CHECK(behind_first(faster, first, {}, Objective::time, "no tool can run this plan").why == "no tool can run this plan");
  faster.plan.mesh.set(Axis::pipeline, 2);
  const LearnedFamilies of_data{{family_bit(Axis::data), Learned{}}};
  CHECK(behind_first(faster, first, of_data).why == "not covered by the fitted runs");
  Estimate fitting = first;
  fitting.verdict = Verdict::fits;
  faster.verdict = Verdict::at_risk;
  CHECK(behind_first(faster, fitting, of_data).why == "may not fit");
}

TEST_CASE("secondary shards are named with the number of ranks that gather from them") {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 16);
  estimate.plan.zero_stage = 3;
  const auto text = [&](int ranks) {
    estimate.plan.secondary_shards = ranks;
    PhaseShare phase;
    phase.made_of = GradientsOf{0, 3, 16, 1_GiB, 1_GiB, 1, 2};
    return describe(phase, estimate);
  };
  CHECK(text(4) ==
        "reduce-scatter and 2 times allgather of 1.00 GiB among 16 ranks (ZeRO-3); all allgathers except the first use "
        "secondary shards among 4 of them");
  for (const int ranks : {0, 1, 16})
    CHECK(text(ranks) == "reduce-scatter and 2 times allgather of 1.00 GiB among 16 ranks (ZeRO-3)");
}

TEST_CASE("a phase describes the contents of its time") {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 4);
  estimate.plan.mesh.set(Axis::pipeline, 2);
  estimate.plan.global_batch = 32;
  estimate.plan.micro_batches = 4;
  const auto text = [&](PhaseShare::MadeOf made_of, Part part = Part::forward) {
    PhaseShare phase;
    phase.what.part = part;
    phase.made_of = std::move(made_of);
    return describe(phase, estimate);
  };
  CHECK(text(KernelsOf{1, 5}) == "5 layers of stage 2 of 2, 4 micro-batches of 2 samples");
  CHECK(text(KernelsOf{0, 1, Recompute::full, 0, {}, Seconds(1e-3), Seconds(2e-3)}) ==
        "1 layer of stage 1 of 2, 4 micro-batches of 2 samples, recompute forward; 1.00 ms outside kernels; 2.00 ms for "
        "first touches of memory");
  CHECK(text(KernelsOf{0, 9, Recompute::full, 3}) ==
        "9 layers of stage 1 of 2, 4 micro-batches of 2 samples, recompute 3 blocks");
  CHECK(text(KernelsOf{0, 1, Recompute::none, 0, {}, Seconds(-1e-3)}) ==
        "1 layer of stage 1 of 2, 4 micro-batches of 2 samples; 1.00 ms less than kernels");
  CHECK(text(GradientsOf{1, 0, 4, 1_GiB, 1_GiB, 1, 0, Route::host}) ==
        "allreduce of 1.00 GiB of stage 2 of 2 among 4 ranks, ring, through the host");
  CHECK(text(WeightsLeftWhole{}) == "weights of unsharded layers");
  CHECK(text(ExchangesOf{0, 3, 1_GiB, {"ring", "tree", "linear"}}) ==
        "3 communication ops of stage 1 of 2 of 1.00 GiB in total, ring, tree and linear");
  CHECK(text(ExchangesOf{0, 1, 1_GiB, {"ring"}}) == "1 communication op of stage 1 of 2 of 1.00 GiB in total, ring");
  CHECK(text(TransfersOf{8, 1_MiB}) == "8 transfers of 1.00 MiB");
  CHECK(text(BubbleOf{true, 1}) == "1 slot as long as the slowest stage");
  CHECK(text(BubbleOf{false, 1}) == "pipeline bubble: one micro-batch on the other stage, while stage 2 waits");
  CHECK(text(WaitingOf{Seconds(1e-3), Seconds(4e-6), true}) ==
        "1.00 ms for the host (4.00 us per kernel launch); fitted to measured runs");
  CHECK(text(WaitingOf{{}, Seconds(4e-6), true}) == "fitted to measured runs");
  CHECK(text(WaitingOf{{}, Seconds(4e-6), false, Seconds(4.4)}) ==
        "4.40 s for managed memory, which is paged in from the host");
  CHECK(text(UpdateOf{1, 1234567, 4}) == "1,234,567 parameters of stage 2 of 2, sharded among 4 ranks");
  CHECK(text(InputOf{1_MiB}) == "32 samples, 1.00 MiB on disk");
  CHECK(text({}, Part::halo) == "no communication");
  CHECK(text({}, Part::bubble) == "no pipeline");
  CHECK(text({}, Part::waiting) == "none");
  CHECK(text({}, Part::input) == "excluded");
  estimate.plan.zero_stage = 3;
  CHECK(text(GradientsOf{1, 3, 4, 2_GiB, 1_GiB, 2, 3}) ==
        "2 times reduce-scatter of 2.00 GiB and 3 times allgather of 1.00 GiB of stage 2 of 2 among 4 ranks (ZeRO-3)");
  CHECK(text(GradientsOf{1, 3, 4, 1_GiB, 1_GiB, 2, 3}) ==
        "2 times reduce-scatter and 3 times allgather of 1.00 GiB of stage 2 of 2 among 4 ranks (ZeRO-3)");
  estimate.plan.mesh.set(Axis::pipeline, 1);
  estimate.plan.micro_batches = 1;
  CHECK(text(KernelsOf{0, 5}) == "5 layers, 8 samples");
}

}  // namespace sentences_tests
