#include "model/topology_parts.h"

#include <iterator>

#include "model/machine_presets.h"

namespace tally::model {
namespace {

struct ArchRate {
  std::string_view arch_prefix;
  double bytes_per_s;
};
// VEGA_, MI200_, GFX94X_ and GFX95X_XGMI_WIDTH: ROCm/rccl, src/graph/topo.h.
constexpr ArchRate kXgmi[] = {
    {"gfx95", 48.0e9}, {"gfx94", 48.0e9}, {"gfx90a", 36.0e9}, {"gfx", 24.0e9}};
// SM60_ to SM100_NVLINK_BW: NVIDIA/nccl, src/graph/topo.h.
constexpr ArchRate kNvlink[] = {{"sm_10", 40.1e9}, {"sm_12", 40.1e9}, {"sm_90", 20.6e9},
                                {"sm_86", 12.0e9}, {"sm_8", 20.0e9},  {"sm_7", 20.0e9},
                                {"sm_6", 18.0e9},  {"", 20.6e9}};

double rate_of(std::span<const ArchRate> rows, std::string_view arch) {
  for (const ArchRate& row : rows) {
    if (arch.starts_with(row.arch_prefix)) return row.bytes_per_s;
  }
  return rows.back().bytes_per_s;
}

// What crossing to the other socket adds to a small write, 0.44 - 0.36 us: local-inference-lab/
// rtx6kpro, hardware/pcie-bandwidth.md.
constexpr double kBetweenCpusNs = 80;

// Intel's models of family 6, newest first: NVIDIA/nccl, src/graph/topo.cc and topo.h.
constexpr struct {
  int model;
  double bytes_per_s;
} kIntel[] = {{0xCF, 40e9}, {0x8F, 22e9}, {0x55, 10e9}, {0, 6e9}};

}  // namespace

LinkWorth xgmi_link(std::string_view arch) {
  return {rate_of(kXgmi, arch), find_preset("mi300x")->fabric.link_latency_ns.value};
}

LinkWorth nvlink(std::string_view arch) {
  // The preset's way from GPU to GPU has two links and a switch between them.
  return {rate_of(kNvlink, arch), 2 * find_preset("h100")->fabric.link_latency_ns.value};
}

LinkWorth between_cpus(std::string_view arch, std::string_view vendor, int model) {
  if (arch.starts_with("ppc")) return {32e9, kBetweenCpusNs};
  if (arch.starts_with("arm") || arch.starts_with("aarch")) return {6e9, kBetweenCpusNs};
  if (vendor == "AuthenticAMD") return {16e9, kBetweenCpusNs};
  for (const auto& row : kIntel) {
    if (model >= row.model) return {row.bytes_per_s, kBetweenCpusNs};
  }
  return {std::rbegin(kIntel)->bytes_per_s, kBetweenCpusNs};
}

double pci_latency_ns() { return find_preset("rtxpro6000")->fabric.link_latency_ns.value; }
double pci_uplink_latency_ns() { return find_preset("rtxpro6000")->fabric.uplink_latency_ns.value; }

const MachineFile& preset_for(std::string_view arch) {
  for (const EmbeddedText& text : preset_texts()) {
    const MachineFile* preset = find_preset(text.name);
    if (preset->gpu.arch == arch) return *preset;
  }
  return *find_preset(arch.starts_with("gfx") ? "mi300x" : "h100");
}

GpuFacts gpu_for(const std::string& arch, const std::string& reason, bool certain) {
  const MachineFile& preset = preset_for(arch);
  GpuFacts gpu = preset.gpu;
  const bool is_known = gpu.arch == arch;
  if (!is_known) gpu.name = "GPU of " + arch;
  gpu.arch = arch;
  for (const GpuNumber& row : gpu_numbers()) {
    Sourced& number = gpu.*row.member;
    number.source = reason + "; of preset " + preset.name + ": " + number.source;
    if (!is_known || !certain) number.evidence = Evidence::assumed;
  }
  return gpu;
}

}  // namespace tally::model
