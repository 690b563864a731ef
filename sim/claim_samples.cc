#include "sim/claim_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "model/rcclx.h"

namespace tally::sim {
namespace {

using model::Collective;
using model::Result;
namespace rcclx = model::rcclx;

// The settings, the same for all claims about RCCLX, which names no model, batch or context: the
// two Llama 3 that are served on eight GPUs, and ordinary batches. RCCL is that of ROCm 6.4, with
// which Meta compared. Whether it replayed graphs in decode it does not say.
const char* const kLlms[] = {"llama3-70b", "llama3-405b"};
const char* const kRccl = "2.22.3 (with MSCCL algorithm files)";
constexpr std::int64_t kBatches[] = {1, 2, 4, 8, 16, 32, 64};
constexpr std::int64_t kPrompts[] = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::int64_t kContext = 2048, kOutput = 256;  // tokens
constexpr int kGpus = 8;
constexpr Launch kDecodeLaunches[] = {Launch::graph, Launch::process_per_gpu};

/// What sends: RCCL, RCCLX, or RCCLX with low precision on, which takes it for large calls.
enum class Sender { rccl, rcclx, rcclx_low_precision };

struct Call {
  std::string machine = "mi300x";
  model::ElementType dtype = model::Format::bf16;
  Launch launch = Launch::graph;
  Collective collective = Collective::all_reduce;
  std::int64_t bytes = 0;
};

rcclx::Arch arch_of(Asker& ask, const std::string& machine) {
  return rcclx::find_arch(ask.machine(machine).gpu.arch).value_or(rcclx::Arch::gfx942);
}

/// The path of RCCLX, by its own dispatch.
rcclx::Path path_of(Asker& ask, const Call& call, bool low_precision) {
  rcclx::Switches switches;
  switches.arch = arch_of(ask, call.machine);
  switches.set(rcclx::Switch::low_precision, low_precision ? 1 : 0);
  return rcclx::choose({.collective = call.collective,
                        .count = call.bytes / call.dtype.bytes(),
                        .dtype = call.dtype,
                        .ranks = kGpus},
                       switches)
      .path;
}

model::WireSize fp8_of(Asker& ask, const std::string& machine) {
  const bool is_fnuz = arch_of(ask, machine) == rcclx::Arch::gfx942;
  return model::size_of(
      model::cast_wire(is_fnuz ? model::Format::e4m3fnuz : model::Format::e4m3fn));
}

Prediction time_of(Asker& ask, const Call& call, Sender sender) {
  const bool is_rccl = sender == Sender::rccl;
  const bool is_fp8 = sender == Sender::rcclx_low_precision &&
                      path_of(ask, call, true) == rcclx::Path::low_precision;
  return ask.predict({.machine = call.machine,
                      .ranks = kGpus,
                      .collective = call.collective,
                      .library = is_rccl ? "rccl" : "rcclx",
                      .version = is_rccl ? kRccl : "",
                      .wire = is_fp8 ? fp8_of(ask, call.machine) : model::WireSize{},
                      .dtype = call.dtype,
                      .launch = call.launch,
                      .in_place = true},
                     call.bytes);
}

Answer step(Asker& ask, const char* llm, InferencePhase phase, std::int64_t batch,
            std::int64_t context, Sender sender, Launch launch) {
  const Price price = [&](Collective collective, std::int64_t bytes) -> Result<Prediction> {
    return time_of(ask, {.launch = launch, .collective = collective, .bytes = bytes}, sender);
  };
  return ask.infer({.model = llm,
                    .tp = kGpus,
                    .phase = phase,
                    .batch = batch,
                    .context = context,
                    .launch = launch},
                   price);
}

/// A batch of requests: one prompt after the other, then the tokens of all, at the mean context.
struct Request {
  Picos time, communication;
};
Request request(Asker& ask, const char* llm, std::int64_t batch, std::int64_t prompt,
                Sender sender) {
  const Answer first =
      step(ask, llm, InferencePhase::prefill, 1, prompt, sender, Launch::process_per_gpu);
  const Answer next =
      step(ask, llm, InferencePhase::decode, batch, prompt + kOutput / 2, sender, Launch::graph);
  return {batch * first.time + (kOutput - 1) * next.time,
          batch * first.communication + (kOutput - 1) * next.communication};
}

double ratio(Picos a, Picos b) { return static_cast<double>(a.n) / static_cast<double>(b.n); }

std::string size_text(std::int64_t bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.3g} KiB", static_cast<double>(bytes) / 1024)
                         : fmt::format("{:.3g} MiB", static_cast<double>(bytes) / (1 << 20));
}
std::string compared(const std::string& of_what, Picos was, Picos is) {
  const bool is_long = was.micros() >= 1000;
  const double unit = is_long ? 1000 : 1;
  return fmt::format("{} {:.4g} -> {:.4g} {}", of_what, was.micros() / unit, is.micros() / unit,
                     is_long ? "ms" : "us");
}

std::int64_t sum_bytes(const char* llm, std::int64_t tokens) {
  return tokens * find_llm(llm)->hidden * model::ElementType(model::Format::bf16).bytes();
}

/// The bandwidth of the way from one vertex to another whose narrowest link is widest.
double widest_way(const model::Topology& topology, int from, int to) {
  std::vector<double> widest(std::max<std::size_t>(topology.vertices.size(), 2), 0);
  widest[from] = std::numeric_limits<double>::infinity();
  for (std::size_t round = 0; round < widest.size(); ++round) {
    for (const model::Link& link : topology.links) {
      widest[link.to] = std::max(widest[link.to], std::min(widest[link.from], link.bytes_per_s));
    }
  }
  return widest[to];
}

Answer on_aws(Asker& ask, Question question, const char* machine) {
  question.machine = machine;
  return ask.infer(question, [&](Collective collective, std::int64_t bytes) {
    return Result<Prediction>(ask.predict({.machine = machine,
                                           .ranks = question.tp,
                                           .collective = collective,
                                           .library = "nccl",
                                           .version = "",
                                           .wire = {},
                                           .dtype = question.dtype,
                                           .launch = question.launch,
                                           .in_place = true},
                                          bytes));
  });
}

}  // namespace

