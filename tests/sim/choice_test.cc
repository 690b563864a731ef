// Goal: each library's choice turns where its source says, and nowhere else.
// Method: both sides of every threshold; what switches a path off; then the list of all paths, each
// of which some call takes.

#include "sim/choice.h"

#include <set>
#include <string>

#include "sim/paths.h"
#include "tests/support/catch.h"

namespace tally::sim {
namespace {

using model::Collective;
using Names = std::vector<std::string_view>;

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr Ports kMesh{Ports::Kind::mesh, 8, 48e9, 400e9};
constexpr Ports kSwitch{Ports::Kind::gpu_switch, 8, 376e9, 400e9};
constexpr Ports kPcie{Ports::Kind::pcie, 8, 56e9, 0};

Scenario scenario(const char* library, const char* version = "") {
  Scenario s;
  s.library = library;
  s.version = version;
  return s;
}

std::string on_amd(const Scenario& s, std::int64_t bytes, const char* arch = "gfx942") {
  const Names names = choices(s, arch, kMesh, bytes);
  return names.size() == 1 ? std::string(names[0]) : "";
}

}  // namespace

TEST_CASE("RCCL with MSCCL's files takes them where their sizes and chunks allow", "[sim]") {
  Scenario s = scenario("rccl", "2.22.3 (with MSCCL algorithm files)");
  CHECK(on_amd(s, 512) == "ring/ll");  // 128 elements are no multiple of 256 chunks
  CHECK(on_amd(s, 1024) == "msccl/allpairs_ll");
  CHECK(on_amd(s, 512 * kKiB - 1024) == "msccl/allpairs_ll");
  CHECK(on_amd(s, 512 * kKiB) == "msccl/allpairs_simple");
  CHECK(on_amd(s, 16 * kMiB) == "msccl/allpairs_simple");
  CHECK(on_amd(s, 16 * kMiB + 1024) == "ring/simple");
  s.in_place = true;
  CHECK(on_amd(s, 11534336) == "msccl/allpairs_simple");
  CHECK(on_amd(s, 11534336 + 1024) == "ring/simple");
  s.ranks = 4;  // the files are for 8
  CHECK(on_amd(s, kMiB) == "ring/simple");
}

TEST_CASE("RCCL has MSCCL up to 2.27, or where the version says so, and in processes", "[sim]") {
  for (const char* with : {"2.20.5", "2.27.0", "ROCm 7.0.0 (with MSCCL)"}) {
    CHECK(on_amd(scenario("rccl", with), kMiB) == "msccl/allpairs_simple");
  }
  for (const char* without : {"2.28.3", "3.0.1", "develop 2026-08 (no MSCCL)", "", "2.x", "2."}) {
    CAPTURE(without);
    CHECK(on_amd(scenario("rccl", without), kMiB).starts_with("ring/"));
  }
  Scenario s = scenario("rccl", "2.20.5");
  s.launch = Launch::single_process;
  CHECK(on_amd(s, kMiB) == "ring/simple");
  s.version = "2.22.3";
  CHECK(on_amd(s, kMiB) == "msccl/allpairs_simple");
}

TEST_CASE("in a graph RCCL takes MSCCL++ from 32 bytes to 1 MiB", "[sim]") {
  Scenario s = scenario("rccl", "2.22.3 (with MSCCL)");
  s.launch = Launch::graph;
  CHECK(on_amd(s, 16) == "ring/ll");
  CHECK(on_amd(s, 32) == "mscclpp/one_shot");
  CHECK(on_amd(s, 512) == "mscclpp/two_shot");
  CHECK(on_amd(s, 256 * kKiB) == "mscclpp/two_shot");
  CHECK(on_amd(s, kMiB) == "mscclpp/simple");
  CHECK(on_amd(s, 2 * kMiB) == "msccl/allpairs_simple");
}

TEST_CASE("without MSCCL bytes of a rank decide the protocol, over nodes the algorithm too",
          "[sim]") {
  Scenario s = scenario("rccl", "develop (no MSCCL)");
  CHECK(on_amd(s, 512 * kKiB) == "ring/ll");
  CHECK(on_amd(s, 512 * kKiB + 32) == "ring/ll128");
  CHECK(on_amd(s, 2 * kMiB) == "ring/ll128");
  CHECK(on_amd(s, 2 * kMiB + 32) == "ring/simple");
  CHECK(on_amd(s, 64 * kMiB - 32) == "ring/simple");
  CHECK(on_amd(s, 64 * kMiB) == "ring/simple_large");
  s.ranks = 16, s.nodes = 2;
  CHECK(on_amd(s, kMiB) == "tree/ll");
  CHECK(on_amd(s, kMiB, "gfx950") == "tree/ll128");
  CHECK(on_amd(s, 128 * kMiB) == "tree/simple");
  CHECK(on_amd(s, 128 * kMiB + 64) == "ring/simple");
  s.collective = Collective::all_gather;
  CHECK(on_amd(s, kMiB) == "ring/ll");
  s.collective = Collective::all_to_all;
  CHECK(on_amd(s, kMiB) == "p2p");
}

TEST_CASE("RCCL's own cost model turns from LL to Simple later with more ranks", "[sim]") {
  // Where 12 + 0.8 s + n / 0.08 B meets 17 + 2.1 s + n / B: s steps, B = (N-1) 48 N/s bytes/ns.
  Scenario s = scenario("rccl", "2.20.5");
  s.ranks = 4;  // s = 6: n = 12.8 us B / 11.5 = 106,852
  CHECK(on_amd(s, 106852) == "ring/ll");
  CHECK(on_amd(s, 106856) == "ring/simple");
  s.ranks = 2;  // s = 2: n = 7.6 us B / 11.5 = 31,721
  CHECK(on_amd(s, 31720) == "ring/ll");
  CHECK(on_amd(s, 31724) == "ring/simple");
}

TEST_CASE("RCCLX's DDA ends where its variables' defaults say, ROCm's later", "[sim]") {
  Scenario s = scenario("rcclx");
  CHECK(on_amd(s, 204800) == "dda/flat");
  CHECK(on_amd(s, 204804) == "dda/tree");
  CHECK(on_amd(s, 29 * kMiB) == "dda/tree");
  CHECK(on_amd(s, 29 * kMiB + 4) == "ring/simple");
  s.ranks = 4;  // RCCL_DDA_NRANKS is 8
  CHECK(on_amd(s, 204800) == "ring/ll");
  Scenario rocm = scenario("rccl", "develop (no MSCCL)");
  rocm.algorithm = "dda";
  CHECK(on_amd(rocm, 256 * kKiB) == "dda/flat");
  CHECK(on_amd(rocm, 256 * kKiB + 4) == "dda/tree");
  CHECK(on_amd(rocm, 8 * kMiB) == "dda/tree");
  CHECK(on_amd(rocm, 8 * kMiB + 4) == "ring/simple");
  CHECK(on_amd(rocm, 128 * kMiB, "gfx950") == "dda/tree");
  CHECK(on_amd(rocm, 128 * kMiB + 4, "gfx950") == "ring/simple_large");
}

TEST_CASE("RCCLX encodes from 16 MiB up", "[sim]") {
  Scenario s = scenario("rcclx");
  s.wire = *model::parse_wire_size("e4m3fnuz");
  CHECK(on_amd(s, 16 * kMiB - 4) == "dda/tree");
  CHECK(on_amd(s, 16 * kMiB) == "low_precision");
  s.wire = {};
  CHECK(on_amd(s, 16 * kMiB) == "dda/tree");
}

TEST_CASE("NCCL takes the fastest over NVLink, and over PCIe what its own model says", "[sim]") {
  const Scenario s = scenario("nccl");
  CHECK(choices(s, "sm_90", kSwitch, 128 * kKiB) == Names{"ring/ll"});
  CHECK(choices(s, "sm_90", kSwitch, 128 * kKiB + 8) == Names{"ring/ll128", "ring/simple", "nvls"});
  CHECK(choices(s, "sm_80", kSwitch, kMiB) == Names{"ring/ll128", "ring/simple"});
  Scenario two = s;
  two.ranks = 2;  // NVLS takes three
  CHECK(choices(two, "sm_90", kSwitch, kMiB) == Names{"ring/ll128", "ring/simple"});
  // 8 ranks: 14 (5.7 - 1.0) + 1.8 us = 1.75 n / 24e3: n = 927,086.
  CHECK(choices(s, "sm_120", kPcie, 927084) == Names{"ring/ll"});
  CHECK(choices(s, "sm_120", kPcie, 927088) == Names{"ring/simple"});
}

TEST_CASE("MSCCL++, vLLM and QuickReduce turn where their selectors do", "[sim]") {
  CHECK(on_amd(scenario("mscclpp"), 16 * kKiB) == "one_shot");
  CHECK(on_amd(scenario("mscclpp"), 16 * kKiB + 2) == "two_shot");
  CHECK(on_amd(scenario("mscclpp"), kMiB + 2) == "simple");
  Scenario s = scenario("vllm");
  CHECK(on_amd(s, 256 * kKiB - 16) == "one_shot");
  CHECK(on_amd(s, 256 * kKiB) == "two_shot");
  s.ranks = 4;
  CHECK(on_amd(s, 512 * kKiB - 16) == "one_shot");
  CHECK(on_amd(s, 512 * kKiB) == "two_shot");
  s.ranks = 2;
  CHECK(on_amd(s, 64 * kMiB) == "one_shot");
  Scenario q = scenario("quickreduce");
  const std::pair<const char*, const char*> wires[] = {{"none", "none"},
                                                       {"e4m3fnuz:b32:f16", "fp8"},
                                                       {"int8:b32:f16", "int8"},
                                                       {"int6:b32:f16", "int6"},
                                                       {"int4:b32:f16", "int4"}};
  for (const auto& [wire, path] : wires) {
    q.wire = *model::parse_wire_size(wire);
    CHECK(on_amd(q, kMiB) == path);
  }
}

TEST_CASE("what an algorithm is asked of is what is priced", "[sim]") {
  Scenario s = scenario("tally");
  for (const char* name : {"flat", "flat_ll", "tree", "ring"}) {
    s.algorithm = name;
    CHECK(on_amd(s, kMiB) == name);
  }
  s.collective = Collective::all_gather;  // only flat builds it
  CHECK(choices(s, "gfx942", kMesh, kMiB).empty());
  s.algorithm = "auto";
  CHECK(on_amd(s, kMiB) == "flat");
  Scenario n = scenario("nccl");
  n.algorithm = "ring";
  CHECK(choices(n, "sm_90", kSwitch, kMiB) == Names{"ring/ll128", "ring/simple"});
}

}  // namespace tally::sim
