// Goal: a case's text is the case: what a failure prints can be run again.
// Method: random cases make the round trip; texts with one fault are refused.

#include "verify/case.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"
#include "verify/plan.h"

namespace {

using namespace tally;

const std::string kText =
    "all_reduce/tree/bf16/e4m3fn:sat/sum/f32/ranks=8/counts=1000,334,1037/misaligned/"
    "launch=2x64w32/seed=5/interleavings=3/memory=gfx942/fault=rank_lost/input=tests/data/"
    "smollm2_135m_layer00_attn_out.npy";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a case makes the round trip through its text", "[verify]") {
  const auto c = verify::parse_case(kText);
  REQUIRE(c);
  CHECK(c->text() == kText);
  CHECK(c->launch.wave == 32);
  CHECK(c->input.tensor->columns == 6912);

  test::property("and so does every case of a plan", [] {
    verify::Plan plan = verify::default_plans().front();
    plan.seed = *rc::gen::arbitrary<std::uint64_t>();
    plan.counts = {*rc::gen::inRange<std::int64_t>(0, 100000)};
    plan.calls = *rc::gen::inRange(1, 6);
    plan.launch.blocks = *rc::gen::inRange(1, 305);
    plan.memory = *rc::gen::element(verify::MemoryKind::strong, verify::MemoryKind::gfx942);
    auto all = verify::cases({plan});
    RC_ASSERT(bool(all));
    auto& c = (*all)[*rc::gen::inRange<std::size_t>(0, all->size())];
    if (*rc::gen::arbitrary<bool>()) {
      c.script.emplace();
      std::int64_t at = -1;
      for (const int chosen : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 99))) {
        c.script->push_back({at += *rc::gen::inRange(1, 50), chosen});
      }
    }
    const auto again = verify::parse_case(c.text());
    RC_ASSERT(bool(again));
    RC_ASSERT(again->text() == c.text());
    RC_ASSERT(again->script == c.script);
  });
}

TEST_CASE("cases of every collective, type, launch and library make the round trip", "[verify]") {
  const std::string how =
      "/out_of_place/launch=2x64w64r4/seed=1/interleavings=1/memory=strong/"
      "fault=none/input=normal";
  for (const char* what : {
           "all_reduce/flat_ll/bf16/e4m3fn/avg/f32/ranks=8/counts=1000,334",
           "all_reduce/tree/f16/none/premul_sum:0.3/element/ranks=2/counts=9",
           "all_reduce/ring/f32/none/premul_sum:-1e+20/element/ranks=2/counts=9",
           "all_reduce/auto/bf16/none/avg_premul/element/ranks=2/counts=9",
           "reduce_scatter/flat/f32/e4m3fnuz:sat/sum/f32/ranks=3/counts=0,13",
           "all_gather/flat/f64/none/sum/element/ranks=16/counts=7",
           "all_to_all/flat/bf16/e4m3fn:b32:e8m0:floor/sum/f32/ranks=5/counts=129",
           "all_to_all_v/flat/int8/none/sum/element/ranks=8/counts=13,5,50",
           "all_to_all_v/auto/int64/none/sum/element/ranks=2/counts=13",
       }) {
    const std::string text = what + how;
    INFO(text);
    const auto c = verify::parse_case(text);
    REQUIRE(c);
    CHECK(c->text() == text);
    CHECK(c->launch.rounds == 4);
  }
}

TEST_CASE("one round, a wave of 64 and a factor of 1 have one text", "[verify]") {
  const std::string whole =
      "all_reduce/flat/f32/none/premul_sum:1/element/ranks=2/counts=9/out_of_place/"
      "launch=2x64w64/seed=1/interleavings=1/memory=strong/fault=none/input=normal";
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"2x64w64", "2x64w64r1"}, {"2x64w64", "2x64"}, {"premul_sum:1", "premul_sum"}}) {
    std::string text = whole;
    const auto c = verify::parse_case(text.replace(text.find(from), from.size(), to));
    INFO(text);
    REQUIRE(c);
    CHECK(c->text() == whole);
  }
}

