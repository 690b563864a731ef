// Goal: a prediction follows from its terms, and bad questions are answered with what was wrong.
// Method: properties over scenarios and sizes; paths made by hand; each error once.

#include "sim/predict.h"

#include <cmath>

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

using model::Collective;

rc::Gen<Scenario> any_scenario() {
  return rc::gen::exec([] {
    Scenario s;
    s.machine = *rc::gen::elementOf(std::vector<std::string>{"mi300x", "mi350x", "h200", "a100"});
    auto here = libraries();
    const bool is_amd = s.machine.starts_with("mi");
    std::erase_if(here, [&](const std::string& library) {
      const bool is_amds = library == "rccl" || library == "rcclx" || library == "quickreduce";
      return is_amd ? library == "nccl" : is_amds;
    });
    s.library = *rc::gen::elementOf(here);
    s.ranks = *rc::gen::elementOf(std::vector<int>{2, 4, 8});
    s.launch = static_cast<Launch>(*rc::gen::inRange(0, 3));
    s.in_place = *rc::gen::arbitrary<bool>();
    return s;
  });
}

std::int64_t any_size() { return std::int64_t{1} << *rc::gen::inRange(3, 34); }

Predictor predictor_of(const Scenario& scenario) {
  const auto predictor = Predictor::of(scenario);
  RC_ASSERT(bool(predictor));
  return *predictor;
}

}  // namespace

TEST_CASE("every library on every machine", "[sim]") {
  test::property("has a time above nothing for every size, and says what bounds it", [] {
    const Predictor predictor = predictor_of(*any_scenario());
    const Prediction p = predictor(any_size());
    RC_ASSERT(p.time.n > 0);
    RC_ASSERT(!p.path.empty());
    RC_ASSERT(!p.bound_by.empty());
  });
  test::property("takes longer for more bytes on the same path", [] {
    const Predictor predictor = predictor_of(*any_scenario());
    const std::int64_t bytes = any_size();
    const Prediction a = predictor(bytes), b = predictor(bytes + bytes / 8 + 1);
    if (a.path == b.path) RC_ASSERT(a.time <= b.time);
  });
  test::property("says the same twice", [] {
    const Scenario scenario = *any_scenario();
    const std::int64_t bytes = any_size();
    RC_ASSERT(predict(scenario, bytes)->time == predict(scenario, bytes)->time);
  });
}

TEST_CASE("a path's time is the sum of its terms", "[sim]") {
  Path path{"p"};
  path.base_us = 5, path.hops_us = 7, path.us_per_byte = 0.5, path.ramp_us = 2;
  CHECK(path.micros(0) == 12);
  CHECK(path.micros(16) == 12 + 8 + 8);
  CHECK(path.bound_by(0) == "hops");
  CHECK(path.bound_by(16) == "pipeline");
  CHECK(path.bound_by(64) == "link");
  path.floor_us = 40;
  CHECK(path.micros(16) == 40);
  CHECK(path.bound_by(16) == "launch");
}

TEST_CASE("below 16 bytes for each rank the hops count less, from 16 bytes on not at all",
          "[sim]") {
  Path path{"p"};
  path.base_us = 1, path.hops_us = 8, path.full_bytes = 128, path.small_exponent = 2;
  CHECK(path.micros(8) == 1);
  CHECK(path.micros(16) == 1);
  CHECK(path.micros(128) == 9);
  CHECK(path.micros(1 << 20) == 9);
  CHECK(path.micros(32) == 1 + 8 * std::pow(1.0 / 3, 2));
}

TEST_CASE("a wire shortens what a link carries by exactly its ratio", "[sim]") {
  const auto machine = model::find_machine("h200");
  REQUIRE(machine);
  Scenario s;
  s.machine = "h200";
  const auto plain = paths_of(s, *machine, Parameters());
  s.wire = *model::parse_wire_size("e4m3fn");
  const auto encoded = paths_of(s, *machine, Parameters());
  REQUIRE(plain.size() == encoded.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(encoded[i].us_per_byte == plain[i].us_per_byte / 4);
    CHECK(encoded[i].base_us == plain[i].base_us);
  }
}

TEST_CASE("one host thread that starts all ranks is a floor", "[sim]") {
  Scenario s;
  s.library = "rccl";
  s.version = "2.28";
  const Parameters table;  // in which a rank takes the host 5 us
  const double alone = Predictor::of(s, table)->micros(8);
  s.launch = Launch::single_process;
  CHECK(Predictor::of(s, table)->micros(8) == 8 * 5.0);
  CHECK(alone < 8 * 5.0);
}

