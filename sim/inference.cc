#include "sim/inference.h"

#include <algorithm>
#include <optional>

#include "model/suggestion.h"
#include "sim/roofline.h"

namespace tally::sim {
namespace {

constexpr std::string_view kPhases[] = {"decode", "prefill"};
// Beyond these no model here is run; products of them stay far from 2^63.
constexpr std::int64_t kMostBatch = 1 << 20, kMostContext = 1 << 24;

std::optional<model::Error> refused(const Question& q, const LlmModel& llm) {
  if (const auto tp = check_tensor_parallel(llm, q.tp); !tp) return tp.error();
  if (q.batch < 1 || q.batch > kMostBatch) {
    return model::Error{"--batch", std::to_string(q.batch) + " sequences", "from 1 to 1048576"};
  }
  if (q.context < 1 || q.context > kMostContext) {
    return model::Error{"--context", std::to_string(q.context) + " tokens", "from 1 to 16777216"};
  }
  if (q.dtype != model::Format::bf16 && q.dtype != model::Format::f16) {
    return model::Error{"--dtype", std::string(q.dtype.name()) + " activations", "bf16 or f16"};
  }
  return std::nullopt;
}

Step step_of(const Question& q) {
  return {.tp = q.tp,
          .batch = q.batch,
          .new_tokens = q.phase == InferencePhase::decode ? 1 : q.context,
          .context = q.context,
          .dtype = q.dtype,
          .weights = q.weights,
          .kv_cache = q.kv_cache};
}

/// What it takes to start a kernel. Within a graph the host has no part in it.
Picos launch_of(const model::GpuFacts& gpu, Launch launch) {
  return from_nanos(launch == Launch::graph ? gpu.graph_launch_ns.value : gpu.launch_ns.value);
}

constexpr double kLongestSeconds = 86400;  // of one kind of kernel in a step

/// Adds up a question's answer.
class Sum {
 public:
  Sum(const model::GpuFacts& gpu, Launch launch, const Price& price)
      : roofline_(attained(gpu)), launch_(launch_of(gpu, launch)), price_(price) {}

  std::optional<model::Error> add(const Block& block) {
    for (const Operation& operation : block.operations) {
      if (const auto* kernel = std::get_if<Kernel>(&operation)) {
        if (block.times * seconds_of(*kernel, roofline_) > kLongestSeconds) {
          return model::Error{"--context", "a step of more than a day",
                              "fewer tokens: --context, --batch"};
        }
        add(block, *kernel);
      } else if (auto error = add(block, std::get<Exchange>(operation))) {
        return error;
      }
    }
    return std::nullopt;
  }

  Answer answer;

 private:
  void add(const Block& block, const Kernel& kernel) {
    const auto [time, bound_by] = time_of(kernel, roofline_);
    answer.compute += block.times * time;
    answer.launch += block.times * launch_;
    answer.parts.push_back({std::string(block.name), std::string(kernel.name), block.times, false,
                            time + launch_, "", std::string(launch_ > time ? "launch" : bound_by),
                            kernel.flops, kernel.bytes});
  }

  std::optional<model::Error> add(const Block& block, const Exchange& exchange) {
    const auto prediction = price_(exchange.collective, exchange.bytes);
    if (!prediction) return prediction.error();
    answer.communication += block.times * prediction->time;
    answer.parts.push_back({std::string(block.name), std::string(exchange.name), block.times, true,
                            prediction->time, prediction->path, prediction->bound_by, 0,
                            static_cast<double>(exchange.bytes)});
    return std::nullopt;
  }

  Roofline roofline_;
  Picos launch_;
  const Price& price_;
};

MemoryNeed memory_of(const LlmModel& llm, const Step& step, const model::GpuFacts& gpu) {
  const Weights weights = weights_per_gpu(llm, step.tp);
  const std::int64_t token = step.kv_cache.bytes(kv_elements(llm, step.tp), step.dtype);
  // The widest of a layer: into and out of the first half of its network.
  const std::int64_t network =
      2 * std::max(llm.ffn / step.tp, llm.experts.ffn * llm.experts.per_token / step.tp);
  const std::int64_t attention = llm.heads / step.tp * llm.head_dim + kv_elements(llm, step.tp);
  return {.weights = step.weights.bytes(weights.quantisable, step.dtype) +
                     weights.others * step.dtype.bytes(),
          .kv_cache = step.batch * step.context * llm.layers * token,
          .activations =
              step.tokens() * step.dtype.bytes() * (2 * llm.hidden + std::max(network, attention)),
          .capacity = static_cast<std::int64_t>(gpu.memory_bytes.value)};
}

}  // namespace

std::string_view name(InferencePhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

model::Result<InferencePhase> parse_phase(std::string_view name) {
  if (name == kPhases[0]) return InferencePhase::decode;
  if (name == kPhases[1]) return InferencePhase::prefill;
  return model::Error{"--phase", "unknown phase '" + std::string(name) + "'",
                      model::suggestion(name, {kPhases[0].data(), kPhases[1].data()})};
}

model::Result<Answer> infer(const Question& q, const model::GpuFacts& gpu, const Price& price) {
  const auto llm = find_llm(q.model);
  if (!llm) return llm.error();
  if (auto error = refused(q, *llm)) return *error;
  const Step step = step_of(q);
  Sum sum(gpu, q.launch, price);
  for (const Block& block : work_of(*llm, step)) {
    if (auto error = sum.add(block)) return *error;
  }
  Answer answer = std::move(sum.answer);
  answer.time = answer.compute + answer.launch + answer.communication;
  answer.tokens_per_s = static_cast<double>(step.tokens()) / (answer.time.micros() / 1e6);
  answer.memory = memory_of(*llm, step, gpu);
  return answer;
}

model::Result<Answer> infer(const Question& q) {
  const auto machine = model::find_machine(q.machine, q.nodes);
  if (!machine) return machine.error();
  const int gpus = machine->topology.nodes * machine->topology.gpus_per_node;
  if (q.tp > gpus) {
    return model::Error{
        "--tp", std::to_string(q.tp) + " GPUs, and " + q.machine + " has " + std::to_string(gpus),
        "fewer, or more --nodes"};
  }
  const auto price = [&](model::Collective collective, std::int64_t bytes) {
    return predict({.machine = q.machine,
                    .nodes = q.nodes,
                    .ranks = q.tp,
                    .collective = collective,
                    .library = q.library,
                    .version = q.version,
                    .algorithm = q.algorithm,
                    .wire = q.wire,
                    .dtype = q.dtype,
                    .launch = q.launch,
                    .in_place = collective == model::Collective::all_reduce},
                   bytes);
  };
  return infer(q, machine->gpu, price);
}

}  // namespace tally::sim
