// Goal: every preset can be used, says where each of its numbers is from, and agrees with what
// others measured of it.
// Method: load all; compare with the matrices of links beside the checkout, where they are.

#include "model/machine_presets.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/model/routes.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"

namespace tally::model {
namespace {

std::vector<Sourced> numbers_of(const MachineFile& file) {
  std::vector<Sourced> all;
  for (const GpuNumber& row : gpu_numbers()) all.push_back(file.gpu.*row.member);
  const Fabric& f = file.fabric;
  all.insert(all.end(), {f.link_peak_bytes_per_s, f.link_bytes_per_s, f.link_latency_ns});
  if (f.kind == Fabric::Kind::pcie) {
    all.insert(all.end(), {f.uplink_bytes_per_s, f.uplink_latency_ns});
  }
  const Network& n = file.network;
  all.insert(all.end(), {n.nic_bytes_per_s, n.nic_latency_ns, n.pci_bytes_per_s, n.pci_latency_ns});
  return all;
}

// The rates of a matrix of pairs, in bytes a second, without its diagonal.
std::vector<double> pairs_of(const std::filesystem::path& path, double unit) {
  std::vector<double> rates;
  std::ifstream file(path);
  int row = -2;  // the header is row -1
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || ++row < 0) continue;
    std::istringstream cells(line);
    std::string cell;
    for (int column = -1; std::getline(cells, cell, ','); ++column) {
      if (column >= 0 && column != row) rates.push_back(std::stod(cell) * unit);
    }
  }
  return rates;
}

const std::filesystem::path kMeasured = TALLY_SOURCE_DIR "/../shared/data/perf";

}  // namespace

TEST_CASE("every preset loads, and any number of nodes of it is connected", "[model]") {
  REQUIRE(machine_names() == std::vector<std::string>{
                                 "mi300x", "mi350x", "mi355x", "h100", "h200", "a100", "rtxpro6000",
                                 "rtxpro6000_shared_root", "rtxpro6000_3switch", "g7e", "g6e"});
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    for (const int nodes : {0, 1, 2, 33}) {
      const auto machine = find_machine(name, nodes);
      REQUIRE(machine);
      REQUIRE(machine->name == name);
      REQUIRE(machine->topology.nodes == std::max(nodes, 1));
      REQUIRE(machine->topology.gpus_per_node == 8);
      REQUIRE(is_connected(machine->topology));
    }
  }
}

TEST_CASE("every number of a preset has a source and is positive", "[model]") {
  for (const PresetText& preset : preset_texts()) {
    CAPTURE(preset.name);
    for (const Sourced& number : numbers_of(*find_preset(preset.name))) {
      REQUIRE(number.value > 0);
      REQUIRE(number.source.size() > 10);
    }
  }
}

TEST_CASE("in a mesh of MI300X a GPU sends to seven peers at once", "[model]") {
  for (const char* name : {"mi300x", "mi350x", "mi355x"}) {
    const MachineFile& file = *find_preset(name);
    double egress = 0;
    for (const Link& link : lay_out(file.fabric, {}).links) {
      egress += link.from == 3 ? link.bytes_per_s : 0;
    }
    REQUIRE(egress == 7 * file.fabric.link_bytes_per_s.value);
  }
}

TEST_CASE("the three wirings of RTX PRO 6000 differ where flags cross switches", "[model]") {
  const auto flag_ns = [](const char* name, int to) {
    const Machine machine = *find_machine(name);
    return machine.gpu.signal_ns.value + test::route(machine.topology, 0, to).latency_ns;
  };
  // Measured means: local-inference-lab/rtx6kpro, 8-GPU root topology comparison, section 2b.
  REQUIRE(flag_ns("rtxpro6000", 1) == 680.5);
  REQUIRE(std::round(flag_ns("rtxpro6000", 4) * 10) == 10723);
  REQUIRE(std::round(flag_ns("rtxpro6000_shared_root", 4) * 10) == 10622);
  REQUIRE(flag_ns("rtxpro6000_3switch", 3) == 680.5);
  REQUIRE(flag_ns("rtxpro6000_3switch", 4) == 680.5 + 470);
}

// AWS: "up to four times the inter-GPU bandwidth" and "1.85 times the GPU memory bandwidth" of G6e.
TEST_CASE("G7e is to G6e as AWS states", "[model]") {
  const Machine g7e = *find_machine("g7e"), g6e = *find_machine("g6e");
  for (int to = 1; to < 8; ++to) {
    REQUIRE(test::route(g7e.topology, 0, to).bytes_per_s ==
            4 * test::route(g6e.topology, 0, to).bytes_per_s);
  }
  const double ratio = g7e.gpu.memory_bytes_per_s.value / g6e.gpu.memory_bytes_per_s.value;
  REQUIRE(std::round(ratio * 100) == 185);
}

TEST_CASE("a link of a preset is as fast as pairs measured alone, and none beats its peak",
          "[model]") {
  struct Matrix {
    const char *machine, *file;
    double unit;
    bool is_of_one_pair_at_a_time;
  };
  constexpr double kGiB = 1 << 30;
  const Matrix matrices[] = {
      {"mi300x", "link_mi300x_transferbench_p2p_uni.csv", 1e9, true},
      {"mi300x", "link_mi300x_transferbench_a2a.csv", 1e9, false},
      {"mi300x", "link_mi300x_iris_remote_load_bw_matrix.csv", kGiB, false},
      {"mi300x", "link_mi300x_iris_remote_store_bw_matrix.csv", kGiB, false},
      {"mi300x", "link_mi300x_iris_remote_atomic_xchg_bw_matrix.csv", kGiB, false},
      {"mi350x", "link_mi350x_transferbench_p2p_uni.csv", 1e9, true},
      {"mi350x", "link_mi350x_transferbench_a2a.csv", 1e9, false},
  };
  if (!std::filesystem::exists(kMeasured)) return test::skip_case("no measured links here");
  for (const Matrix& matrix : matrices) {
    CAPTURE(matrix.file);
    const Fabric& fabric = find_preset(matrix.machine)->fabric;
    const auto rates = pairs_of(kMeasured / matrix.file, matrix.unit);
    REQUIRE(rates.size() == 56);
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    REQUIRE(*most <= fabric.link_peak_bytes_per_s.value);
    if (!matrix.is_of_one_pair_at_a_time) continue;
    REQUIRE(*least <= fabric.link_bytes_per_s.value);
    REQUIRE(fabric.link_bytes_per_s.value <= *most);
  }
}

}  // namespace tally::model
