#pragma once

// Large language models, as data: the shapes that decide what a layer computes, reads and sends.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/result.h"

namespace tally::sim {

/// A mixture of experts takes the place of the feed-forward network in every layer but the first
/// `dense_layers`. A router sends each token to `per_token` of `count` experts; `shared` more
/// experts see every token.
struct Experts {
  int count = 0, per_token = 0, ffn = 0, shared = 0, dense_layers = 0;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1): keys and values are expanded
/// from `kv_rank` numbers a token, which are cached together with one rotary key of `rope_dim` that
/// all heads share; queries from `q_rank` numbers.
struct Latent {
  int q_rank = 0, kv_rank = 0, rope_dim = 0;
};

/// A decoder with gated feed-forward networks, root-mean-square norms, and an embedding and a head
/// of their own. With `latent`, head_dim is that of values and of the keys without their rotary
/// part.
struct LlmModel {
  std::string_view name;
  std::string_view source;
  int layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
  Experts experts = {};
  Latent latent = {};

  bool has_experts() const { return experts.count > 0; }
  bool has_latent() const { return latent.kv_rank > 0; }
  int dense_layers() const { return has_experts() ? experts.dense_layers : layers; }
};

std::span<const LlmModel> llm_models();
/// The error suggests a near name.
model::Result<LlmModel> find_llm(std::string_view name);

/// An error that names what `tp` does not divide: the heads, and either the heads of keys and
/// values or they it; the experts.
model::Result<int> check_tensor_parallel(const LlmModel& llm, int tp);

/// What one of `tp` GPUs holds. Attention is split by heads (Megatron-LM, arXiv 1909.08053, 3);
/// keys' and values' heads are repeated where there are fewer than GPUs. Feed-forward networks are
/// split by columns and then rows, experts by number, and the vocabulary, rounded up. Norms,
/// routers, shared experts and the matrices into latents are on every GPU.
struct Weights {
  std::int64_t quantisable = 0;  // matrices of the layers
  std::int64_t others = 0;       // norms, routers, embedding and head: in the element type
  std::int64_t total() const { return quantisable + others; }
};
Weights weights_per_gpu(const LlmModel& llm, int tp);

/// Cached numbers of one token of one layer on one of `tp` GPUs. A latent is on every GPU.
std::int64_t kv_elements(const LlmModel& llm, int tp);

}  // namespace tally::sim
