#include <algorithm>
#include <array>

#include "cli/tools/configuration_format.hpp"
#include "core/words.hpp"

namespace ddl {
namespace foreign_tables {

// Keys that only configurations of one tool have. Sources: Lightning-AI/pytorch-lightning, cli.py; OpenRLHF/OpenRLHF,
// openrlhf/cli; THUDM/slime, slime/utils/arguments.py; AMD-AGI/Primus, examples; hpcaitech/ColossalAI;
// AI-Hypercomputer/maxtext, configs/post_train; stanford-crfm/levanter, main; PrimeIntellect-ai/prime-rl, examples;
// karpathy/nanochat, runs; mlfoundations/open_lm; foundation-model-stack/fms-fsdp, scripts; InternLM/xtuner;
// facebookresearch/lingua, apps/main/configs; facebookresearch/fairseq, hydra_train.py; NVIDIA-NeMo/Speech,
// examples/asr/conf; huggingface/alignment-handbook, recipes; allenai/OLMo-core, src/scripts/train; allenai/open-instruct,
// scripts/train; inclusionAI/AReaL, examples; alibaba/ROLL, examples; young-geng/EasyLM, examples; mlfoundations/open_clip,
// scripts; facebookresearch/detectron2, configs; apple/corenet, projects; facebookresearch/dinov2, configs;
// huggingface/diffusers, examples; kohya-ss/sd-scripts; tdrussell/diffusion-pipe, examples;
// Stability-AI/stable-audio-tools, configs; Ascend/MindSpeed-LLM, examples/fsdp2;
// CarperAI/trlx, configs; FlagOpen/FlagScale, examples;
// THUDM/GLM, arguments.py; THUDM/SwissArmyTransformer, sat/arguments.py; THUDM/CogVideo, finetune.
constexpr auto lightning_marks =
    argument_names("model.class_path", "data.class_path", "trainer.strategy.class_path", "trainer.callbacks.class_path",
                   "trainer.callbacks.init_args*", "seed_everything");
constexpr auto lingua_marks = argument_names("distributed.fsdp_type", "distributed.model_dtype");
constexpr auto openrlhf_programs =
    argument_names("openrlhf.cli.train_rm", "openrlhf.cli.train_dpo", "openrlhf.cli.train_k*", "openrlhf.cli.train_prm",
                   "openrlhf.cli.batch*", "openrlhf.cli.inter*", "openrlhf.cli.serve*", "openrlhf.cli.lora*");
constexpr auto primus_marks = argument_names("modules.pre_trainer*", "modules.post_trainer*", "work_group");
constexpr auto primus_programs = argument_names("primus", "primus.cli*");
constexpr auto colossal_programs = argument_names("colossalai");
// MaxText's other programs and forms of training.
constexpr auto maxtext_marks = argument_names("rl_parameters*", "student_overrides*", "teacher_overrides*");
constexpr auto maxtext_programs =
    argument_names("MaxText.rl*", "MaxText.sft*", "MaxText.decode*", "MaxText.elastic*", "MaxText.experimental*",
                   "MaxText.inference*", "MaxText.distill*", "maxtext.trainers.post_train*", "maxtext.trainers.diloco*",
                   "maxtext.inference*", "maxtext.experimental*", "MaxText.maxengine*");
constexpr auto levanter_programs = argument_names("levanter.main.lora_lm", "levanter.main.sft*", "levanter.main.viz*",
                                                  "levanter.main.eval*", "levanter.main.export*", "levanter.main.cache*");
constexpr auto prime_marks = argument_names("orchestrator.*", "inference.vllm*", "model.ac.*", "trainer.model.*",
                                            "renderer.name", "max_off_policy_steps", "deployment.num_train_gpus");
constexpr auto prime_programs = argument_names("prime_rl.*", "src/prime_rl/*");
constexpr auto nanochat_programs =
    argument_names("scripts.base_train", "scripts.mid_train", "scripts.chat_sft", "scripts.chat_rl", "scripts.base_eval");
constexpr auto open_lm_programs = argument_names("open_lm.main", "open_lm/main.py", "*/open_lm/main.py");
constexpr auto fms_marks = argument_names("--model_variant", "--use_dummy_dataset+--report_interval",
                                          "--selective_checkpointing+--sharding_strategy",
                                          "--ckpt_load_path+--ckpt_save_path", "--report_interval+--sharding_strategy");
// NVIDIA-NeMo/Megatron-Bridge, scripts/performance; NVIDIA-NeMo/Run and NVIDIA/NeMo, nemo/collections/llm/recipes.
constexpr auto recipe_marks = argument_names("--model_recipe_name", "--model_family_name");
constexpr auto recipe_programs = argument_names("nemo");
constexpr auto xtuner_programs = argument_names("xtuner", "xtuner.*", "*/xtuner/v1/train/*");
constexpr auto fairseq_marks =
    argument_names("common.user_dir", "distributed_training.ddp_backend", "task._name", "model._name", "criterion._name",
                   "--max-tokens+--arch", "--max-tokens+--task", "--update-freq+--arch", "--update-freq+--task",
                   "--update-freq+--max-tokens", "--update-freq+--criterion");
constexpr auto fairseq_programs = argument_names("fairseq-train", "fairseq-hydra-train", "fairseq_cli*");
constexpr auto speech_marks =
    argument_names("model.preprocessor*", "model.encoder._target_", "model.train_ds*", "model.decoder._target_",
                   "model.joint*", "model.n_mel_channels", "sup_data_path", "model.pitch_mean");
constexpr auto sat_marks = argument_names("--block-lm", "--cloze-eval", "--resume-dataloader", "--gpt-infill-prob");
constexpr auto sat_programs = argument_names("finetune_glm.py", "pretrain_glm.py");
constexpr auto mindspeed_marks = argument_names("parallel.fsdp_size", "parallel.fsdp_modules", "parallel.ep_fsdp_size");
constexpr auto mindspeed_programs = argument_names("train_fsdp2.py", "*/train_fsdp2.py");
constexpr auto open_instruct_marks =
    argument_names("--num_learners_per_node", "--num_unique_prompts_rollout", "--num_samples_per_prompt_rollout");
constexpr auto olmo_core_marks = argument_names("train_module.*", "launch.num_gpus");
constexpr auto olmo_core_programs = argument_names("olmo_core*", "src/scripts/train/*");
// facebookresearch/pycls, configs; facebookresearch/vissl, configs; aws/sagemaker-hyperpod-recipes, recipes_collection;
// ServiceNow/Fast-LLM, examples.
constexpr auto pycls_marks = argument_names("OPTIM.BASE_LR", "OPTIM.MAX_EPOCH");
constexpr auto slowfast_marks = argument_names("DATA_LOADER*+DATA.NUM_FRAMES");  // facebookresearch/SlowFast, configs
constexpr auto vissl_marks =
    argument_names("config.MODEL*", "config.OPTIMIZER*", "config.DATA*", "config.DISTRIBUTED*", "config.TRAINER*");
constexpr auto hyperpod_marks = argument_names("run.model_type+instance_types", "run.model_type+scale_config*",
                                               "run.model_type+training_config*", "run.model_type+recipes*");
constexpr auto fast_llm_marks = argument_names("model.base_model.*+training*", "model.base_model.*+batch*");
constexpr auto detectron_marks = argument_names("MODEL.META_ARCHITECTURE", "SOLVER*", "DATALOADER*", "_BASE_");
constexpr auto corenet_marks = argument_names("common.run_label", "image_augmentation*", "dataset.root_train");
constexpr auto dino_marks = argument_names("dino.head_n_prototypes", "ibot*", "student.arch");
constexpr auto areal_marks = argument_names("allocation_mode", "gconfig*", "cluster.name_resolve*", "cluster.fileroot");
constexpr auto roll_marks = argument_names("actor_train*", "actor_infer*", "sft_train*");
constexpr auto easylm_marks = argument_names("--mesh_dim", "--train_dataset.json_dataset*");
constexpr auto easylm_programs = argument_names("EasyLM.*");
constexpr auto clip_marks = argument_names("--zeroshot-frequency", "--imagenet-val", "--dataset-resampled");
constexpr auto clip_programs = argument_names("open_clip_train*", "training.main", "*/open_clip_train/*");
constexpr auto diffusion_marks =
    argument_names("--network_module", "--train_resolution", "--instance_prompt", "--cache_latents*", "--pretrained_vae_*",
                   "--snr_gamma", "model.diffusers_path", "model.transformer_dtype", "caching_batch_size",
                   "job+config.process", "model_family+model_type", "--model_family+--model_type",
                   "training_method+base_model_name", "conditioning.mode+optimization*", "--model_id_with_origin_paths");
constexpr auto diffusion_programs = argument_names(
    "*train_text_to_image*", "*train_dreambooth*", "*train_controlnet*", "*train_network*", "*sdxl_train*", "*flux_train*",
    "fastvideo/training/*", "fastvideo.train*", "opensora/train/*", "opensora.train*", "*maxdiffusion*");
constexpr auto audio_marks = argument_names("model.pretransform*", "model.bottleneck*", "model.conditioning*");
constexpr auto halos_marks = argument_names("loss.trainer", "loss.beta+train_datasets");  // ContextualAI/HALOs, config
constexpr auto trlx_marks = argument_names("method.num_rollouts", "method.ppo_epochs", "model.num_layers_unfrozen");
constexpr auto trlx_programs = argument_names("trlx.*");
constexpr auto flag_scale_marks = argument_names("experiment.task.backend", "experiment.task.entrypoint");
constexpr auto fabric_marks = argument_names("fabric.*");
constexpr auto composer_marks = argument_names(
    "max_duration+eval_interval", "max_duration+scheduler*", "max_duration+device_train_microbatch_size",
    "max_duration+global_train_batch_size", "max_duration+optimizer*", "train_loader.name", "train_loader.dataset*");
// OpenNMT/OpenNMT-py, config, and eole-nlp/eole, recipes; speechbrain/speechbrain, recipes; wenet-e2e/wenet, examples;
// facebookresearch/vjepa2, configs; CompVis/latent-diffusion and Stability-AI/generative-models, configs;
// mistralai/mistral-finetune, example; mindspore-lab/mindformers, configs; salesforce/LAVIS, projects;
// arcee-ai/DistillKit, examples.
constexpr auto translation_marks =
    argument_names("encoder_type+decoder_type", "src_vocab+tgt_vocab", "--src_vocab+--tgt_vocab", "training.accum_count");
constexpr auto translation_programs = argument_names("onmt_train", "eole", "eole.bin*", "onmt.bin*");
constexpr auto speech_brain_marks = argument_names("__set_seed");
constexpr auto conformer_marks =
    argument_names("encoder_conf*+decoder*", "encoder_conf*+dataset_conf*", "accum_grad+optim_conf*");
constexpr auto video_marks = argument_names("app+folder+data.patch_size", "app+folder+mask*");
constexpr auto latent_marks = argument_names("model.target+data.target", "model.target+lightning*");
constexpr auto mistral_marks = argument_names("data.instruct_data+model_id_or_path", "data.instruct_data+lora.rank");
constexpr auto mind_marks = argument_names("runner_config*", "recompute_config*+parallel_config*");
constexpr auto mind_programs = argument_names("run_mindformer.py", "*/run_mindformer.py");
constexpr auto lavis_marks = argument_names("run.task+model.arch", "run.runner+run.task");
constexpr auto distill_marks = argument_names("loss_functions+teacher*", "teacher.kind+model");
constexpr auto mosaic_marks = argument_names("parameters.train_loader*", "compute.cluster", "integrations");
constexpr auto job_marks = argument_names(
    "apiVersion", "kind", "spec.template*", "services.*", "jobs.*", "on.push*", "distribution.process_count_per_instance",
    "resources.instance_count", "resources.accelerators", "type+commands+nodes", "type+commands+resources.*",
    "type+commands+image", "type+commands+python", "type+commands+fleets*", "type+commands+backends*");

constexpr auto as_megatron = "write degrees, batch and sizes as arguments of Megatron-LM into a file: --num-layers 32 ...";
constexpr auto as_options =
    "set model and plan by options: recommend MODEL --gpus N, or explain MODEL --degrees data=8,tensor=2 --zero 3";

constexpr auto as_layers = "describe the layers in a model file: docs/models.md";
constexpr auto as_diffusion =
    "set model and plan by options: recommend sdxl@lora=16 --gpus N --batch N; 'models list --kind generation' lists "
    "models";
constexpr auto all = std::to_array<ForeignTool>({
    {"OLMo-core", olmo_core_marks, olmo_core_programs, as_options},
    {"Lightning's command line", lightning_marks, {}, as_options},
    {"OpenRLHF for another purpose than fine-tuning and policies", {}, openrlhf_programs, as_options},
    {"Primus", primus_marks, primus_programs, as_megatron},
    {"Colossal-AI", {}, colossal_programs, as_options},
    {"MaxText for another purpose than pre-training", maxtext_marks, maxtext_programs, as_options},
    {"Levanter for another purpose than pre-training", {}, levanter_programs, as_options},
    {"prime-rl", prime_marks, prime_programs, as_options},
    {"nanochat", {}, nanochat_programs, as_options},
    {"OpenLM", {}, open_lm_programs, as_options},
    {"fms-fsdp", fms_marks, {}, as_options},
    {"NeMo or Megatron-Bridge in Python (a recipe)", recipe_marks, recipe_programs, as_options},
    {"GLM or SwissArmyTransformer", sat_marks, sat_programs, as_options},
    {"MindSpeed-LLM's trainer with FSDP2", mindspeed_marks, mindspeed_programs, as_options},
    {"XTuner", {}, xtuner_programs, as_options},
    {"Lingua", lingua_marks, {}, as_options},
    {"fairseq", fairseq_marks, fairseq_programs, as_options},
    {"a speech model of NeMo", speech_marks, {}, as_layers},
    {"open-instruct's reinforcement learning", open_instruct_marks, {}, as_options},
    {"AReaL", areal_marks, {}, as_options},
    {"ROLL", roll_marks, {}, as_options},
    {"EasyLM", easylm_marks, easylm_programs, as_options},
    {"OpenCLIP", clip_marks, clip_programs, as_layers},
    {"pycls", pycls_marks, {}, as_layers},
    {"PySlowFast", slowfast_marks, {}, as_layers},
    {"VISSL", vissl_marks, {}, as_layers},
    {"SageMaker HyperPod", hyperpod_marks, {}, as_options},
    {"Fast-LLM", fast_llm_marks, {}, as_options},
    {"Detectron2", detectron_marks, {}, as_layers},
    {"CoreNet", corenet_marks, {}, as_layers},
    {"DINOv2", dino_marks, {}, as_layers},
    {"a diffusion model's training", diffusion_marks, diffusion_programs, as_diffusion},
    {"stable-audio-tools", audio_marks, {}, as_layers},
    {"Lightning Fabric", fabric_marks, {}, as_options},
    {"HALOs", halos_marks, {}, as_options},
    {"trlX", trlx_marks, trlx_programs, as_options},
    {"an experiment of FlagScale",
     flag_scale_marks,
     {},
     "pass the file of the training that 'defaults' names, such as conf/train/7b.yaml, and the GPUs with --gpus"},
    {"Composer", composer_marks, {}, as_options},
    {"OpenNMT-py or Eole", translation_marks, translation_programs, as_layers},
    {"SpeechBrain", speech_brain_marks, {}, as_layers},
    {"ESPnet, WeNet or FunASR", conformer_marks, {}, as_layers},
    {"V-JEPA", video_marks, {}, as_layers},
    {"a diffusion model or its autoencoder", latent_marks, {}, as_diffusion},
    {"mistral-finetune", mistral_marks, {}, as_options},
    {"MindFormers", mind_marks, mind_programs, as_options},
    {"LAVIS", lavis_marks, {}, as_options},
    {"DistillKit", distill_marks, {}, as_options},
    {"a job of MosaicML's platform", mosaic_marks, {}, "pass the configuration of the training that the job starts"},
    {"a cluster's job", job_marks, {}, "pass the script or the configuration that the job starts"},
});

constexpr auto no_training = "nothing is trained";
constexpr auto on_task = "a model is evaluated on a task";
constexpr auto name_trained_alone = "use options for the training step alone: --model, --gpus, --global-batch";
constexpr auto name_trained = "pass the script of the training instead";
constexpr auto encoder = "an encoder with other inputs and another head than a GPT is trained";
constexpr auto decoder_of_two = "an encoder and a decoder are trained";
constexpr auto vision = "a vision model, or a vision-language model, is trained";
constexpr auto reinforced = "samples are generated and scored in addition to training";
constexpr auto hybrid = "layers other than transformer blocks are trained";
constexpr auto as_model = "name the trained model with --model: the other arguments of the file are used";

/// Programs of NVIDIA/Megatron-LM and its forks, of NVIDIA/bionemo-framework, of transformers, and of TRL.
constexpr auto programs = std::to_array<OtherProgram>({
    {"pretrain_bert*", encoder,
     "name the trained model, such as --model bert-large: the other arguments of the file are used", true, "bert", "bert"},
    {"pretrain_ict*", encoder, as_model, true, "", "bert"},
    {"pretrain_biencoder*", encoder, as_model, true, "", "bert"},
    {"finetune_bert*", encoder, as_model, true, "", "bert"},
    {"train_esm*", encoder, as_model, true, "", "bert"},
    {"train_geneformer*", encoder, as_model, true, "", "bert"},
    {"pretrain_t5*", decoder_of_two,
     "name the trained model, such as --model t5-base: the other arguments of the file are used", true, "", "t5"},
    {"finetune_t5*", decoder_of_two, as_model, true, "", "t5"},
    {"pretrain_mamba*", hybrid, as_model, true, "", "nemotron-h decoder"},
    {"pretrain_hybrid*", hybrid, as_model, true, "", "nemotron-h decoder"},
    {"pretrain_vlm*", vision, as_model, true},
    {"pretrain_vision*", vision, as_model, true, "", "vit swin"},
    {"pretrain_qwen2_vl*", vision, as_model, true},
    {"*multimodal*", vision, as_model, true},
    {"*llava*", vision, as_model, true},
    {"*internvl*", vision, as_model, true},
    {"*text_generation*", no_training, name_trained},
    {"*retro*preprocess*", "data is prepared", name_trained},
    {"*retro*", "a model that retrieves text is trained", as_model, true},
    {"generate.py", no_training, name_trained},
    {"*main_generation*", no_training, name_trained},
    {"*main_eval*", no_training, name_trained},
    {"*checkpoint_util*", "checkpoints are converted", name_trained},
    {"*push_checkpoint*", "checkpoints are published", name_trained},
    {"pytest*", "tests are run", name_trained},
    // Programs of AI-Hypercomputer/maxtext.
    {"decode.py", no_training, name_trained},
    {"*logit_checker*", no_training, name_trained},
    {"*_ckpt.py", "checkpoints are converted", name_trained},
    {"*generate_*", no_training, name_trained},
    {"*inference*", no_training, name_trained},
    {"*_server*", no_training, name_trained},
    {"*api_server*", no_training, name_trained},
    {"*vllm.entrypoints*", no_training, name_trained},
    {"*checkpoint/*", "checkpoints are converted", name_trained},
    {"*convert*", "checkpoints are converted", name_trained},
    {"hf2*", "checkpoints are converted", name_trained},
    {"*2hf*", "checkpoints are converted", name_trained},
    {"*2mcore*", "checkpoints are converted", name_trained},
    {"*2megatron*", "checkpoints are converted", name_trained},
    {"*merge_*", "checkpoints are merged", name_trained},
    {"*llama_pro*", "blocks are added to a checkpoint", name_trained},
    {"*export*", "checkpoints are converted", name_trained},
    {"preprocess_data*", "data is prepared", name_trained},
    {"prepare_*", "data is prepared", name_trained},
    {"tasks/main.py", on_task, name_trained},
    {"*/tasks/main.py", on_task, name_trained},
    {"*tasks/msdp/*", on_task, name_trained},
    {"*tasks/orqa/*", on_task, name_trained},
    {"*tasks/zeroshot*", on_task, name_trained},
    {"*evaluate*", no_training, name_trained},
    {"eval*", no_training, name_trained},
    {"run_eval*", no_training, name_trained},
    {"*/evaluation/*", no_training, name_trained},
    {"*/eval/*", no_training, name_trained},
    {"*lm_eval*", no_training, name_trained},
    {"quantize*", no_training, name_trained},
    {"*_eval_*", no_training, name_trained},
    {"*transcription*", no_training, name_trained},
    {"infer*", no_training, name_trained},
    {"*_infer.py", no_training, name_trained},
    {"predict.py", no_training, name_trained},
    {"sample*", no_training, name_trained},
    {"translate.py", no_training, name_trained},
    {"*web_demo*", no_training, name_trained},
    {"cli_demo*", no_training, name_trained},
    {"setup.py", no_training, name_trained},
    {"check_*", no_training, name_trained},
    {"download*", "data is prepared", name_trained},
    {"tokenize_*", "data is prepared", name_trained},
    {"filter_*", "data is prepared", name_trained},
    {"*dpo*", "a second model runs without gradients", name_trained_alone},
    {"*orpo*", "the training uses preference pairs", name_trained_alone},
    {"*reward_model*", "two samples are compared", name_trained_alone},
    {"*raft_align*", reinforced, name_trained_alone},
    {"*chatbot*", no_training, name_trained},
    {"*grpo*", reinforced, name_trained_alone},
    {"*ppo*", reinforced, name_trained_alone},
    {"*rlhf*", reinforced, name_trained_alone},
});

bool may_be_equal(char a, char b) { return a == b || ((a == '-' || a == '_') && (b == '-' || b == '_')); }

bool is_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), may_be_equal);
}

