#include "sim/layer_work.h"

#include <cmath>

namespace tally::sim {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Two a weight and token: Kaplan et al., arXiv 2001.08361, 2.1.
double linear_flops(std::int64_t tokens, std::int64_t in, std::int64_t out) {
  return 2.0 * static_cast<double>(tokens) * static_cast<double>(in * out);
}

/// Appends a block's operations, in terms of one GPU's share.
class Work {
 public:
  Work(const LlmModel& llm, const Step& step) : m_(llm), step_(step) {}

  void attention_half();
  void feed_forward_half();
  void experts_half();
  void ends();
  std::vector<Operation> take() { return std::move(operations_); }

 private:
  // Bytes, of elements of the element type, of a matrix, and of tokens in the cache.
  std::int64_t activations(std::int64_t elements) const { return elements * step_.dtype.bytes(); }
  std::int64_t matrix(std::int64_t in, std::int64_t out) const {
    return step_.weights.bytes(in * out, step_.dtype);
  }
  std::int64_t cached(std::int64_t tokens) const {
    return tokens * step_.kv_cache.bytes(kv_elements(m_, step_.tp), step_.dtype);
  }
  bool has_f8_weights() const { return step_.weights.element_bits == 8; }

  void moves(std::string_view name, std::int64_t bytes) { computes(name, 0, bytes); }
  void computes(std::string_view name, double flops, std::int64_t bytes, bool is_f8 = false) {
    operations_.push_back(Kernel{name, flops, static_cast<double>(bytes), is_f8});
  }
  void linear(std::string_view name, std::int64_t tokens, std::int64_t in, std::int64_t out);
  void unquantised(std::string_view name, std::int64_t tokens, std::int64_t in, std::int64_t out);
  void grouped(std::string_view name, std::int64_t in, std::int64_t out);
  void exchange(std::string_view name, model::Collective collective, std::int64_t elements);
  // Adds the residual too: two are read, two written.
  void norm(std::int64_t tokens) { moves("norm", activations(4 * tokens * m_.hidden)); }
  void gated(std::int64_t tokens, std::int64_t ffn);
  void grouped_query_attention();
  void latent_attention();
  double attended_pairs() const;

