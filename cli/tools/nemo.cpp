#include <array>

#include <fmt/format.h>

#include "cli/tools/megatron.hpp"

namespace ddl {
namespace nemo_tables {

// Sources of names and defaults: NVIDIA/NeMo, examples/nlp/language_modeling/conf/megatron_gpt_config.yaml;
// NVIDIA-NeMo/Megatron-Bridge, training/config.py and training/mixed_precision.py. NeMo and Megatron-Bridge pass further
// arguments to Megatron Core, under Megatron Core's names.
constexpr auto norms =
    argument_words("layernorm=layer", "LayerNorm=layer", "layernorm1p=layer", "rmsnorm=rms", "RMSNorm=rms");
constexpr auto positions = argument_words("learned_absolute=learned", "rope=rope", "none=none");
constexpr auto granularities = argument_words("full=full", "selective=selective");
constexpr auto activations = argument_words("gelu=gelu", "swiglu>swiglu", "fast-swiglu=swiglu", "squared-relu=relu2",
                                            "geglu=geglu", "fast-geglu=geglu");
constexpr auto precisions = argument_words(
    "bf16=bf16", "bf16-mixed=bf16", "16=fp16", "16-mixed=fp16", "32=fp32", "32-true=fp32", "bf16_mixed=bf16",
    "fp16_mixed=fp16", "fp16-mixed=fp16", "bf16_with_fp8_delayed_scaling_mixed=fp8",
    "bf16_with_fp8_current_scaling_mixed=fp8", "bf16_with_fp8_subchannel_scaling_mixed=fp8", "bf16_with_mxfp8_mixed=fp8",
    "bf16_with_nvfp4_mixed=nvfp4", "fp16_with_fp8_delayed_scaling_mixed=fp8", "fp16_with_fp8_current_scaling_mixed=fp8");
// NeMo's Adam with weight decay is AdamW.
constexpr auto optimizers =
    argument_words("fused_adam=adam", "fused_adam=adamw", "distributed_fused_adam=adam", "distributed_fused_adam=adamw",
                   "adam=adam", "adamw=adamw", "megatron_fused_adam=adam", "mcore_distributed_optim=adam", "sgd>momentum");
// An optimizer with a distributed implementation shards its state, as ZeRO-1 does.
constexpr auto sharding_optimizers = argument_words("distributed_fused_adam=1", "mcore_distributed_optim=1", "fused_adam=0",
                                                    "megatron_fused_adam=0", "adam=0", "adamw=0", "sgd=0");
constexpr auto routings = argument_words("aux_loss=natural", "seq_aux_loss=natural", "global_aux_loss=natural",
                                         "sinkhorn=natural", "none=natural");
constexpr auto scores = argument_words("softmax=softmax", "sigmoid=sigmoid");
constexpr auto exchanges = argument_words("p2p=ring", "a2a=ulysses", "all_gather=ring");

// Without a scheme, all weights are trained, and the sections of all schemes are ignored.
// NeMo has a flag; Megatron-Bridge has the format of the numbers [megatron/core/transformer/transformer_config.py].
constexpr auto fp8_values = argument_words("true=yes", "false=no", "hybrid=yes", "e4m3=yes");
constexpr auto schemes = argument_words("lora=lora", "qlora=lora", "null=none", "none=none", "=none");

constexpr auto recompute_methods = argument_words("block=block", "uniform=uniform", "=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    // Arguments of NeMo 1. If Megatron Core's TransformerConfig has a field with an argument's
    // name, NeMo sets this field [NVIDIA/NeMo, megatron_base_model.py, build_transformer_config].
    {"trainer.num_nodes", ConfigField::nodes},
    {"trainer.devices", ConfigField::gpus_per_node},
    {"trainer.precision", ConfigField::precision, "", precisions},
    {"model.micro_batch_size|train.micro_batch_size", ConfigField::micro_batch},
    {"model.global_batch_size|train.global_batch_size", ConfigField::global_batch},
    {"model.tensor_model_parallel_size", ConfigField::tensor},
    {"model.pipeline_model_parallel_size", ConfigField::pipeline},
    {"model.virtual_pipeline_model_parallel_size", PlanChoice::virtual_stages},
    {"model.num_layers_in_first_pipeline_stage", PlanChoice::first_stage_blocks},
    {"model.num_layers_in_last_pipeline_stage", PlanChoice::last_stage_blocks},
    {"model.account_for_embedding_in_pipeline_split", ConfigField::embedding_slot, "", common::flags},
    {"model.account_for_loss_in_pipeline_split", ConfigField::loss_slot, "", common::flags},
    {"model.context_parallel_size", ConfigField::context},
    {"model.cp_comm_type", PlanChoice::context_exchange, "", exchanges},
    {"model.sequence_parallel", PlanChoice::sequence_parallel, "", common::flags},
    weak({"model.encoder_seq_length", ConfigField::sequence}),
    {"model.max_position_embeddings", ConfigField::positions},
    {"model.num_layers", ConfigField::layers},
    {"model.hidden_size", ConfigField::hidden},
    {"model.ffn_hidden_size", ConfigField::feed_forward},
    {"model.num_attention_heads", ConfigField::heads},
    {"model.num_query_groups", ConfigField::kv_heads},
    {"model.kv_channels", ConfigField::head_size},
    {"model.override_vocab_size|model.vocab_size", ConfigField::vocabulary},
    {"model.make_vocab_size_divisible_by", ConfigField::vocabulary_multiple},
    {"model.hidden_dropout", ConfigField::hidden_dropout},
    {"model.attention_dropout", ConfigField::attention_dropout},
    {"model.normalization", ConfigField::norm, "", norms},
    {"model.activation", ConfigField::activation, "", activations},
    {"model.position_embedding_type", ConfigField::position, "", positions},
    {"model.rotary_percentage|model.rotary_percent", ConfigField::rotary_percent},
    {"model.bias|model.add_bias_linear", ConfigField::bias, "", common::flags},
    {"model.add_qkv_bias|model.qkv_bias", ConfigField::qkv_bias, "", common::flags},
    {"model.qk_layernorm", ConfigField::query_key_norm, "", common::flags},
    {"model.share_embeddings_and_output_weights", ConfigField::tied, "", common::flags},
    {"model.activations_checkpoint_granularity|model.recompute_granularity", PlanChoice::recompute, "", granularities},
    {"model.activations_checkpoint_method|model.recompute_method", ConfigField::recompute_method, "", recompute_methods},
    {"model.activations_checkpoint_num_layers|model.recompute_num_layers", ConfigField::recompute_layers},
    {"model.recompute_modules", PlanChoice::recompute_modules},
    {"model.fp8", ConfigField::fp8, "", fp8_values},
    {"model.optim.name", PlanChoice::zero, "", sharding_optimizers},
    {"model.optim.name|optimizer.optimizer", ConfigField::optimizer, "", optimizers},
    {"model.optim.overlap_grad_sync|ddp.overlap_grad_reduce", ConfigField::overlap, "", common::flags},
    // Arguments of Megatron-Bridge, and other spellings of arguments.
    only_read({"mixed_precision", ConfigField::precision, "", precisions}),
    only_read({"model.expert_model_parallel_size", ConfigField::expert}),
    only_read({"ddp.use_distributed_optimizer|optimizer.use_distributed_optimizer", PlanChoice::zero, "", common::counts}),
    only_read({"model.fsdp", ConfigField::fsdp, "", common::only_yes}),
    weak(only_read({"model.optim.use_distributed_optimizer", PlanChoice::zero, "", common::counts})),
    only_read({"model.cpu_offloading", PlanChoice::offload_activations, "", common::flags}),
    only_read({"optimizer.optimizer_cpu_offload", PlanChoice::offload, "", common::state_offloads}),
    only_read({"model.expert_tensor_parallel_size", ConfigField::expert_tensor}),
    only_read({"model.peft.peft_scheme", ConfigField::adapter, "", schemes}),
    only_read({"model.peft.lora_tuning.adapter_dim|peft.dim", ConfigField::adapter_rank}),
    only_read({"model.peft.lora_tuning.adapter_dropout|peft.dropout", ConfigField::adapter_dropout}),
    only_read({"model.peft.lora_tuning.target_modules|peft.target_modules", ConfigField::adapter_layers}),
    only_read({"model.seq_length|model.data.seq_length", ConfigField::sequence}),
    // Fine-tuning uses the length and the batch in the section of the data set [NVIDIA/NeMo-Aligner,
    // examples/nlp/gpt/train_gpt_sft.py].
    only_read({"model.data.train_ds.max_seq_length|dataset.seq_length|dataset.sequence_length", ConfigField::sequence}),
    only_read(weak({"model.data.train_ds.global_batch_size", ConfigField::global_batch})),
    only_read(weak({"model.data.train_ds.micro_batch_size", ConfigField::micro_batch})),
    only_read({"model.num_moe_experts", ConfigField::experts}),
    only_read({"model.moe_router_topk", ConfigField::active_experts}),
    only_read({"model.moe_ffn_hidden_size", ConfigField::expert_feed_forward}),
    only_read({"model.gated_linear_unit", ConfigField::gated, "", common::flags}),
    only_read({"model.pipeline_model_parallel_layout", ConfigField::stage_layout}),
    only_read({"model.moe_router_force_load_balancing", ConfigField::routing_forced, "", common::flags}),
    only_read({"model.moe_router_enable_expert_bias", ConfigField::routing_bias, "", common::flags}),
    only_read({"model.moe_router_load_balancing_type", ConfigField::routing, "", routings}),
    only_read({"model.moe_expert_capacity_factor", ConfigField::capacity_factor}),
    only_read({"model.moe_pad_expert_input_to_capacity", ConfigField::padded_experts, "", common::flags}),
    only_read({"model.multi_latent_attention", ConfigField::latent, "", common::flags}),
    only_read({"model.q_lora_rank", ConfigField::query_rank}),
    only_read({"model.kv_lora_rank", ConfigField::kv_rank}),
    only_read({"model.qk_head_dim", ConfigField::key_size}),
    only_read({"model.qk_pos_emb_head_dim", ConfigField::rotary_size}),
    only_read({"model.v_head_dim", ConfigField::value_size}),
    only_read({"model.moe_layer_freq", ConfigField::expert_layers}),
    only_read({"model.moe_shared_expert_intermediate_size", ConfigField::shared_width}),
    only_read({"model.moe_shared_expert_gate", ConfigField::shared_gate, "", common::flags}),
    only_read({"model.moe_router_score_function", ConfigField::scores, "", scores}),
    only_read({"model.moe_router_num_groups", ConfigField::expert_groups}),
    only_read({"model.moe_router_group_topk", ConfigField::active_groups}),
    only_read({"model.tokenizer.model|tokenizer.tokenizer_model", ConfigField::tokenizer}),
    only_read({"model.tokenizer.type", ConfigField::tokenizer_kind}),
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::hidden_dropout, "0.1"},
                                                  {ConfigField::attention_dropout, "0.1"},
                                                  {ConfigField::vocabulary_multiple, "128"}});

