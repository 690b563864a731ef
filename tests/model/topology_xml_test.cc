// Goal: topologies that RCCL and NCCL wrote become the links that they describe, and a broken one
// is refused with its line.
// Method: a small file, one fault at a time; and the files beside the checkout, where they are.

#include "model/topology_xml.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/machine_presets.h"
#include "tests/model/routes.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"

namespace tally::model {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const std::string kSmall = TALLY_SOURCE_DIR "/tests/data/nccl_topology_two_switches.xml";

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  if (at == std::string::npos) FAIL("the sample has no " << old);
  return text.replace(at, old.size(), by);
}

Error error_of(const std::string& text) {
  const auto machine = parse_topology_xml("t.xml", text);
  return machine ? Error{} : machine.error();
}

double egress(const Topology& topology, int vertex) {
  double sum = 0;
  for (const Link& link : topology.links) sum += link.from == vertex ? link.bytes_per_s : 0;
  return sum;
}

double pci(double gigatransfers, int width) {
  return gigatransfers * 1e9 * (128.0 / 130) * width / 8;
}

}  // namespace

TEST_CASE("GPUs are in the order of their ranks, and links have the rates that NCCL gives them",
          "[model]") {
  const auto machine = parse_topology_xml("t.xml", text_of(kSmall));
  REQUIRE(machine);
  const Topology& t = machine->topology;
  REQUIRE(t.gpus_per_node == 2);
  REQUIRE(is_connected(t));
  // Rank 0 is the second GPU of the file, of eight lanes; 18 NVLinks of 20.6 GB/s to the switches.
  REQUIRE(egress(t, 0) == pci(32, 8) + 18 * 20.6e9);
  REQUIRE(egress(t, 1) == pci(32, 16) + 18 * 20.6e9);
  REQUIRE(test::route(t, 0, 1).links == 2);
  REQUIRE(test::route(t, 0, 1).bytes_per_s == 18 * 20.6e9);
  REQUIRE(t.vertices.back().kind == Vertex::Kind::network);
  REQUIRE(egress(t, static_cast<int>(t.vertices.size()) - 1) == 200e9 / 8);
  REQUIRE(machine->gpu.arch == "sm_90");
  REQUIRE(machine->gpu.memory_bytes_per_s.value ==
          find_preset("h100")->gpu.memory_bytes_per_s.value);
  REQUIRE(machine->gpu.memory_bytes_per_s.source.find("of preset h100") != std::string::npos);
}

TEST_CASE("without NVLink the way goes over switches and CPUs", "[model]") {
  std::string text = text_of(kSmall);
  for (int i = 0; i < 2; ++i) {
    text = replaced(text, "<nvlink target=\"ffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>", "");
  }
  const auto machine = parse_topology_xml("t.xml", text);
  REQUIRE(machine);
  const test::Route way = test::route(machine->topology, 0, 1);
  REQUIRE(way.links == 5);
  REQUIRE(way.bytes_per_s == pci(8, 16));  // of the bridge that does not say
  REQUIRE(test::route(machine->topology, 1, 0).bytes_per_s == way.bytes_per_s);
}

