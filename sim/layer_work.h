#pragma once

// What one step of a model asks of each of its GPUs: kernels and collectives, in their order.

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "model/collective.h"
#include "model/wire_size.h"
#include "sim/llm.h"

namespace tally::sim {

/// `batch` sequences, each with `new_tokens` at the end of `context` tokens: all of them in
/// prefill, one in decode. Everything at least 1, and new_tokens at most context.
struct Step {
  int tp = 1;
  std::int64_t batch = 1, new_tokens = 1, context = 1;
  model::ElementType dtype = model::Format::bf16;  // of activations and what is not quantised
  model::WireSize weights = {}, kv_cache = {};     // none: as dtype

  std::int64_t tokens() const { return batch * new_tokens; }
};

/// Work of one kernel on one GPU: operations of its matrix units, and bytes from and to its memory.
struct Kernel {
  std::string_view name;
  double flops = 0, bytes = 0;
  bool is_f8 = false;  // both factors are fp8
};

/// A collective among the GPUs; bytes as sim::predict() counts them.
struct Exchange {
  std::string_view name;
  model::Collective collective;
  std::int64_t bytes;
};

using Operation = std::variant<Kernel, Exchange>;

/// A layer, or what comes once a step, and how many of it there are.
struct Block {
  std::string_view name;
  int times;
  std::vector<Operation> operations;
};

/// The layers with a feed-forward network, those with experts, and the ends (embedding and head);
/// what a model has none of is left out. Tokens spread evenly over the experts. The formulas and
/// their sources are in docs/inference.md.
std::vector<Block> work_of(const LlmModel& llm, const Step& step);

}  // namespace tally::sim
