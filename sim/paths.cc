#include "sim/paths.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tally::sim {
namespace {

constexpr double kLl = 2, kLl128 = 128.0 / 120;

// clang-format off
constexpr PathRow kRows[] = {
    {"rccl", "ring/ll",              Movement::ring,     kLl,    "rccl/ring_ll"},
    {"rccl", "ring/ll128",           Movement::ring,     kLl128, "rccl/ring_ll128"},
    {"rccl", "ring/simple",          Movement::ring,     1,      "rccl/ring_simple"},
    {"rccl", "ring/simple_large",    Movement::ring,     1,      "rccl/ring_large"},
    {"rccl", "tree/ll",              Movement::tree,     kLl,    "rccl/tree_ll"},
    {"rccl", "tree/ll128",           Movement::tree,     kLl128, "rccl/tree_ll128"},
    {"rccl", "tree/simple",          Movement::tree,     1,      "rccl/tree_simple"},
    {"rccl", "p2p",                  Movement::one_shot, 1,      "rccl/p2p"},
    {"rccl", "msccl/allpairs_ll",    Movement::two_shot, kLl,    "msccl/allpairs_ll"},
    {"rccl", "msccl/allpairs_simple", Movement::two_shot, 1,     "msccl/allpairs_simple"},
    {"rccl", "mscclpp/one_shot",     Movement::one_shot, kLl,    "rccl_mscclpp/one_shot"},
    {"rccl", "mscclpp/two_shot",     Movement::two_shot, kLl,    "rccl_mscclpp/two_shot"},
    {"rccl", "mscclpp/simple",       Movement::two_shot, 1,      "rccl_mscclpp/simple"},
    {"rccl", "dda/flat",             Movement::one_shot, 1,      "rcclx/dda/flat"},
    {"rccl", "dda/tree",             Movement::two_shot, 1,      "rcclx/dda/tree"},
    {"rccl", "low_precision",        Movement::two_shot, 1,      "rcclx/low_precision", true},
    {"nccl", "ring/ll",              Movement::ring,     kLl,    "nccl/ring_ll"},
    {"nccl", "ring/ll128",           Movement::ring,     kLl128, "nccl/ring_ll128"},
    {"nccl", "ring/simple",          Movement::ring,     1,      "nccl/ring_simple"},
    {"nccl", "nvls",                 Movement::nvls,     1,      "nccl/nvls"},
    {"nccl", "tree/ll",              Movement::tree,     kLl,    "nccl/tree_ll"},
    {"nccl", "tree/simple",          Movement::tree,     1,      "nccl/tree_simple"},
    {"nccl", "p2p",                  Movement::one_shot, 1,      "nccl/p2p"},
    {"nccl", "symmetric/ll",         Movement::one_shot, kLl,    "nccl/symmetric_ll"},
    {"nccl", "symmetric/simple",     Movement::two_shot, 1,      "nccl/symmetric"},
    {"nccl", "symmetric/p2p",        Movement::one_shot, 1,      "nccl/symmetric_p2p"},
    {"mscclpp", "one_shot",          Movement::one_shot, kLl,    "mscclpp/one_shot"},
    {"mscclpp", "two_shot",          Movement::two_shot, kLl,    "mscclpp/two_shot"},
    {"mscclpp", "simple",            Movement::two_shot, 1,      "mscclpp/simple"},
    {"quickreduce", "none",          Movement::two_shot, 1,      "quickreduce/none"},
    {"quickreduce", "fp8",           Movement::two_shot, 1,      "quickreduce/codec/fp8", true},
    {"quickreduce", "int8",          Movement::two_shot, 1,      "quickreduce/codec/int8", true},
    {"quickreduce", "int6",          Movement::two_shot, 1,      "quickreduce/codec/int6", true},
    {"quickreduce", "int4",          Movement::two_shot, 1,      "quickreduce/codec/int4", true},
    {"vllm", "one_shot",             Movement::one_shot, 1,      "vllm/one_shot"},
    {"vllm", "two_shot",             Movement::two_shot, 1,      "vllm/two_shot"},
    {"p2p_oneshot", "one_shot",      Movement::one_shot, 1,      "p2p_oneshot/one_shot"},
    {"tally", "flat",                Movement::one_shot, 1,      "tally/flat", true},
    {"tally", "flat_ll",             Movement::one_shot, kLl,    "tally/flat_ll", true},
    {"tally", "tree",                Movement::two_shot, 1,      "tally/tree", true},
    {"tally", "ring",                Movement::ring,     1,      "tally/ring", true},
};
// clang-format on

// On AMD nobody has timed Tally's kernels: those of the same algorithm in other libraries stand in.
struct StandIn {
  std::string_view ours, theirs;
};
constexpr StandIn kOnAmd[] = {{"tally/flat", "rcclx/dda/flat"},
                              {"tally/tree", "rcclx/dda/tree"},
                              {"tally/flat_ll", "mscclpp/one_shot"},
                              {"tally/ring", "rccl/ring_simple"}};

std::string_view parameters_for(const PathRow& row, std::string_view arch) {
  if (!arch.starts_with("gfx")) return row.parameters;
  for (const StandIn& stand_in : kOnAmd) {
    if (stand_in.ours == row.parameters) return stand_in.theirs;
  }
  return row.parameters;
}

// The share of a message that travels.
double wire_ratio(const Scenario& scenario) {
  constexpr std::int64_t kElements = 1 << 20;  // a multiple of every block
  return static_cast<double>(scenario.wire.bytes(kElements, scenario.dtype)) /
         static_cast<double>(kElements * scenario.dtype.bytes());
}

}  // namespace