  const LlmModel& m_;
  const Step& step_;
  std::vector<Operation> operations_;
};

// The weights are read once, each token's input and output too.
void Work::linear(std::string_view name, std::int64_t tokens, std::int64_t in, std::int64_t out) {
  computes(name, linear_flops(tokens, in, out), matrix(in, out) + activations(tokens * (in + out)),
           has_f8_weights());
}

void Work::unquantised(std::string_view name, std::int64_t tokens, std::int64_t in,
                       std::int64_t out) {
  computes(name, linear_flops(tokens, in, out), activations(in * out + tokens * (in + out)));
}

// The same for the experts of a GPU. Of its experts those are read that a token was sent to: each
// of them with probability 1 - (1 - per_token / count)^tokens.
void Work::grouped(std::string_view name, std::int64_t in, std::int64_t out) {
  const Experts& e = m_.experts;
  const double tokens = static_cast<double>(step_.tokens());
  const double copies = tokens * e.per_token / step_.tp;
  const double here = static_cast<double>(e.count) / step_.tp;
  const double touched = here * -std::expm1(tokens * std::log1p(-1.0 * e.per_token / e.count));
  const double bytes = touched * static_cast<double>(matrix(in, out)) +
                       copies * static_cast<double>(activations(in + out));
  operations_.push_back(
      Kernel{name, 2 * copies * static_cast<double>(in * out), bytes, has_f8_weights()});
}

void Work::exchange(std::string_view name, model::Collective collective, std::int64_t elements) {
  if (step_.tp > 1) operations_.push_back(Exchange{name, collective, activations(elements)});
}

void Work::gated(std::int64_t tokens, std::int64_t ffn) {
  linear("gate and up", tokens, m_.hidden, 2 * ffn);
  moves("activation", activations(3 * tokens * ffn));
  linear("down", tokens, ffn, m_.hidden);
}

// A new token sees those before it and itself: the i-th of n at the end of c sees c - n + i.
double Work::attended_pairs() const {
  const double n = static_cast<double>(step_.new_tokens), c = static_cast<double>(step_.context);
  return static_cast<double>(step_.batch) * (n * c - n * (n - 1) / 2);
}

// Scores and their products with values in one kernel, which reads the cache once (FlashAttention,
// arXiv 2205.14135).
void Work::grouped_query_attention() {
  const std::int64_t t = step_.tokens(), width = m_.heads / step_.tp * m_.head_dim;
  const std::int64_t kv = kv_elements(m_, step_.tp);
  linear("query, key, value", t, m_.hidden, width + kv);
  moves("rotary and cache", activations(2 * t * (width + kv)) + cached(t));
  computes("attention", 4.0 * static_cast<double>(width) * attended_pairs(),
           cached(step_.batch * step_.context) + activations(2 * t * width));
  linear("output", t, width, m_.hidden);
}

// In decode queries and outputs pass through the expansion, and attention works on the cached
// latents; in prefill keys and values are expanded. The expansion costs the same either way.
// arXiv 2405.04434, 2.1.2.
void Work::latent_attention() {
  const std::int64_t t = step_.tokens(), heads = m_.heads / step_.tp, width = heads * m_.head_dim;
  const std::int64_t q = m_.latent.q_rank, kv = m_.latent.kv_rank, rope = m_.latent.rope_dim;
  const bool absorbed = step_.new_tokens == 1;
  const std::int64_t key = absorbed ? heads * (kv + rope) : width + heads * rope;
  const std::int64_t value = absorbed ? heads * kv : width;
  linear("into latents", t, m_.hidden, q + kv + rope);
  linear("query", t, q, width + heads * rope);
  moves("rotary and cache", activations(2 * t * rope * (heads + 1)) + cached(t));
  linear(absorbed ? "absorbed expansion" : "expansion", t, kv, 2 * width);
  computes("attention", 2.0 * static_cast<double>(key + value) * attended_pairs(),
           (absorbed ? cached(step_.batch * step_.context) : activations(t * (key + value))) +
               activations(t * (key + value)));
  linear("output", t, width, m_.hidden);
}

void Work::attention_half() {
  norm(step_.tokens());
  m_.has_latent() ? latent_attention() : grouped_query_attention();
  // With experts behind it, its halves lie around them: reduce_scatter before, all_gather after.
  exchange("attention's sum", model::Collective::all_reduce, step_.tokens() * m_.hidden);
}

void Work::feed_forward_half() {
  norm(step_.tokens());
  gated(step_.tokens(), m_.ffn / step_.tp);
  exchange("network's sum", model::Collective::all_reduce, step_.tokens() * m_.hidden);
}

// Each GPU routes its share of the tokens, sends a copy of each to each of its experts, and gets
// as many back.
void Work::experts_half() {
  const Experts& e = m_.experts;
  const std::int64_t own = ceil_div(step_.tokens(), step_.tp);
  const std::int64_t sent = step_.tp * ceil_div(own * e.per_token, step_.tp) * m_.hidden;
  norm(own);
  unquantised("router", own, m_.hidden, e.count);
  exchange("dispatch", model::Collective::all_to_all, sent);
  grouped("experts' gate and up", m_.hidden, 2 * e.ffn);
  moves("experts' activation", activations(3 * step_.tokens() * e.per_token * e.ffn / step_.tp));
  grouped("experts' down", e.ffn, m_.hidden);
  exchange("combine", model::Collective::all_to_all, sent);
  if (e.shared > 0) gated(own, e.shared * e.ffn);
}

// Only a sequence's last token needs the head.
void Work::ends() {
  moves("embedding", activations(2 * step_.tokens() * m_.hidden));
  norm(step_.batch);
  unquantised("head", step_.batch, m_.hidden, ceil_div(m_.vocab, step_.tp));
}

}  // namespace

std::vector<Block> work_of(const LlmModel& llm, const Step& step) {
  std::vector<Block> blocks;
  Work work(llm, step);
  if (llm.dense_layers() > 0) {
    work.attention_half();
    work.feed_forward_half();
    blocks.push_back({"layer", llm.dense_layers(), work.take()});
  }
  if (llm.has_experts()) {
    work.attention_half();
    work.experts_half();
    blocks.push_back({"layer of experts", llm.layers - llm.dense_layers(), work.take()});
  }
  work.ends();
  blocks.push_back({"ends", 1, work.take()});
  return blocks;
}

}  // namespace tally::sim
