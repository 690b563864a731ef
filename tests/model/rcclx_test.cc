// Goal: a call takes the path that RCCLX's sources give it, and the decision says at which gate.
// Method: both sides of every threshold, with the numbers of the public sources written out here;
// every gate shut, one at a time.

#include "model/rcclx.h"

#include <algorithm>
#include <map>

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model::rcclx {
namespace {

Path path(const Call& call, const Switches& switches = {}) { return choose(call, switches).path; }

Call all_reduce(std::int64_t count, ElementType dtype = Format::f32, Op op = Op::sum) {
  return {Collective::all_reduce, count, dtype, op};
}
Call call(Collective collective, std::int64_t count, ElementType dtype = Format::f32) {
  return {collective, count, dtype};
}
Switches with(Switch which, std::int64_t value) {
  Switches switches;
  switches.set(which, value);
  return switches;
}
Switches internal() {
  Switches switches;
  switches.flavour = Flavour::meta_internal;
  return switches;
}
/// The condition of the gate that kept the call from a path; "" where none did.
std::string shut(const Call& call, Path path, const Switches& switches = {}) {
  for (const Gate& gate : choose(call, switches).gates) {
    if (gate.path == path && gate.decides && !gate.holds) return gate.condition;
  }
  return "";
}

constexpr std::int64_t kMi = 1 << 20;

}  // namespace

TEST_CASE("all_reduce of f32 on 8 ranks takes flat, ring and tree by its count", "[model]") {
  const std::pair<std::int64_t, Path> counts[] = {
      {0, Path::dda_flat},
      {4, Path::dda_flat},
      {1, Path::ring},          // 4 bytes are no vector
      {51200, Path::dda_flat},  // 200 KiB, inclusive
      {51204, Path::ring},      // not 8 equal chunks
      {51208, Path::ring},      // chunks that are no vectors
      {51232, Path::dda_tree},
      {29 * kMi / 4, Path::dda_tree},
      {29 * kMi / 4 + 32, Path::ring},
  };
  for (const auto& [count, expected] : counts) {
    CAPTURE(count);
    REQUIRE(path(all_reduce(count)) == expected);
  }
}

TEST_CASE("low precision begins at 16 MiB, and goes before DDA", "[model]") {
  for (const Switch which : {Switch::low_precision, Switch::low_precision_all_reduce}) {
    const Switches on = with(which, 1);
    REQUIRE(path(all_reduce(4 * kMi), on) == Path::low_precision);
    REQUIRE(path(all_reduce(4 * kMi - 32), on) == Path::dda_tree);
    REQUIRE(path(all_reduce(8 * kMi, Format::bf16), on) == Path::low_precision);
    REQUIRE(path(all_reduce(8 * kMi, Format::f16), on) == Path::dda_tree);
    REQUIRE(path(all_reduce(4 * kMi, Format::f32, Op::max), on) == Path::ring);
    REQUIRE(path(all_reduce(4 * kMi + 1), on) == Path::low_precision);  // any tail
  }
  REQUIRE(path(all_reduce(4 * kMi)) == Path::dda_tree);
  REQUIRE(path(all_reduce(4 * kMi), with(Switch::low_precision_all_gather, 1)) == Path::dda_tree);
}

TEST_CASE("other types and operations take the ring", "[model]") {
  REQUIRE(path(all_reduce(1024, Moved::int32)) == Path::ring);
  REQUIRE(path(all_reduce(1024, Moved::f64)) == Path::ring);
  for (const Op op : {Op::prod, Op::min, Op::max, Op::avg, Op::premul_sum, Op::avg_premul}) {
    REQUIRE(path(all_reduce(1024, Format::f32, op)) == Path::ring);
  }
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    REQUIRE(path(all_reduce(1024, format)) == Path::dda_flat);
  }
}