/// Whether a word in a program's name means that the program trains: `train`, `pretraining`, `finetune`, but not
/// `pretrained`.
bool is_training_word(std::string_view word) {
  const bool trains = word.find("train") != std::string_view::npos || word.find("tun") != std::string_view::npos;
  return trains && !word.ends_with("ed");
}

/// Whether the first or the last word of a program's name means that the program trains: `train_eval_gpt.py`,
/// `filter_train.py`. Words between others are mostly about data, as in `prepare_train_data.py`.
bool is_named_as_training(std::string_view name) {
  for (const std::string_view ending : {".py", ".sh"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  name.remove_prefix(name.rfind('.') + 1);
  for (const std::string_view start : {"run_", "run-"}) {
    if (name.starts_with(start)) name.remove_prefix(start.size());
  }
  constexpr std::string_view gaps = "_-";
  return is_training_word(name.substr(0, name.find_first_of(gaps))) ||
         is_training_word(name.substr(name.find_last_of(gaps) + 1));
}

}  // namespace foreign_tables

std::span<const ForeignTool> foreign_tools() { return foreign_tables::all; }

bool is_named(std::string_view pattern, std::string_view name) {
  const bool opens = pattern.starts_with('*');
  if (opens) pattern.remove_prefix(1);
  const bool goes_on = pattern.ends_with('*');
  if (goes_on) pattern.remove_suffix(1);
  if (name.size() < pattern.size()) return false;
  if (!opens && !goes_on) return foreign_tables::is_equal(pattern, name);
  const std::size_t last = name.size() - pattern.size();
  for (std::size_t at = opens && !goes_on ? last : 0; at <= (opens ? last : 0); ++at) {
    if (foreign_tables::is_equal(pattern, name.substr(at, pattern.size()))) return true;
  }
  return false;
}

const OtherProgram* other_program(std::string_view program) {
  const std::string_view name = last_step(program);
  const bool trains = foreign_tables::is_named_as_training(name);
  const auto found =
      std::find_if(foreign_tables::programs.begin(), foreign_tables::programs.end(), [&](const OtherProgram& each) {
        if (trains && each.hint == foreign_tables::name_trained) return false;
        return is_named(each.name, each.name.find('/') == std::string_view::npos ? name : program);
      });
  return found == foreign_tables::programs.end() ? nullptr : &*found;
}

}  // namespace ddl
