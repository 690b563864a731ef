#include "sim/choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace tally::sim {
namespace {

using model::Collective;
using Names = std::vector<std::string_view>;

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;

bool exchanges(Collective collective) {
  return collective == Collective::all_to_all || collective == Collective::all_to_all_v;
}

// "2.22.3 ..." is 222; 0 where the text begins with no version.
int library_version(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return 0;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return 0;
  return major * 100 + std::clamp(minor, 0, 99);
}

// RCCL loads MSCCL's files up to 2.27; in a single process of several ranks 2.20 did not, and later
// ones do, as tables of both show. Source: ROCm/rccl, CHANGELOG.md (2.28), and
// RCCL_MSCCL_ENABLE_SINGLE_PROCESS.
bool has_msccl(const Scenario& scenario) {
  if (scenario.version.find("no MSCCL") != std::string::npos) return false;
  if (scenario.version.find("with MSCCL") != std::string::npos) return true;
  const int version = library_version(scenario.version);
  const int first = scenario.launch == Launch::single_process ? 221 : 1;
  return version >= first && version < 228;
}

// In one node RCCL compares LL with Simple by its own cost model; gfx942 and gfx950 have the same
// constants. Source: ROCm/rccl, src/graph/tuning.cc, models 5 and 6, and topo.h (48 GB/s a link).
std::string_view rccl_protocol(const Scenario& scenario, std::int64_t bytes) {
  const double ranks = scenario.ranks;
  const double steps = (scenario.collective == Collective::all_reduce ? 2 : 1) * (ranks - 1);
  const double ring_bytes_per_us = std::max(ranks - 1, 1.0) * 48e3 * ranks / std::max(steps, 1.0);
  const double n = static_cast<double>(bytes);
  const double ll = 12 + steps * 0.8 + n / (0.08 * ring_bytes_per_us);
  const double simple = 17 + steps * 2.1 + n / ring_bytes_per_us;
  return ll <= simple ? "ring/ll" : "ring/simple";
}

// Later builds take LL128 between the two, by bytes of a rank; the limits are where the published
// tables change (ROCm/rocm-systems#10072).
std::string_view rccl_protocol_with_ll128(const Scenario& scenario, std::int64_t bytes) {
  const std::int64_t of_a_rank = bytes / scenario.ranks;
  if (of_a_rank <= 64 * kKiB) return "ring/ll";
  if (of_a_rank <= 256 * kKiB) return "ring/ll128";
  return of_a_rank < 8 * kMiB ? "ring/simple" : "ring/simple_large";
}

// Over nodes: where the published tables of two nodes change. gfx950 has LL128 there.
std::string_view rccl_over_nodes(const Scenario& scenario, std::string_view arch,
                                 std::int64_t bytes) {
  if (exchanges(scenario.collective)) return "p2p";
  const std::int64_t of_a_rank = bytes / scenario.ranks;
  if (scenario.collective != Collective::all_reduce) {
    return of_a_rank <= 64 * kKiB ? "ring/ll" : "ring/simple";
  }
  if (of_a_rank <= (arch == "gfx950" ? 4 : 64) * kKiB) return "tree/ll";
  if (arch == "gfx950" && of_a_rank <= 256 * kKiB) return "tree/ll128";
  return of_a_rank <= 8 * kMiB ? "tree/simple" : "ring/simple";
}

// The algorithm files are for 8 ranks and cut a message into as many chunks as they say; what does
// not divide is the ring's. MSCCL++ is taken in graphs. Sizes: minBytes and maxBytes of
// ROCm/rccl, tools/msccl-algorithms.
std::string_view rccl_msccl(const Scenario& scenario, std::int64_t bytes) {
  const std::int64_t count = bytes / scenario.dtype.bytes();
  if (scenario.ranks != 8 || scenario.collective != Collective::all_reduce) return "";
  if (scenario.launch == Launch::graph && count % 8 == 0 && bytes <= kMiB) {
    if (bytes > 256 * kKiB) return "mscclpp/simple";
    return bytes < 512 ? "mscclpp/one_shot" : "mscclpp/two_shot";
  }
  if (count % 256 != 0) return "";
  if (bytes < 512 * kKiB) return "msccl/allpairs_ll";
  const std::int64_t most = scenario.in_place ? 11534336 : 16 * kMiB;
  return bytes <= most ? "msccl/allpairs_simple" : "";
}

Names rccl(const Scenario& scenario, std::string_view arch, std::int64_t bytes) {
  if (scenario.nodes > 1) return {rccl_over_nodes(scenario, arch, bytes)};
  if (exchanges(scenario.collective)) return {"p2p"};
  if (has_msccl(scenario)) {
    const std::string_view path = rccl_msccl(scenario, bytes);
    return {path.empty() ? rccl_protocol(scenario, bytes) : path};
  }
  const int version = library_version(scenario.version);
  if (version != 0 && version < 228) return {rccl_protocol(scenario, bytes)};
  return {rccl_protocol_with_ll128(scenario, bytes)};
}

// What Direct Data Access takes, of the messages it is allowed: in RCCLX up to its own limits, in
// ROCm's derivative up to others (ROCm/rocm-systems#10072, #9790).
Names dda(const Scenario& scenario, std::string_view arch, std::int64_t bytes) {
  const bool is_rcclx = scenario.library == "rcclx";
  const std::int64_t flat = is_rcclx ? 200 * kKiB : 256 * kKiB;
  const std::int64_t tree = is_rcclx ? 29 * kMiB : (arch == "gfx942" ? 8 : 128) * kMiB;
  const std::int64_t moved = is_rcclx ? 16 * kMiB : tree;
  if (scenario.nodes > 1) return {};
  if (scenario.collective != Collective::all_reduce) {
    return bytes <= moved ? Names{"dda/flat"} : Names{};
  }
  if (bytes <= flat) return {"dda/flat"};
  return bytes <= tree ? Names{"dda/tree"} : Names{};
}

Names rcclx(const Scenario& scenario, std::string_view arch, std::int64_t bytes) {
  if (!scenario.wire.is_none()) {
    if (bytes >= 16 * kMiB) return {"low_precision"};
  }
  const Names direct = scenario.ranks == 8 ? dda(scenario, arch, bytes) : Names{};
  return direct.empty() ? rccl(scenario, arch, bytes) : direct;
}

// NVLink: the fastest, since the library's own model is a fit of the same times. PCIe: by that
// model, whose Simple costs 5.7 us a hop there (NVIDIA/nccl, src/graph/tuning.cc).
Names nccl(const Scenario& scenario, std::string_view arch, const Ports& ports,
           std::int64_t bytes) {
  const bool is_forced_ring = scenario.algorithm == "ring";
  if (scenario.algorithm == "nvls") return {"nvls"};
  const bool is_symmetric = scenario.version.find("symmetric") != std::string::npos;
  if (exchanges(scenario.collective)) return {is_symmetric ? "symmetric/p2p" : "p2p"};
  if (is_symmetric && !is_forced_ring) return {"symmetric/ll", "symmetric/simple"};
  if (scenario.nodes > 1) {
    if (is_forced_ring || scenario.collective != Collective::all_reduce) {
      return {"ring/ll", "ring/ll128", "ring/simple"};
    }
    return {"ring/ll", "ring/ll128", "ring/simple", "tree/ll", "tree/simple"};
  }
  if (ports.kind == Ports::Kind::pcie) {
    const double steps =
        (scenario.collective == Collective::all_reduce ? 2 : 1) * (scenario.ranks - 1.0);
    const double volume = steps / scenario.ranks, ring_bytes_per_us = 24e3;
    const double n = static_cast<double>(bytes) * volume;
    const double ll = 6.6 + steps * 1.0 + n / (0.5 * ring_bytes_per_us);
    const double simple = 8.4 + steps * 5.7 + n / ring_bytes_per_us;
    return {ll <= simple ? "ring/ll" : "ring/simple"};
  }
  if (bytes / scenario.ranks <= 16 * kKiB) return {"ring/ll"};
  Names names{"ring/ll128", "ring/simple"};
  const bool has_nvls = arch == "sm_90" && scenario.ranks > 2;
  if (has_nvls && !is_forced_ring && scenario.collective == Collective::all_reduce) {
    names.push_back("nvls");
  }
  return names;
}

// Source: microsoft/mscclpp, its NCCL interface's selector: one phase to 16 KiB, two with packets
// to 1 MiB.
Names mscclpp(std::int64_t bytes) {
  if (bytes <= 16 * kKiB) return {"one_shot"};
  return {bytes <= kMiB ? "two_shot" : "simple"};
}

Names quickreduce(const Scenario& scenario) {
  if (scenario.wire.is_none()) return {"none"};
  if (scenario.wire.name.starts_with("int")) {
    if (scenario.wire.element_bits == 8) return {"int8"};
    return {scenario.wire.element_bits == 6 ? "int6" : "int4"};
  }
  return {scenario.wire.element_bits == 8 ? "fp8" : "int4"};
}

// Source: vllm-project/vllm, csrc/custom_all_reduce.cuh. (Above 8 MiB vLLM hands on to NCCL or
// RCCL; ask for those.)
Names vllm(const Scenario& scenario, std::int64_t bytes) {
  const std::int64_t one_shot = (scenario.ranks <= 4 ? 512 : 256) * kKiB;
  return {scenario.ranks == 2 || bytes < one_shot ? "one_shot" : "two_shot"};
}

Names tally(const Scenario& scenario) {
  const bool is_reduced = scenario.collective == Collective::all_reduce;
  if (scenario.algorithm == "auto") {
    return is_reduced ? Names{"flat_ll", "flat", "tree", "ring"} : Names{"flat"};
  }
  if (scenario.algorithm != "flat" && !is_reduced) return {};
  for (const std::string_view name : {"flat", "flat_ll", "tree", "ring"}) {
    if (scenario.algorithm == name) return {name};
  }
  return {};
}

// Where the algorithm is forced in a library that chooses among protocols by itself.
Names forced_ring(const Scenario& scenario, std::int64_t bytes) {
  if (exchanges(scenario.collective)) return {};
  if (scenario.nodes > 1) return {bytes / scenario.ranks <= 64 * kKiB ? "ring/ll" : "ring/simple"};
  return {rccl_protocol(scenario, bytes)};
}

}  // namespace

Names choices(const Scenario& scenario, std::string_view arch, const Ports& ports,
              std::int64_t bytes) {
  const std::string_view library = scenario.library, algorithm = scenario.algorithm;
  if (library == "tally") return tally(scenario);
  if (library == "rccl" || library == "rcclx") {
    if (algorithm == "ring") return forced_ring(scenario, bytes);
    if (algorithm == "tree") return {scenario.nodes > 1 ? "tree/simple" : "dda/tree"};
    if (algorithm == "flat") return {"dda/flat"};
    if (algorithm == "dda") {
      const Names direct = dda(scenario, arch, bytes);
      return direct.empty() ? rccl(scenario, arch, bytes) : direct;
    }
    return library == "rcclx" ? rcclx(scenario, arch, bytes) : rccl(scenario, arch, bytes);
  }
  if (library == "nccl") return nccl(scenario, arch, ports, bytes);
  if (library == "mscclpp") return mscclpp(bytes);
  if (library == "quickreduce") return quickreduce(scenario);
  if (library == "vllm") return vllm(scenario, bytes);
  if (library == "p2p_oneshot") return {"one_shot"};
  return {};
}

}  // namespace tally::sim
