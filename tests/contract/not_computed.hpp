#pragma once

#include <set>
#include <string>

namespace ddl {

/// The operations that models of the zoo need and no back end computes. A model with another
/// missing operation fails the tests.
inline const std::set<std::string> not_computed{
    "append is not supported by this back end",
    "attention whose values have another size than its keys is not supported by this back end",
    "attention with capped scores is not supported by this back end",
    "attention with sinks is not supported by this back end",
    "a class token for each image of a sequence is not supported by this back end",
    "deformable_attention is not supported by this back end",
    "disentangled_attention is not supported by this back end",
    "elementwise is not supported by this back end",
    "fourier_mixing is not supported by this back end",
    "gated_delta is not supported by this back end",
    "gather is not supported by this back end",
    "index_scores is not supported by this back end",
    "latent_keys_and_values is not supported by this back end",
    "linear_attention is not supported by this back end",
    "mamba1 is not supported by this back end",
    "mamba2 is not supported by this back end",
    "a loss with capped outputs is not supported by this back end",
    "pick is not supported by this back end",
    "a product with one factor for each token is not supported by this back end",
    "query_key_norm is not supported by this back end",
    "rwkv7 is not supported by this back end",
    "scatter is not supported by this back end",
    "shift is not supported by this back end",
    "similarities is not supported by this back end",
    "token_shift is not supported by this back end",
    "a slice of the tokens is not supported by this back end",
    "a table of repeated positions is not supported by this back end",
    "a router with sigmoids is not supported by this back end",
    "a router with a bias is not supported by this back end",
    "a router with corrected scores is not supported by this back end",
    "a router with groups of experts is not supported by this back end",
    "the function relu2 is not supported by this back end",
    "the function xielu is not supported by this back end",
    "window attention is supported with a table of biases and whole windows only",
};

}  // namespace ddl