constexpr auto missing = std::to_array<MissingValue>({
    {ConfigField::experts, "this form of NeMo's configuration has no experts: use Megatron-LM's arguments"},
    {ConfigField::fp4, "this form of NeMo's configuration has no nvfp4: use Megatron-LM's"},
    {ConfigField::optimizer, "the distributed optimizer is Adam"},
    {PlanChoice::zero, "the distributed optimizer is ZeRO-1: --zero 1"},
    {PlanChoice::shard_group, "the distributed optimizer shards among all data-parallel ranks"},
    {PlanChoice::schedule, "pipelines run 1F1B: --schedule 1f1b"},
});

constexpr auto not_modeled =
    argument_names("model.ub_tp_comm_overlap", "model.tp_comm_overlap", "model.megatron_amp_O2", "model.fp8_params",
                   "model.grad_allreduce_chunk_size_mb", "model.moe_token_dispatcher_type", "model.window_size",
                   "model.mtp_num_layers", "model.cuda_graph_impl", "model.enable_cuda_graph", "model.rampup_batch_size",
                   "ddp.grad_reduce_in_fp32", "optimizer.use_precision_aware_optimizer", "comm_overlap.tp_comm_overlap");

constexpr auto marks = argument_names(
    "model.micro_batch_size", "model.global_batch_size", "model.encoder_seq_length", "model.tensor_model_parallel_size",
    "model.pipeline_model_parallel_size", "model.megatron_amp_O2", "model.mcore_gpt", "train.micro_batch_size",
    "ddp.use_distributed_optimizer", "model.activations_checkpoint_granularity", "model.context_parallel_size");