TEST_CASE("what is wrong in a topology is named by its line", "[model]") {
  const std::string nvlink = "<nvlink target=\"ffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>";
  const std::string xgmi = "<xgmi target=\"0000:11:00.0\" count=\"1\"/>";
  // The last of several occurrences is replaced.
  struct Fault {
    std::string old, by;
    int line;
    std::string what;
  };
  const Fault faults[] = {
      {"rank=\"0\"", "rank=\"1\"", 19, "a second rank 1"},
      {"rank=\"0\"", "rank=\"-1\"", 19, "rank '-1'"},
      {"rank=\"0\"", "rank=\"zero\"", 19, "rank 'zero'"},
      {"rank=\"0\"", "", 19, "only some have ranks"},
      {"sm=\"90\"", "sm=\"80\"", 19, "GPUs of two kinds, sm_90 and sm_80"},
      {"0000:21", "0000:11", 5, "a second GPU at 0000:11:00.0"},
      {"busid=\"0000:21:00.0\"", "", 19, "a GPU without an address"},
      {"numaid=\"1\"", "numaid=\"0\"", 16, "a second CPU '0'"},
      {"link_width=\"8\"", "link_width=\"33\"", 18, "link_width '33'"},
      {"link_width=\"8\"", "link_width=\"8x\"", 18, "link_width '8x'"},
      {"32.0 GT/s PCIe", "33 GT/s", 18, "link_speed '33 GT/s'"},
      {"32.0 GT/s PCIe", "nan GT/s", 18, "link_speed 'nan GT/s'"},
      {"32.0 GT/s PCIe", "32", 18, "link_speed '32'"},
      {"speed=\"200000\"", "speed=\"-1\"", 11, "speed '-1'"},
      {"speed=\"200000\"", "speed=\"inf\"", 11, "speed 'inf'"},
      {"count=\"18\"", "count=\"0\"", 20, "count '0'"},
      {nvlink, "<nvlnk/>", 20, "'nvlnk' in 'gpu'"},
      {nvlink, "links", 19, "text between elements"},
      {nvlink, "<xgmi target=\"0000:22:00.0\"/>", 20, "no GPU at '0000:22:00.0'"},
      {nvlink, "<xgmi target=\"0000:21:00.0\"/>", 20, "a link from a GPU to itself"},
      {nvlink, xgmi, 20, "a link that its target does not have"},
      {nvlink, xgmi + xgmi, 20, "a second link to 0000:11:00.0"},
      {"</gpu>", "</gup>", 21, "not XML: Start-end tags mismatch"},
  };
  const std::string text = text_of(kSmall);
  REQUIRE(error_of(text).what.empty());
  for (const Fault& fault : faults) {
    CAPTURE(fault.old, fault.by);
    std::string broken = text;
    const std::size_t at = broken.rfind(fault.old);
    REQUIRE(at != std::string::npos);
    const Error error = error_of(broken.replace(at, fault.old.size(), fault.by));
    REQUIRE(error.where == "t.xml:" + std::to_string(fault.line));
    REQUIRE(error.what == fault.what);
    REQUIRE(!error.hint.empty());
  }
  REQUIRE(error_of(replaced(text, nvlink, "<nvlnk/>")).hint == "did you mean 'nvlink'?");
  REQUIRE(error_of("<graphs version=\"1\"/>").what == "no <system> but <graphs>");
  REQUIRE(error_of("<system/>").what == "no GPU");
  REQUIRE(error_of("").what == "not XML: No document element found");
}

TEST_CASE("elements nested without end are refused", "[model]") {
  std::string text = "<system><cpu>";
  for (int i = 0; i < 100'000; ++i) text += "<pci>";
  for (int i = 0; i < 100'000; ++i) text += "</pci>";
  REQUIRE(error_of(text + "</cpu></system>").what == "elements nested too deeply");
}

TEST_CASE("topologies that RCCL wrote are read", "[model]") {
  const std::filesystem::path folder = TALLY_SOURCE_DIR "/../shared/data/topology";
  if (!std::filesystem::exists(folder)) return test::skip_case("no topologies here");
  struct Known {
    const char *file, *arch;
    int gpus, nics, links_of_gpu_0;
    double rate;
  };
  const Known files[] = {
      {"topo_8p_940.xml", "gfx942", 8, 8, 7, 48e9}, {"topo_4p_940.xml", "gfx940", 4, 4, 3, 48e9},
      {"topo_8p_90a.xml", "gfx90a", 8, 1, 3, 36e9}, {"topo_16p1h.xml", "gfx90a", 16, 8, 3, 0},
      {"topo_8p_pcie.xml", "gfx906", 8, 1, 0, 0},   {"topo_8p_rome.xml", "gfx906", 8, 1, 2, 24e9},
  };
  for (const Known& known : files) {
    CAPTURE(known.file);
    const auto machine = find_machine((folder / known.file).string(), 2);
    if (!machine) FAIL(machine.error().where << ": " << machine.error().what);
    const Topology& t = machine->topology;
    REQUIRE(machine->gpu.arch == known.arch);
    REQUIRE((t.nodes == 2 && t.gpus_per_node == known.gpus));
    REQUIRE(is_connected(t));
    int nics = 0, links = 0;
    for (const Vertex& vertex : t.vertices) nics += vertex.kind == Vertex::Kind::nic;
    for (const Link& link : t.links) {
      if (link.from != 0 || t.vertices[link.to].kind != Vertex::Kind::gpu) continue;
      ++links;
      if (known.rate > 0) REQUIRE(link.bytes_per_s == known.rate);
    }
    REQUIRE(nics == 2 * known.nics);
    REQUIRE(links == known.links_of_gpu_0);
  }
}

}  // namespace tally::model