TEST_CASE("a schedule stands before the input, and the usual one has a name", "[verify]") {
  const std::string one = replaced("interleavings=3", "interleavings=1");
  const auto with = [&](const std::string& schedule) {
    std::string text = one;
    return verify::parse_case(text.insert(text.find("/input="), "/schedule=" + schedule));
  };
  const auto c = with("12:3,57:1");
  REQUIRE(c);
  CHECK(c->script == std::vector<verify::Deviation>{{12, 3}, {57, 1}});
  CHECK(c->text().find("/schedule=12:3,57:1/input=tests/") != std::string::npos);
  const auto usual = with("usual");
  REQUIRE(usual);
  CHECK(usual->script == std::vector<verify::Deviation>{});
  CHECK(usual->text().find("/schedule=usual/") != std::string::npos);
  for (const char* schedule : {"", "12", "12:", ":3", "12:3,", "12:3,12:4", "57:1,12:3", "-1:3",
                               "12:-3", "usual,12:3", "99999999999999999999:1"}) {
    INFO(schedule);
    CHECK_FALSE(with(schedule));
  }
  // Of a schedule there is one interleaving, not three.
  CHECK_FALSE(verify::parse_case(replaced("/input=", "/schedule=12:3/input=")));
}

TEST_CASE("races are looked for in weak memory, and where interleavings are tried or given",
          "[verify]") {
  verify::Case c;
  CHECK_FALSE(verify::finds_races(c));
  c.memory = verify::MemoryKind::gfx942;
  CHECK(verify::finds_races(c));
  c = {};
  c.interleavings = 2;
  CHECK(verify::finds_races(c));
  c = {};
  c.script.emplace();
  CHECK(verify::finds_races(c));
}

TEST_CASE("a text with one fault is refused, with a hint", "[verify]") {
  const std::string broken[] = {
      "",
      "all_reduce",
      kText.substr(0, 90),
      replaced("all_reduce", "all_reduse"),
      replaced("tree", "three"),
      replaced("bf16", "bf17"),
      replaced("e4m3fn:sat", "e4m3fn:stay"),
      replaced("/sum/", "/some/"),
      replaced("/f32/", "/element/"),  // a wire accumulates in f32
      replaced("ranks=8", "ranks=0"),
      replaced("ranks=8", "ranks=17"),
      replaced("ranks=8", "ranks=9"),  // the file has 8 rows
      replaced("ranks=8", "ranks=8x"),
      replaced("ranks=8", "8"),
      replaced("counts=1000", "counts=-1"),
      replaced("counts=1000", "counts=7000"),  // the file has 6912 columns
      replaced("counts=1000", "counts=99999999999999999999"),
      replaced("misaligned", "aligned"),
      replaced("2x64w32", "0x64w32"),
      replaced("2x64w32", "2x64w33"),
      replaced("2x64w32", "2x64w"),
      replaced("2x64w32", "2x64w32r0"),
      replaced("2x64w32", "2x64w32r257"),
      replaced("2x64w32", "2x64r4w32"),
      replaced("/sum/", "/sum:0.3/"),         // only premul_sum has a factor
      replaced("/sum/", "/premul_sum:0.3/"),  // and no wire
      replaced("e4m3fn:sat/sum/f32", "none/premul_sum:x/f32"),
      replaced("e4m3fn:sat/sum/f32", "none/premul_sum:inf/f32"),
      replaced("e4m3fn:sat/sum/f32", "none/premul_sum:/f32"),
      replaced("all_reduce/tree", "all_gather/tree"),
      replaced("tree/bf16/e4m3fn:sat", "flat/int8/none"),  // int8 only moves
      replaced("seed=5", "seed=-5"),
      replaced("interleavings=3", "interleavings=0"),
      replaced("memory=gfx942", "gfx942"),
      replaced("memory=gfx942", "memory=gfx950"),
      replaced("memory=gfx942", "memory=ptx"),  // not modelled yet
      replaced("fault=rank_lost", "rank_lost"),
      replaced("smollm2", "smollm3"),
  };
  for (const std::string& text : broken) {
    INFO(text);
    const auto c = verify::parse_case(text);
    REQUIRE_FALSE(c);
    CHECK_FALSE(c.error().where.empty());
    CHECK_FALSE(c.error().what.empty());
    CHECK_FALSE(c.error().hint.empty());
  }
}

TEST_CASE("a plan of too many cases is refused before it is built", "[verify]") {
  verify::Plan plan = verify::default_plans().front();
  plan.counts.assign(20000, 1);
  CHECK_FALSE(verify::cases({plan}));
}

TEST_CASE("shards together are the whole, each case once and in order", "[verify]") {
  verify::Plan plan = verify::default_plans().front();
  std::vector<std::string> whole, parts;
  const auto all = verify::cases({plan});
  REQUIRE(all);
  for (const auto& c : *all) whole.push_back(c.text());
  plan.shards = 7;
  std::vector<std::vector<verify::Case>> shards;
  for (plan.shard = 0; plan.shard < 7; ++plan.shard) shards.push_back(*verify::cases({plan}));
  for (std::size_t i = 0; i < whole.size(); ++i) parts.push_back(shards[i % 7][i / 7].text());
  CHECK(parts == whole);
}