constexpr auto harmless = argument_names(
    "name", "restore_from_path", "defaults*", "hydra*", "exp_manager*", "run.*", "cluster*", "trainer.max_*",
    "trainer.log_*", "trainer.val_*", "trainer.limit_*", "trainer.accelerator", "trainer.enable_*", "trainer.logger",
    "trainer.use_*", "trainer.benchmark", "trainer.gradient_clip_val", "trainer.accumulate_grad_batches",
    "trainer.num_sanity_val_steps", "model.data*", "model.optim.*", "model.tokenizer*", "model.seed", "model.init_*",
    "model.use_cpu_initialization", "model.layernorm_epsilon", "model.rotary_base", "model.rotary_interleaved",
    "model.native_amp*", "model.nsys*", "model.hysteresis", "model.fp16_lm_cross_entropy", "model.fp32_residual_connection",
    "model.mcore_gpt", "model.transformer_engine", "model.resume_*", "model.restore_*", "model.save_*",
    "model.do_layer_norm_weight_decay", "model.apply_query_key_layer_scaling", "model.bias_*", "model.masked_softmax_fusion",
    "model.gradient_as_bucket_view", "model.gradient_accumulation_fusion", "model.persist_layer_norm", "model.pre_process",
    "model.post_process", "model.headscale", "model.attention_type", "model.transformer_block_type", "model.kv_channels",
    "model.fp8_*", "model.gc_interval", "model.batch_p2p_comm", "model.overlap_p2p_comm",
    "model.seq_len_interpolation_factor", "model.num_micro_batches_with_partial_activation_checkpoints",
    "model.activations_checkpoint_layers_per_pipeline", "model.precision", "model.target",
    "model.nccl_communicator_config_path", "model.reduce_amax", "model.use_emha", "model.optimizer_offload_fraction",
    "train.*", "optimizer.*", "scheduler.*", "checkpoint.*", "logger.*", "rng.*", "tokenizer.*", "dataset.*", "dist.*",
    "profiling.*", "validation.*", "ddp.*", "model.perform_initialization", "model.onnx_safe", "model.sync_batch_comm",
    "model.use_flash_attention", "model.rotary_scaling*", "model.scale_positional_embedding", "model.use_scaled_init_method",
    "model.normalize_attention_scores", "model.grad_div_ar_fusion", "model.apex_transformer_log_level",
    "model.apply_rope_fusion", "model.layernorm_zero_centered_gamma", "model.name", "misc.*", "model.gc_interval*",
    "model.dist_ckpt_*", "model.use_te_rng_tracker", "model.fsdp_*", "model.peft.*", "model.answer_only_loss");