TEST_CASE("each gate of DDA keeps a call out, and is named", "[model]") {
  Call two_nodes = all_reduce(1024), four_ranks = two_nodes;
  two_nodes.nodes = 2;
  four_ranks.ranks = 4;
  REQUIRE(shut(two_nodes, Path::dda_flat) == "nodes");
  REQUIRE(shut(four_ranks, Path::dda_flat) == "ranks equal RCCL_DDA_NRANKS");
  REQUIRE(path(four_ranks, with(Switch::dda_ranks, 4)) == Path::dda_flat);
  Call three = all_reduce(1024);
  three.ranks = 3;
  REQUIRE(shut(three, Path::dda_flat, with(Switch::dda_ranks, 3)) == "ranks with a kernel");
  REQUIRE(shut(all_reduce(1024), Path::dda_flat, with(Switch::dda_all_reduce, 0)) ==
          "RCCL_ENABLE_DDA_ALL_REDUCE");
  REQUIRE(shut(all_reduce(1024, Format::f32, Op::min), Path::dda_flat) == "op");
  REQUIRE(shut(all_reduce(1024, Moved::int8), Path::dda_flat) == "dtype");
  REQUIRE(shut(all_reduce(1024), Path::dda_flat, with(Switch::dda_staging_bytes, 4095)) ==
          "size in bytes, at most RCCL_DDA_SENDBUF_BYTES");
  REQUIRE(shut(all_reduce(1025), Path::dda_flat) == "bytes of a block");
  REQUIRE(shut(all_reduce(8 * kMi), Path::dda_flat) ==
          "size in bytes, at most RCCL_DDA_ALL_REDUCE_TREE_MAX_BYTES");
  REQUIRE(shut(all_reduce(51204), Path::dda_tree) == "elements");
  REQUIRE(shut(all_reduce(51208), Path::dda_tree) == "bytes of a rank's chunk");
}

TEST_CASE("a gate says what it needs and what was found", "[model]") {
  const auto gates = choose(all_reduce(51232), {}).gates;
  const auto flat = std::find_if(gates.begin(), gates.end(), [](const Gate& gate) {
    return gate.condition == "size in bytes, at most RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES";
  });
  REQUIRE(flat != gates.end());
  REQUIRE(flat->needs == "<= 204800");
  REQUIRE(flat->found == "204928");
  REQUIRE_FALSE(flat->holds);
}

TEST_CASE("where buffers lie is told and decides nothing", "[model]") {
  Call odd = all_reduce(1024);
  odd.is_aligned = false;
  REQUIRE(path(odd) == Path::dda_flat);
  int told = 0;
  for (const Gate& gate : choose(odd, {}).gates) told += !gate.decides && !gate.holds;
  REQUIRE(told == 1);
}

TEST_CASE("sizes beyond 31 bits take the ring, whatever threshold they have", "[model]") {
  Switches large = with(Switch::tree_all_reduce_bytes, std::int64_t{3} << 30);
  large.set(Switch::dda_staging_bytes, std::int64_t{4} << 30);
  REQUIRE(path(all_reduce(std::int64_t{3} << 28), large) == Path::dda_tree);
  REQUIRE(path(all_reduce((std::int64_t{3} << 28) + 32), large) == Path::ring);
  REQUIRE(path(all_reduce(std::int64_t{1} << 40)) == Path::ring);
}

TEST_CASE("the public build has DDA for all_reduce alone", "[model]") {
  struct Row {
    Collective collective;
    Path otherwise;
    std::int64_t most_bytes;  // of all blocks
  };
  const Row rows[] = {{Collective::all_gather, Path::ring, 16 * kMi},
                      {Collective::reduce_scatter, Path::ring, 8 * kMi},
                      {Collective::all_to_all, Path::direct, 2 * kMi}};
  for (const Row& row : rows) {
    const std::int64_t most = row.most_bytes / 8 / 4;
    CAPTURE(name(row.collective));
    REQUIRE(shut(call(row.collective, most), Path::dda_flat) == "build");
    REQUIRE(path(call(row.collective, most), internal()) == Path::dda_flat);
    REQUIRE(path(call(row.collective, most + 4), internal()) == row.otherwise);
    REQUIRE(shut(call(row.collective, 5), Path::dda_flat, internal()) == "bytes of a block");
  }
  REQUIRE(path(call(Collective::reduce_scatter, 1024)) == Path::ring);
  REQUIRE(path(call(Collective::all_to_all, 1024)) == Path::direct);
  REQUIRE(path(call(Collective::all_to_all_v, 1024), internal()) == Path::direct);
}

TEST_CASE("all_gather is sent directly up to 4 MiB, on gfx950 up to 8 MiB", "[model]") {
  Switches gfx950;
  gfx950.arch = Arch::gfx950;
  const std::int64_t of_4_mi = 4 * kMi / 8 / 4;
  REQUIRE(path(call(Collective::all_gather, of_4_mi)) == Path::direct);
  REQUIRE(path(call(Collective::all_gather, of_4_mi + 1)) == Path::ring);
  REQUIRE(path(call(Collective::all_gather, 2 * of_4_mi), gfx950) == Path::direct);
  REQUIRE(path(call(Collective::all_gather, 2 * of_4_mi + 1), gfx950) == Path::ring);
  Call six = call(Collective::all_gather, 16);
  six.ranks = 6;
  REQUIRE(path(six) == Path::ring);
}