double percent_less(Picos was, Picos is) { return 100 * (1 - ratio(is, was)); }
double percent_faster(Picos was, Picos is) { return 100 * (ratio(was, is) - 1); }

std::vector<Sample> share_of_all_reduce(Asker& ask) {
  std::vector<Sample> samples;
  for (const char* llm : kLlms) {
    for (const std::int64_t prompt : kPrompts) {
      for (const std::int64_t batch : kBatches) {
        const Request all = request(ask, llm, batch, prompt, Sender::rccl);
        samples.push_back({100 * ratio(all.communication, all.time),
                           fmt::format("{}, batch {}, prompt {}", llm, batch, prompt),
                           fmt::format("{:.4g} of {:.4g} ms", all.communication.micros() / 1e3,
                                       all.time.micros() / 1e3)});
      }
    }
  }
  return samples;
}

std::vector<Sample> dda_against_rccl(Asker& ask, InferencePhase phase) {
  std::vector<Sample> samples;
  const auto add = [&](const char* llm, std::int64_t tokens, Launch launch) {
    const Call call{.launch = launch, .bytes = sum_bytes(llm, tokens)};
    if (path_of(ask, call, false) == rcclx::Path::ring) return;
    const Prediction was = time_of(ask, call, Sender::rccl), is = time_of(ask, call, Sender::rcclx);
    samples.push_back(
        {percent_faster(was.time, is.time),
         fmt::format("{}, {} {}, {}", llm, phase == InferencePhase::decode ? "batch" : "prompt",
                     tokens, name(launch)),
         compared(fmt::format("{}, {} -> {},", size_text(call.bytes), was.path, is.path), was.time,
                  is.time)});
  };
  for (const char* llm : kLlms) {
    if (phase == InferencePhase::prefill) {
      for (const std::int64_t prompt : kPrompts) add(llm, prompt, Launch::process_per_gpu);
      continue;
    }
    for (const std::int64_t batch : kBatches) {
      for (const Launch launch : kDecodeLaunches) add(llm, batch, launch);
    }
  }
  return samples;
}

std::vector<Sample> less_time_to_next_token(Asker& ask) {
  std::vector<Sample> samples;
  for (const char* llm : kLlms) {
    for (const std::int64_t batch : kBatches) {
      for (const Launch launch : kDecodeLaunches) {
        const auto time = [&](Sender sender) {
          return step(ask, llm, InferencePhase::decode, batch, kContext, sender, launch).time;
        };
        const Picos was = time(Sender::rccl), is = time(Sender::rcclx);
        samples.push_back({percent_less(was, is),
                           fmt::format("{}, batch {}, {}", llm, batch, name(launch)),
                           compared("step", was, is)});
      }
    }
  }
  return samples;
}