constexpr auto other_model = "name the trained model with --model; the other arguments of the file are used";
constexpr auto as_options = "set model and plan by options: recommend MODEL --gpus N";
constexpr auto reinforced = "samples are generated and scored in addition to training";
constexpr auto second_model = "a second model runs without gradients";
constexpr auto step_alone = "use options for the training step alone: --model, --gpus, --global-batch";
constexpr auto as_lora = "'explain NAME@lora=16' predicts low-rank adapters";
constexpr auto refused = std::to_array<RefusedArgument>({
    // NeuronX Distributed Training has its degrees and batch in sections that NeMo does not have
    // [aws-neuron/neuronx-distributed-training, examples/conf].
    {"distributed_strategy.*", "this plan of NeuronX Distributed Training is not read", as_options},
    // A recipe of Megatron-Bridge sets degrees and recomputation unless the command does [scripts/training/run_recipe.py].
    {.key = "--recipe",
     .reason = "the recipe is written in Python, which is not read, so its degrees are unknown",
     .hint = "add the degrees to the command, such as model.tensor_model_parallel_size=2, or set model and plan by options: "
             "explain MODEL --plan",
     .values = "*",
     .without = "--model.tensor-model-parallel-size"},
    {"model.mtp_num_layers", "no supported family of models predicts several tokens ahead", other_model, true},
    {"model.hybrid_override_pattern", "not all layers are transformer blocks", other_model, true},
    {"model.hyena.*", "the layers are not transformer blocks", other_model, true},
    // Only Griffin has this key, with any value [NVIDIA/NeMo, examples/nlp/language_modeling, megatron_griffin].
    {"model.activations_checkpoint_recurrent", "not all layers are transformer blocks", other_model, true, "*"},
    {"model.mcore_bert", "an encoder is trained", "name the trained model, such as --model bert-large", true, "*", "",
     "bert"},
    {"model.bert_binary_head", "an encoder is trained", "name the trained model, such as --model bert-large", true, "*", "",
     "bert"},
    {"model.encoder.*", "an encoder and a decoder are trained", other_model, true, "", "", "t5"},
    {"model.decoder.*", "an encoder and a decoder are trained", other_model, true, "", "", "t5"},
    {"model.data.train_ds.max_src_seq_length", "an encoder and a decoder are trained", other_model, true, "", "", "t5"},
    {"model.data.train_ds.max_tgt_seq_length", "an encoder and a decoder are trained", other_model, true, "", "", "t5"},
    {"model.vision_pretraining_type", "a vision model is trained", other_model, true, "", "", "vit"},
    {"model.img_h", "a vision model is trained", other_model, true, "", "", "vit"},
    {"model.text.*", "a loss compares all images and texts of a batch", as_options},
    {"model.unet*", "a diffusion model is trained", other_model, true, "", "", "diffusion_unet"},
    {"model.denoiser_config*", "a diffusion model is trained", other_model, true, "", "", "diffusion_unet"},
    // Blocks of Wan and Flux [NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/diffusion/models].
    {"model.crossattn_emb_size", "a diffusion model is trained", other_model, true, "*", "", "diffusion_unet"},
    {"model.num_joint_layers", "a diffusion model is trained", other_model, true, "*", "", "diffusion_unet"},
    {"model.retro.*", "the model retrieves text", other_model, true},
    {"model.mm_cfg*", "a vision model is trained as well", other_model, true},
    {"model.vision*", "a vision model is trained as well", other_model, true},
    {"model.peft.peft_scheme", "only low-rank adapters are read", as_lora, false, "ptuning adapter ia3 adapter_tuning"},
    {"model.virtual_prompt_style", "only low-rank adapters are read", as_lora},
    {"model.adapter_tuning*", "only low-rank adapters are read", as_lora},
    {"model.ia3_tuning*", "only low-rank adapters are read", as_lora},
    // Sections of NVIDIA/NeMo-Aligner, examples/nlp/gpt/conf.
    {"trainer.ppo.*", reinforced, step_alone},
    {"trainer.reinforce.*", reinforced, step_alone},
    {"trainer.rs.*", reinforced, step_alone},
    {"trainer.spin.*", reinforced, step_alone},
    {"trainer.dpo.*", second_model, other_model, true},
    {"trainer.kto.*", second_model, other_model, true},
    {"trainer.knowledge_distillation.*", second_model, other_model, true},
    {"model.kd_teacher_*", second_model, other_model, true, "*", "null none ~"},
    {"trainer.rm.*", "two samples are compared", other_model, true},
    {"inference.inference_micro_batch_size", "a model is served", "pass the configuration of the training instead"},
    {"model.eval_batch_size", "a model is evaluated", "pass the configuration of the training instead"},
    {"inference.outfile_path", "text is generated", "pass the configuration of the training instead"},
    {"inference.tokens_to_generate", "text is generated", "pass the configuration of the training instead"},
    {"run.huggingface_ckpt_path", "checkpoints are converted", "pass the configuration of the training instead", false, "*"},
    {"run.fine_tuning_dir", "a model is evaluated", "pass the configuration of the training instead", false, "*"},
});

}  // namespace nemo_tables

