#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

struct Model;

/// What lists of models show of a bundled model. The catalogue is data, so that a list builds no models, and an alias is
/// found without parsing the model files; catalogue_test compares it with the models.
struct CatalogueEntry {
  std::string name;
  std::string kind;    ///< language, moe, vision-language, generation, …
  std::string family;  ///< empty if the model has no family
  std::int64_t parameters = 0;
  double flops_forward = 0;  ///< FLOPs of forward for a sample
  double multiply_adds = 0;  ///< multiply-adds of a sample
  std::int64_t layers = 0;
  std::string input{};                 ///< shape of a sample: `3×224×224`
  std::vector<std::string> aliases{};  ///< published spellings of the name
};

/// Returns all bundled models, sorted by name.
[[nodiscard]] const std::vector<CatalogueEntry>& model_catalogue();

/// Returns the entry of a bundled model, which may have other parameters; null for other models, also of the same name.
[[nodiscard]] const CatalogueEntry* find_in_catalogue(const Model& model);
/// Returns the kind of a model. That of a model that is not bundled follows from its family, if all bundled models of the
/// family have one kind, else from the tensors that it reads and returns; empty if they do not show it.
[[nodiscard]] std::string network_kind(const Model& model, bool has_experts);
/// Returns the kind of a bundled model, such as `classification`; empty for other models.
[[nodiscard]] std::string_view kind_of(const Model& model);

/// Whether a model is usually trained in half precision with Adam: models of sequences, and bundled models that generate
/// images or video, read images with text, or recognize speech. The papers of these kinds state AdamW and mixed precision
/// [Rombach et al., "High-Resolution Image Synthesis with Latent Diffusion Models", CVPR 2022; Radford et al., "Robust
/// Speech Recognition via Large-Scale Weak Supervision", 2022, appendix F].
[[nodiscard]] bool is_usually_half(const Model& model);

/// Returns the kinds of the catalogue, in the order of lists.
[[nodiscard]] std::vector<std::string> model_kinds();

}  // namespace ddl