std::vector<Sample> low_precision_requests(Asker& ask, double (*gain)(Picos, Picos)) {
  std::vector<Sample> samples;
  for (const char* llm : kLlms) {
    for (const std::int64_t prompt : kPrompts) {
      if (path_of(ask, {.bytes = sum_bytes(llm, prompt)}, true) != rcclx::Path::low_precision) {
        continue;
      }
      for (const std::int64_t batch : kBatches) {
        const Picos was = request(ask, llm, batch, prompt, Sender::rcclx).time,
                    is = request(ask, llm, batch, prompt, Sender::rcclx_low_precision).time;
        samples.push_back({gain(was, is),
                           fmt::format("{}, batch {}, prompt {}", llm, batch, prompt),
                           compared("request", was, is)});
      }
    }
  }
  return samples;
}

std::vector<Sample> low_precision_from(Asker& ask) {
  std::vector<Sample> samples;
  for (const char* machine : {"mi300x", "mi350x"}) {
    for (const model::Format dtype : {model::Format::f32, model::Format::bf16}) {
      Call call{.machine = machine, .dtype = dtype, .launch = Launch::process_per_gpu};
      std::int64_t from = std::int64_t{1} << 30;
      for (call.bytes = from; call.bytes >= 1 << 20; call.bytes /= 2) {
        if (time_of(ask, call, Sender::rcclx_low_precision).time >=
            time_of(ask, call, Sender::rcclx).time) {
          break;
        }
        from = call.bytes;
      }
      call.bytes = from;
      samples.push_back({static_cast<double>(from) / (1 << 20),
                         fmt::format("{}, {}", machine, model::format(dtype).name),
                         compared(size_text(from), time_of(ask, call, Sender::rcclx).time,
                                  time_of(ask, call, Sender::rcclx_low_precision).time)});
    }
  }
  return samples;
}

std::vector<Sample> memory_ratio(Asker& ask) {
  const double g7e = ask.machine("g7e").gpu.memory_bytes_per_s.value,
               g6e = ask.machine("g6e").gpu.memory_bytes_per_s.value;
  return {
      {g7e / g6e, "the presets", fmt::format("{:.4g} against {:.4g} GB/s", g7e / 1e9, g6e / 1e9)}};
}

std::vector<Sample> link_ratio(Asker& ask) {
  const double g7e = widest_way(ask.machine("g7e").topology, 0, 1),
               g6e = widest_way(ask.machine("g6e").topology, 0, 1);
  return {
      {g7e / g6e, "the presets", fmt::format("{:.4g} against {:.4g} GB/s", g7e / 1e9, g6e / 1e9)}};
}

std::vector<Sample> throughput_ratio(Asker& ask, std::span<const int> gpus) {
  std::vector<Sample> samples;
  const auto add = [&](const Question& question) {
    const Answer g7e = on_aws(ask, question, "g7e"), g6e = on_aws(ask, question, "g6e");
    if (!g7e.memory.fits() || !g6e.memory.fits()) return;
    samples.push_back(
        {g7e.tokens_per_s / g6e.tokens_per_s,
         fmt::format("{}, tp {}, {}, batch {}, {} tokens, {}", question.model, question.tp,
                     name(question.phase), question.batch, question.context,
                     question.weights.is_none() ? "bf16" : question.weights.name),
         fmt::format("{:.4g} against {:.4g} tokens/s", g7e.tokens_per_s, g6e.tokens_per_s)});
  };
  const model::WireSize fp8 = model::size_of(model::cast_wire(model::Format::e4m3fn));
  for (const char* llm : {"llama3-8b", "llama3-70b"}) {
    for (const int tp : gpus) {
      for (const model::WireSize& weights : {model::WireSize{}, fp8}) {
        Question question;
        question.model = llm;
        question.tp = tp;
        question.weights = weights;
        question.context = kContext;
        for (const std::int64_t batch : kBatches) question.batch = batch, add(question);
        question.batch = 1;
        question.phase = InferencePhase::prefill;
        question.launch = Launch::process_per_gpu;
        for (const std::int64_t prompt : kPrompts) question.context = prompt, add(question);
      }
    }
  }
  return samples;
}

}  // namespace tally::sim