const ConfigurationFormat nemo_yaml{"NeMo or Megatron-Bridge",
                                    "nemo",
                                    ConfigurationLanguage::yaml,
                                    nemo_tables::rows,
                                    nemo_tables::usual,
                                    nemo_tables::not_modeled,
                                    nemo_tables::missing,
                                    nemo_tables::marks,
                                    {},
                                    nemo_tables::harmless,
                                    nemo_tables::refused};

LaunchOutcome launch_nemo(const LaunchRequest& request) {
  MegatronRun run = megatron_run(request, nemo_yaml);
  if (run.refused) return *run.refused;
  RunValues& values = run.values;
  const LaunchNodes nodes = launch_nodes(request);
  values.set(ConfigField::nodes, nodes.nodes);
  values.set(ConfigField::gpus_per_node, nodes.devices_per_node);
  if (std::optional<CannotLaunch> lacks = refused(request, nemo_yaml, values)) return *lacks;

  ConfigText text(nemo_yaml, values);
  text.set("trainer.accelerator", "gpu");
  text.set("trainer.max_steps", 100);
  text.set("trainer.log_every_n_steps", 10);
  text.set("trainer.limit_val_batches", 0);
  text.set("trainer.accumulate_grad_batches", 1);
  for (const char* flag : {"mcore_gpt", "megatron_amp_O2", "transformer_engine"})
    text.set(fmt::format("model.{}", flag), true);
  if (values.is(ConfigField::fp8, "yes")) text.set("model.fp8_hybrid", true);
  text.set("model.optim.lr", 1e-4);
  text.set("model.optim.weight_decay", 0.1);
  text.note("model.data", "# REAL DATA: data_impl mmap, with data_prefix and the tokenizer of the data.");
  text.set("model.data.data_impl", "mock");
  text.set("model.data.data_prefix", ConfigText::Json::array());
  text.set("model.data.splits_string", "90,8,2");
  Launch launch;
  launch.files = {{"launch/nemo.yaml",
                   "# The values of the plan, which override the defaults of megatron_gpt_config of NeMo 24.x "
                   "(examples/nlp/language_modeling/conf).\n"
                   "defaults:\n  - megatron_gpt_config\n  - _self_\n"
                   "hydra:\n  searchpath:\n    - file://${oc.env:NEMO}/examples/nlp/language_modeling/conf\n" +
                       text.yaml()}};
  launch.start =
      "export NEMO=/path/to/NeMo; srun python $NEMO/examples/nlp/language_modeling/megatron_gpt_pretraining.py "
      "--config-path=$PWD/launch --config-name=nemo";
  launch.job = {.program = "megatron_gpt_pretraining.py",
                .command =
                    "python \"${NEMO:?name the checkout of NeMo}/examples/nlp/language_modeling/"
                    "megatron_gpt_pretraining.py\" \\\n  --config-path=\"$SLURM_SUBMIT_DIR/launch\" "
                    "--config-name=nemo \"$@\"",
                .on_each_device = true,
                .variables = "NEMO=/path/to/NeMo"};
  launch.carried = {"mixed_precision=full half", "cross_entropy=in-place"};
  launch.notes = std::move(run.notes);
  return launch;
}

}  // namespace ddl