TEST_CASE("what nothing is known of is an error that says what there is", "[sim]") {
  const auto error_of = [](auto change) {
    Scenario s;
    change(s);
    const auto p = predict(s, 1024);
    REQUIRE_FALSE(p);
    CHECK_FALSE(p.error().hint.empty());
    return p.error().what;
  };
  CHECK(error_of([](Scenario& s) { s.library = "rcl"; }) == "unknown library 'rcl'");
  CHECK(error_of([](Scenario& s) { s.algorithm = "rign"; }) == "tally has no algorithm 'rign'");
  CHECK(error_of([](Scenario& s) { s.library = "nccl"; }) ==
        "nccl does not run on AMD Instinct MI300X");
  CHECK(error_of([](Scenario& s) {
          s.library = "rccl", s.machine = "h100";
        }).starts_with("rccl does not run on "));
  CHECK(error_of([](Scenario& s) {
          s.library = "rccl";
          s.wire = *model::parse_wire_size("e4m3fnuz");
        }) == "rccl sends elements as they are");
  CHECK(error_of([](Scenario& s) { s.ranks = 9; }) == "9 ranks on 8 GPUs of mi300x");
  CHECK(error_of([](Scenario& s) { s.ranks = 0; }) == "0 ranks on 8 GPUs of mi300x");
  CHECK(error_of([](Scenario& s) {
          s.algorithm = "ring";
          s.collective = Collective::all_to_all;
        }) == "tally has no ring for all_to_all");
  CHECK(error_of([](Scenario& s) { s.machine = "mi3000x"; }).find("mi3000x") != std::string::npos);
}

TEST_CASE("an algorithm without kernels takes what its simulation does, to the picosecond",
          "[sim]") {
  test::property("on meshes and over their networks", [] {
    Scenario s;
    s.machine = *rc::gen::elementOf(std::vector<std::string>{"mi300x", "mi355x"});
    s.nodes = 1 << *rc::gen::inRange(0, 4);
    s.ranks = 8 * s.nodes;
    s.algorithm = s.nodes == 1 ? "halving_doubling" : "hierarchical";
    // Chunks of whole units on every rank, so that a formula's shares are the schedule's.
    const std::int64_t bytes = 512 * std::int64_t{s.ranks} << *rc::gen::inRange(0, 12);
    const auto machine = model::find_machine(s.machine, s.nodes);
    RC_ASSERT(bool(machine));
    const auto simulated = simulate(s, *machine, s.algorithm, bytes);
    RC_ASSERT(bool(simulated));
    RC_ASSERT(predict(s, bytes)->time == (*simulated)->total);
  });
}

TEST_CASE("what has no schedule is not simulated", "[sim]") {
  const auto machine = model::find_machine("mi300x", 16);
  REQUIRE(machine);
  Scenario s;
  s.nodes = 16;
  s.ranks = 128;
  CHECK_FALSE(simulate(s, *machine, "flat", 1 << 20));  // schedules have at most 64 ranks
  CHECK(simulate(s, *machine, "ring", 1 << 20));
  s.algorithm = "halving_doubling";
  CHECK(predict(s, 1 << 20).error().what == "tally halving_doubling is of one node");
  s.algorithm = "tree";
  CHECK(predict(s, 1 << 20).error().what == "tally tree is of one node");
}

TEST_CASE("a library's ring is simulated with its protocol, and DDA's tree with its copy",
          "[sim]") {
  const auto machine = model::find_machine("mi300x");
  REQUIRE(machine);
  Scenario s;
  const auto total = [&](const char* path) {
    const auto timing = simulate(s, *machine, path, 1 << 20);
    REQUIRE(timing);
    return *timing ? (*timing)->total : Picos{};
  };
  // RCCLX copies before its tree, its reduce_scatter and its all_to_all.
  const Picos copy = from_nanos(machine->gpu.copy_launch_ns.value);
  const auto copied = [&](const std::string& name) {
    s.library = "tally";
    const Picos ours = total(name.c_str());
    s.library = "rcclx";
    return total(("dda/" + name).c_str()) - ours;
  };
  CHECK(copied("tree") == copy);
  CHECK(copied("flat").n == 0);
  for (const model::Collective collective :
       {model::Collective::reduce_scatter, model::Collective::all_to_all}) {
    s.collective = collective;
    CHECK(copied("flat") == copy);
  }
  s.collective = model::Collective::all_gather;
  CHECK(copied("flat").n == 0);
  s.collective = model::Collective::all_reduce;
  s.library = "rccl";
  CHECK(total("ring/ll") > total("ring/ll128"));  // twice the bytes, and as long a hop
  CHECK(total("ring/simple").n > 0);
  CHECK(total("msccl/allpairs_ll").n == 0);  // no schedule of ours stands for it
  CHECK(total("p2p").n == 0);
}

TEST_CASE("every launch has a name that is read back", "[sim]") {
  for (const Launch launch : {Launch::single_process, Launch::process_per_gpu, Launch::graph}) {
    CHECK(*parse_launch(name(launch)) == launch);
  }
  CHECK_FALSE(parse_launch("grpah"));
}

TEST_CASE("a bandwidth turns bytes into picoseconds, rounded up", "[sim]") {
  CHECK(transfer_time(0, 1e9).n == 0);
  CHECK(transfer_time(1, 1e12).n == 1);
  CHECK(transfer_time(1, 3e12).n == 1);
  CHECK(transfer_time(1000, 1e9).n == 1'000'000);
  CHECK(from_nanos(1.5).n == 1500);
}

}  // namespace tally::sim
