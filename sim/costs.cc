#include "sim/costs.h"

#include "model/check.h"

namespace tally::sim {
namespace {

constexpr std::string_view kNccl = "NVIDIA/nccl, src/graph/tuning.cc: nvlink, ring",
                           kRccl = "ROCm/rccl, src/graph/tuning.cc: tuning_model_5, ring";
// LL: 8 bytes hold 4 of data and 4 of flag. LL128: of 128 bytes 8 are flags.
constexpr Protocol kProtocols[] = {
    {"nccl", "ll", 8, 4, 600, kNccl},        {"nccl", "ll128", 128, 120, 1900, kNccl},
    {"nccl", "simple", 1, 1, 3400, kNccl},   {"rccl", "ll", 8, 4, 800, kRccl},
    {"rccl", "ll128", 128, 120, 800, kRccl}, {"rccl", "simple", 1, 1, 2100, kRccl},
};

}  // namespace

std::span<const Protocol> protocols() { return kProtocols; }

const Protocol* find_protocol(std::string_view library, std::string_view name) {
  for (const Protocol& protocol : kProtocols) {
    if (protocol.library == library && protocol.name == name) return &protocol;
  }
  return nullptr;
}

Costs costs_of(const model::GpuFacts& gpu, Launch launch) {
  Costs costs;
  costs.launch =
      from_nanos(launch == Launch::graph ? gpu.graph_launch_ns.value : gpu.launch_ns.value);
  costs.signal = from_nanos(gpu.signal_ns.value);
  costs.memory_bytes_per_s = gpu.memory_bytes_per_s.value;
  costs.codec_bytes_per_s = gpu.codec_bytes_per_s.value;
  return costs;
}

Costs with_protocol(Costs costs, const Protocol& protocol) {
  costs.signal = from_nanos(protocol.hop_ns);
  costs.wire_bytes = protocol.wire_bytes;
  costs.data_bytes = protocol.data_bytes;
  return costs;
}

}  // namespace tally::sim