std::span<const PathRow> path_rows() { return kRows; }

double Path::micros(double bytes) const {
  double hops = hops_us;
  if (small_exponent > 0 && bytes < full_bytes) {
    const double share = std::log2(std::max(bytes, 16.0) / 16) / std::log2(full_bytes / 16);
    hops *= std::pow(share, small_exponent);
  }
  const double time = base_us + hops + bytes * us_per_byte + ramp_us * std::sqrt(bytes);
  return std::max(time, floor_us);
}

std::string_view Path::bound_by(double bytes) const {
  const std::pair<double, std::string_view> terms[] = {{std::max(base_us, floor_us), "launch"},
                                                       {hops_us, "hops"},
                                                       {bytes * us_per_byte, "link"},
                                                       {ramp_us * std::sqrt(bytes), "pipeline"}};
  return std::max_element(std::begin(terms), std::end(terms))->second;
}

std::vector<Path> paths_of(const Scenario& scenario, const model::Machine& machine,
                           const Parameters& parameters) {
  const Ports ports = ports_of(machine.topology);
  const double bytes_per_us = port_bandwidth(ports, scenario.ranks, scenario.nodes) / 1e6;
  std::vector<Path> paths;
  for (const PathRow& row : kRows) {
    if (row.library != scenario.library &&
        !(scenario.library == "rcclx" && row.library == "rccl")) {
      continue;
    }
    const std::string_view prefix = parameters_for(row, machine.gpu.arch);
    const auto term = [&](std::string_view name, double otherwise) {
      const auto found =
          parameters.find(prefix, name, {machine.name, machine.gpu.arch, sim::name(ports.kind)});
      return found.value_or(otherwise);
    };
    const Traffic t = traffic(row.movement, scenario.collective, scenario.ranks, scenario.nodes);
    const double falling = std::pow(2.0 / scenario.ranks, term("falling_exponent", 0));
    // Microseconds on the links for a byte of the message, if they carried nothing else.
    const double ratio = row.encodes ? wire_ratio(scenario) : 1;
    const double per_byte = t.port_bytes * row.link_bytes * ratio / bytes_per_us;
    Path path{row.name};
    path.base_us = term("base_us", 0) + t.node_hops * term("node_us", 0);
    if (scenario.launch != Launch::graph) path.base_us += term("stream_us", 0);
    path.hops_us = t.hops * term("hop_us", 0);
    path.us_per_byte = per_byte / (term("efficiency", 1) * falling) +
                       term("memory_passes", 0) * 1e6 / machine.gpu.memory_bytes_per_s.value;
    path.ramp_us = term("ramp", 0) * std::sqrt(per_byte);
    path.full_bytes = 16.0 * scenario.ranks;
    path.small_exponent = scenario.nodes == 1 ? term("small_exponent", 0) : 0;
    if (scenario.launch == Launch::single_process) {
      path.floor_us = scenario.ranks * term("host_us", 0);
    }
    paths.push_back(path);
  }
  return paths;
}

}  // namespace tally::sim
