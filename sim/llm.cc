#include "sim/llm.h"

#include <algorithm>
#include <vector>

#include "model/suggestion.h"

namespace tally::sim {
namespace {

// clang-format off
constexpr LlmModel kModels[] = {
    // layers, hidden, heads, kv_heads, head_dim, ffn, vocab; experts; latent
    {"llama3-8b", "The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
      32,  4096,  32,   8, 128, 14336, 128256},
    {"llama3-70b", "The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
      80,  8192,  64,   8, 128, 28672, 128256},
    {"llama3-405b", "The Llama 3 Herd of Models, arXiv 2407.21783, table 3",
     126, 16384, 128,   8, 128, 53248, 128256},
    {"mixtral-8x7b", "Mixtral of Experts, arXiv 2401.04088, table 1",
      32,  4096,  32,   8, 128,     0,  32000, {.count = 8, .per_token = 2, .ffn = 14336}},
    {"mixtral-8x22b", "mistralai/Mixtral-8x22B-v0.1, config.json",
      56,  6144,  48,   8, 128,     0,  32000, {.count = 8, .per_token = 2, .ffn = 16384}},
    {"deepseek-v3", "DeepSeek-V3 Technical Report, arXiv 2412.19437, 4.2, without multi-token prediction",
      61,  7168, 128, 128, 128, 18432, 129280,
     {.count = 256, .per_token = 8, .ffn = 2048, .shared = 1, .dense_layers = 3},
     {.q_rank = 1536, .kv_rank = 512, .rope_dim = 64}},
};
// clang-format on

std::int64_t product(std::int64_t a, std::int64_t b) { return a * b; }

// Query, key, value and output matrices.
std::int64_t attention_weights(const LlmModel& m, int tp) {
  const std::int64_t heads = m.heads / tp, width = heads * m.head_dim;
  const std::int64_t output = width * m.hidden;
  if (!m.has_latent()) return product(m.hidden, width + kv_elements(m, tp)) + output;
  const std::int64_t rope = m.latent.rope_dim;
  return product(m.hidden, m.latent.q_rank + m.latent.kv_rank + rope) +
         m.latent.q_rank * (width + heads * rope) + m.latent.kv_rank * 2 * width + output;
}

// Gate, up and down.
std::int64_t gated_weights(const LlmModel& m, std::int64_t ffn) { return 3 * ffn * m.hidden; }

}  // namespace

std::span<const LlmModel> llm_models() { return kModels; }

model::Result<LlmModel> find_llm(std::string_view name) {
  std::vector<std::string> known;
  for (const LlmModel& llm : kModels) {
    if (llm.name == name) return llm;
    known.emplace_back(llm.name);
  }
  return model::Error{"--model", "unknown model '" + std::string(name) + "'",
                      model::suggestion(name, known)};
}

model::Result<int> check_tensor_parallel(const LlmModel& llm, int tp) {
  const auto refused = [&](int count, const char* of_what) {
    return model::Error{"--tp",
                        std::to_string(tp) + " GPUs cannot share the " + std::to_string(count) +
                            " " + of_what + " of " + std::string(llm.name),
                        "a number that divides them"};
  };
  if (tp < 1 || llm.heads % tp != 0) return refused(llm.heads, "heads");
  if (!llm.has_latent() && llm.kv_heads % tp != 0 && tp % llm.kv_heads != 0) {
    return refused(llm.kv_heads, "heads of keys and values");
  }
  if (llm.has_experts() && llm.experts.count % tp != 0) {
    return refused(llm.experts.count, "experts");
  }
  if (llm.ffn % tp != 0) return refused(llm.ffn, "columns of the feed-forward network");
  return tp;
}

Weights weights_per_gpu(const LlmModel& m, int tp) {
  const Experts& e = m.experts;
  const std::int64_t dense = m.dense_layers(), mixed = m.layers - dense;
  const std::int64_t vocab = (m.vocab + tp - 1) / tp;
  Weights weights;
  weights.quantisable = m.layers * attention_weights(m, tp) + dense * gated_weights(m, m.ffn / tp) +
                        mixed * (e.count / tp + e.shared) * gated_weights(m, e.ffn);
  const std::int64_t norms = 2 * m.hidden + m.latent.q_rank + m.latent.kv_rank;
  weights.others =
      m.layers * norms + mixed * product(e.count, m.hidden) + m.hidden + 2 * vocab * m.hidden;
  return weights;
}

std::int64_t kv_elements(const LlmModel& llm, int tp) {
  if (llm.has_latent()) return llm.latent.kv_rank + llm.latent.rope_dim;
  return 2LL * std::max(1, llm.kv_heads / tp) * llm.head_dim;
}

}  // namespace tally::sim