TEST_CASE("all_gather with low precision on leaves the rest of the dispatch", "[model]") {
  const Switches on = with(Switch::low_precision_all_gather, 1);
  const std::int64_t of_16_mi = 16 * kMi / 8 / 4;
  REQUIRE(path(call(Collective::all_gather, of_16_mi), on) == Path::low_precision);
  REQUIRE(path(call(Collective::all_gather, of_16_mi - 1), on) == Path::direct);
  REQUIRE(path(call(Collective::all_gather, 8 * of_16_mi, Moved::int8), on) == Path::direct);
  Switches both = on;
  both.flavour = Flavour::meta_internal;
  REQUIRE(path(call(Collective::all_gather, 16), both) == Path::direct);
}

TEST_CASE("low precision counts the bytes of all blocks", "[model]") {
  for (const auto collective : {Collective::reduce_scatter, Collective::all_to_all}) {
    const Switches on = with(Switch::low_precision, 1);
    REQUIRE(path(call(collective, 16 * kMi / 8 / 4), on) == Path::low_precision);
    REQUIRE(path(call(collective, 16 * kMi / 8 / 4 - 1), on) != Path::low_precision);
  }
}

TEST_CASE("a decision", "[model]") {
  test::property("ends with the gates of its path, which all hold", [] {
    Call drawn;
    drawn.collective = static_cast<Collective>(*rc::gen::inRange(0, 4));
    drawn.count = *rc::gen::element<std::int64_t>(0, 4, 5, 51200, 51232, 1 << 19, 1 << 22, 1 << 24);
    drawn.ranks = *rc::gen::element(1, 2, 4, 8, 16);
    drawn.nodes = *rc::gen::element(1, 2);
    Switches switches;
    for (const Variable& one : variables()) {
      if (*rc::gen::inRange(0, 4) == 0) switches.set(one.id, *rc::gen::element(0, 1, 4, 1 << 20));
    }
    switches.flavour = *rc::gen::element(Flavour::oss, Flavour::meta_internal);
    const Decision decision = choose(drawn, switches);
    for (const Gate& gate : decision.gates) {
      if (gate.path == decision.path && gate.decides) RC_ASSERT(gate.holds);
    }
  });
}

TEST_CASE("the environment sets switches, and a value that is no number is named", "[model]") {
  const auto read = [](const std::map<std::string, std::string>& environment) {
    return read_switches([&](const std::string& name) -> std::optional<std::string> {
      const auto at = environment.find(name);
      return at == environment.end() ? std::nullopt : std::optional(at->second);
    });
  };
  REQUIRE((*read({}))[Switch::tree_all_reduce_bytes] == 29 * kMi);
  REQUIRE((*read({{"RCCL_DDA_NRANKS", "4"}}))[Switch::dda_ranks] == 4);
  const auto large = read({{"RCCL_DDA_SENDBUF_BYTES", "4294967296"}});
  REQUIRE((*large)[Switch::dda_staging_bytes] == std::int64_t{1} << 32);
  for (const auto& [value, is_on] :
       std::map<std::string, int>{{"1", 1}, {"0", 0}, {"true", 0}, {"01", 0}, {"", 0}}) {
    REQUIRE((*read({{"RCCL_LOW_PRECISION_ENABLE", value}}))[Switch::low_precision] == is_on);
  }
  for (const std::string value : {"abc", "", "-1", "1M", "99999999999999999999"}) {
    const auto wrong = read({{"RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES", value}});
    REQUIRE_FALSE(wrong);
    REQUIRE(wrong.error().where == "RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES");
  }
}

TEST_CASE("a path is carried out by a builder with RCCLX's rounding", "[model]") {
  const auto low = execution(all_reduce(4 * kMi), Path::low_precision, Arch::gfx942);
  REQUIRE(low.algorithm == "tree");
  REQUIRE(low.arithmetic.wire.name() == "e4m3fnuz");
  REQUIRE(low.arithmetic.accumulate == Accumulate::f32);
  const auto scattered =
      execution(call(Collective::reduce_scatter, kMi), Path::low_precision, Arch::gfx950);
  REQUIRE(scattered.algorithm == "flat");
  REQUIRE(scattered.arithmetic.wire.name() == "e4m3fn");
  REQUIRE(execution(all_reduce(8), Path::dda_flat, Arch::gfx942).algorithm == "flat");
  REQUIRE(execution(all_reduce(8), Path::dda_tree, Arch::gfx942).algorithm == "tree");
  const auto average = execution(all_reduce(8, Format::f32, Op::avg), Path::ring, Arch::gfx942);
  REQUIRE(average.algorithm == "ring");
  REQUIRE(average.arithmetic.op == Op::avg_premul);
  REQUIRE(average.arithmetic.wire.is_none());
  REQUIRE(execution(call(Collective::all_gather, 8), Path::ring, Arch::gfx942).algorithm == "flat");
}

}  // namespace tally::model::rcclx
