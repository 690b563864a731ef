// Goal: what rocm-smi and nvidia-smi print becomes the links that it means, and other text is
// refused with its line.
// Method: samples in the form of the tools, one fault at a time.

#include "model/topology_text.h"

#include <fstream>
#include <sstream>

#include "model/machine_presets.h"
#include "tests/model/routes.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

const std::string kData = TALLY_SOURCE_DIR "/tests/data/";
const std::string kXgmi = kData + "rocm_smi_showtopo_xgmi.txt",
                  kNvswitch = kData + "nvidia_smi_topo_nvswitch.txt",
                  kPcie = kData + "nvidia_smi_topo_pcie.txt";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Machine machine_of(const std::string& text) {
  const auto machine = parse_topology_text("t.txt", text);
  if (!machine) FAIL(machine.error().where << ": " << machine.error().what);
  return *machine;
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  if (at == std::string::npos) FAIL("the sample has no " << old);
  return text.replace(at, old.size(), by);
}

double to_gpus(const Topology& topology, int gpu) {
  double sum = 0;
  for (const Link& link : topology.links) {
    if (link.from == gpu && topology.vertices[link.to].kind == Vertex::Kind::gpu) {
      sum += link.bytes_per_s;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("rocm-smi's mesh has a link from each to each", "[model]") {
  const Machine machine = machine_of(text_of(kXgmi));
  REQUIRE(machine.topology.gpus_per_node == 8);
  REQUIRE(is_connected(machine.topology));
  for (int gpu = 0; gpu < 8; ++gpu) REQUIRE(to_gpus(machine.topology, gpu) == 7 * 48e9);
  REQUIRE(machine.gpu.arch == "gfx942");
  REQUIRE(machine.gpu.launch_ns.evidence == Evidence::assumed);
  REQUIRE(machine.gpu.memory_bytes.evidence == Evidence::assumed);
}

TEST_CASE("a GPU that the text names is taken for it", "[model]") {
  const Machine machine = machine_of("GPU[0] : GFX Version: gfx950\n" + text_of(kXgmi));
  REQUIRE(machine.gpu.name == find_preset("mi350x")->gpu.name);
  REQUIRE(machine.gpu.memory_bytes.evidence == Evidence::quoted);
}

TEST_CASE("rocm-smi's heavier pairs are several links apart, and PCIe pairs meet at CPUs",
          "[model]") {
  const std::string text =
      "== Weight between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 15 30\nGPU1 15 0 15\nGPU2 30 15 0\n"
      "== Link Type between two GPUs ==\n GPU0 GPU1 GPU2\nGPU0 0 XGMI XGMI\nGPU1 XGMI 0 XGMI\n"
      "GPU2 XGMI XGMI 0\n";
  const Machine chain = machine_of(text);
  REQUIRE(to_gpus(chain.topology, 0) == 48e9);
  REQUIRE(to_gpus(chain.topology, 1) == 2 * 48e9);
  const Machine pcie = machine_of(
      "== Link Type between two GPUs ==\n GPU0 GPU1\nGPU0 0 PCIE\nGPU1 PCIE 0\n"
      "GPU[0]\t: (Topology) Numa Node: 0\nGPU[1]\t: (Topology) Numa Node: 3\n");
  REQUIRE(test::route(pcie.topology, 0, 1).links == 3);
}

TEST_CASE("nvidia-smi's 18 NVLinks to seven peers are a switch", "[model]") {
  const Machine machine = machine_of(text_of(kNvswitch));
  REQUIRE(machine.topology.gpus_per_node == 8);
  REQUIRE(machine.gpu.arch == "sm_90");
  const test::Route way = test::route(machine.topology, 2, 5);
  REQUIRE((way.links == 2 && way.bytes_per_s == 18 * 20.6e9));
  REQUIRE(to_gpus(machine.topology, 0) == 0);
  REQUIRE(is_connected(repeat(machine.topology, 3)));
}

TEST_CASE("nvidia-smi's NVLinks that a GPU has enough of are direct", "[model]") {
  const Machine machine = machine_of(
      "GPU0 GPU1 GPU2\nGPU0 X NV4 NV8\nGPU1 NV4 X SYS\n"
      "GPU2 NV8 SYS X\n");
  REQUIRE(machine.gpu.arch == "sm_80");
  REQUIRE(to_gpus(machine.topology, 0) == 12 * 20e9);
  REQUIRE(test::route(machine.topology, 0, 2).bytes_per_s == 8 * 20e9);
}

TEST_CASE("nvidia-smi's PCIe relations are switches, CPUs and what joins these", "[model]") {
  const Machine machine = machine_of(text_of(kPcie));
  const Topology& t = machine.topology;
  REQUIRE(test::route(t, 0, 1).links == 2);
  REQUIRE(test::route(t, 0, 3).links == 4);
  REQUIRE(test::route(t, 0, 7).links == 5);
  REQUIRE(test::route(t, 0, 7).bytes_per_s == 22e9);
  REQUIRE(is_connected(t));
  REQUIRE(machine.gpu.arch == "sm_120");
  const Machine alone = machine_of("GPU0 CPU Affinity\nGPU0 X 0-7\n");
  REQUIRE(alone.topology.gpus_per_node == 1);
  const Machine direct = machine_of("GPU0 GPU1\nGPU0 X NODE\nGPU1 NODE X\n");
  REQUIRE(test::route(direct.topology, 0, 1).links == 2);
}

TEST_CASE("what is wrong in a table is named by its line", "[model]") {
  struct Fault {
    std::string file, old, by, where, what;
  };
  const Fault faults[] = {
      {kPcie, "GPU1    PIX", "GPU1    PIXX", "t.txt:3", "GPU1 and GPU0 do not agree: PIXX and PIX"},
      {kPcie, "\nGPU4 ", "\nGPU5 ", "t.txt:6", "no row GPU4"},
      {kXgmi, "GPU0   0            15", "GPU0   0            x", "t.txt:7",
       "GPU1 and GPU0 do not agree: 15 and x"},
      {kXgmi, "Numa Node: 1", "Numa Node: one", "", "a NUMA node that cannot be read"},
      {kXgmi, "GPU[7]\t\t: (Topology) Numa Node", "GPU[8]\t\t: (Topology) Numa Node", "",
       "a NUMA node that cannot be read"},
  };
  for (const Fault& fault : faults) {
    CAPTURE(fault.old, fault.by);
    const auto machine =
        parse_topology_text("t.txt", replaced(text_of(fault.file), fault.old, fault.by));
    REQUIRE(!machine);
    if (!fault.where.empty()) REQUIRE(machine.error().where == fault.where);
    REQUIRE(machine.error().what == fault.what);
    REQUIRE(!machine.error().hint.empty());
  }
}

TEST_CASE("unknown words of a table have a hint", "[model]") {
  const auto error = [](const std::string& text) {
    const auto machine = parse_topology_text("t.txt", text);
    return machine ? Error{} : machine.error();
  };
  const Error relation = error("GPU0 GPU1\nGPU0 X PXX\nGPU1 PXX X\n");
  REQUIRE(relation.what == "unknown relation 'PXX'");
  REQUIRE(relation.hint.starts_with("did you mean"));
  REQUIRE(error("GPU0 GPU1\nGPU0 X NV19\nGPU1 NV19 X\n").what == "unknown relation 'NV19'");
  const std::string types = "Link Type\n GPU0 GPU1\nGPU0 0 XGMY\nGPU1 XGMY 0\n";
  REQUIRE(error(types).hint == "did you mean 'XGMI'?");
  const std::string weights = "Weight between\n GPU0\nGPU0 0\n";
  REQUIRE(error(weights + types).what == "tables of different sizes");
  REQUIRE(error("no table at all").what == "no table");
  REQUIRE(error("GPU0 GPU1\nGPU0 X NV1\n").what == "no row GPU1");
  REQUIRE(error("GPU0 GPU1\nGPU0 X\n").what == "1 cells");
}

}  // namespace tally::model
