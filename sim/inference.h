#pragma once

// What communication costs a large language model: the time of one step of inference.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "sim/layer_work.h"
#include "sim/predict.h"

namespace tally::sim {

/// decode: every sequence gets one more token. prefill: all tokens of the context at once.
enum class InferencePhase : std::uint8_t { decode, prefill };
std::string_view name(InferencePhase phase);
model::Result<InferencePhase> parse_phase(std::string_view name);

/// Tensor parallel inference; experts are spread over the same GPUs.
struct Question {
  std::string model = "llama3-70b", machine = "mi300x";
  int nodes = 1, tp = 8;
  InferencePhase phase = InferencePhase::decode;
  std::int64_t batch = 1, context = 2048;          // sequences, and the tokens of each
  model::ElementType dtype = model::Format::bf16;  // f16 or bf16: activations, and on the wire
  model::WireSize weights = {}, kv_cache = {};     // none: as dtype
  std::string library = "rccl", version = "", algorithm = "auto";
  model::WireSize wire = {};
  Launch launch = Launch::graph;
};

/// One operation of a block, `times` a step. A kernel: time is launch and roofline, bound_by
/// launch, compute or memory. A collective: what predict() says, its path, and bytes on its call.
struct Part {
  std::string block, operation;
  int times;
  bool is_communication;
  Picos each;
  std::string path, bound_by;
  double flops, bytes;
};

/// Of one GPU, in bytes. Activations: the residual, and the largest kernel's.
struct MemoryNeed {
  std::int64_t weights = 0, kv_cache = 0, activations = 0, capacity = 0;
  std::int64_t total() const { return weights + kv_cache + activations; }
  bool fits() const { return total() <= capacity; }
};

/// Nothing overlaps: time is the sum of compute, launches and communication. In decode it is the
/// time to the next (incremental) token, in prefill to the first.
struct Answer {
  std::vector<Part> parts;
  Picos time, compute, launch, communication;
  double tokens_per_s;  // decode: of all sequences; prefill: of their contexts
  MemoryNeed memory;    // where it does not fit, the times are those of a larger memory

  double communication_share() const { return communication.micros() / time.micros(); }
};

/// The time of a collective of that many bytes, as predict() counts them.
using Price = std::function<model::Result<Prediction>(model::Collective, std::int64_t bytes)>;

/// An error names the flag, or is the price's.
model::Result<Answer> infer(const Question& question, const model::GpuFacts& gpu,
                            const Price& price);
/// On the question's machine, with predict() of its library.
model::Result<Answer> infer(const Question& question);

}  // namespace tally::sim
