// Goal: the judge accepts what is right and nothing else.
// Method: the reference's own outputs are accepted; each with a single fault is rejected.

#include "verify/judge.h"

#include "tests/support/catch.h"

namespace {

using namespace tally;
using verify::Detector;
using verify::Verdict;

/// A case with its reference outputs, as if a subject had produced them.
struct Fixture {
  verify::Case c;
  std::vector<reference::RankBuffers> wanted;
  verify::Observation seen;

  explicit Fixture(const char* kind) {
    c.ranks = 3;
    c.counts = {40, 14};
    c.arithmetic.element = model::Format::bf16;
    c.input = *reference::open_input(kind);
    for (int call = 0; call < 2; ++call) {
      reference::RankBuffers inputs;
      for (int rank = 0; rank < 3; ++rank) {
        inputs.push_back(
            reference::draw(c.input, c.arithmetic.element, {1, call, rank, c.counts[call]}));
      }
      wanted.push_back(reference::run(c.schedule(call), inputs));
    }
    seen.outputs = wanted;
  }

  verify::Judgement judge() const { return verify::judge_exact(c, wanted, seen); }

  /// Sets element `i` of call 1 on rank 2.
  void set(std::vector<reference::RankBuffers>& outputs, std::int64_t i, std::uint16_t code) {
    outputs[1][2][2 * i] = static_cast<std::byte>(code & 0xFF);
    outputs[1][2][2 * i + 1] = static_cast<std::byte>(code >> 8);
  }
};

}  // namespace

TEST_CASE("the reference's own bits are ok", "[verify]") {
  for (const char* kind : {"normal", "corner", "order_free"}) {
    const verify::Judgement judgement = Fixture(kind).judge();
    CHECK(judgement.verdict == Verdict::ok);
    CHECK(judgement.caught_by == Detector::none);
    CHECK(judgement.wrong == 0);
    CHECK(judgement.reason.empty());
  }
}

TEST_CASE("one flipped bit of any element is a mismatch that names call, rank and element",
          "[verify]") {
  for (int bit = 0; bit < 16; ++bit) {
    Fixture f("order_free");
    f.seen.outputs[1][2][2 * 13 + bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const verify::Judgement judgement = f.judge();
    CHECK(judgement.verdict == Verdict::mismatch);
    CHECK(judgement.wrong == 1);
    CHECK(judgement.reason.find("call 1 rank 2 element 13 of 14") != std::string::npos);
    CHECK(judgement.reason.find("ranks differ") != std::string::npos);
  }
}

TEST_CASE("all NaN are one, a NaN is no number, and the sign of zero counts", "[verify]") {
  struct Row {
    std::uint16_t want, got;
    Verdict verdict;
  };
  for (const Row row :
       {Row{0x7FC0, 0x7FC0, Verdict::ok}, Row{0x7FC0, 0xFF81, Verdict::ok},
        Row{0x7FC0, 0x3F80, Verdict::mismatch}, Row{0x3F80, 0x7FC0, Verdict::mismatch},
        Row{0x7FC0, 0x7F80, Verdict::mismatch}, Row{0x0000, 0x8000, Verdict::mismatch}}) {
    Fixture f("order_free");
    for (int rank = 0; rank < 3; ++rank) {
      for (auto* outputs : {&f.wanted, &f.seen.outputs}) (*outputs)[1][rank] = f.wanted[1][2];
    }
    for (int rank = 0; rank < 3; ++rank) {
      std::swap(f.wanted[1][2], f.wanted[1][rank]);
      std::swap(f.seen.outputs[1][2], f.seen.outputs[1][rank]);
      f.set(f.wanted, 5, row.want);
      f.set(f.seen.outputs, 5, row.got);
      std::swap(f.wanted[1][2], f.wanted[1][rank]);
      std::swap(f.seen.outputs[1][2], f.seen.outputs[1][rank]);
    }
    CHECK(f.judge().verdict == row.verdict);
  }
}

TEST_CASE("an output that was never written is a mismatch even where NaN is due", "[verify]") {
  Fixture f("order_free");
  f.set(f.wanted, 3, 0x7FC0);
  f.set(f.seen.outputs, 3, 0x5A5A);
  const verify::Judgement judgement = f.judge();
  CHECK(judgement.verdict == Verdict::mismatch);
  CHECK(judgement.reason.find("never written") != std::string::npos);
}

TEST_CASE("a broken guard, a modified input and a hang fail a case whose values are right",
          "[verify]") {
  Fixture broken("normal");
  broken.seen.broken = {"the guard zone behind output of rank 0 was written at byte 0"};
  CHECK(broken.judge().verdict == Verdict::mismatch);
  CHECK(broken.judge().wrong == 0);
  CHECK(broken.judge().caught_by == Detector::bounds);
  CHECK(broken.judge().reason == broken.seen.broken[0]);
  Fixture hung("normal");
  hung.seen.hang = {"rank 0 block 0 thread 1 waits for flags of rank 0"};
  CHECK(hung.judge().verdict == Verdict::hang);
  CHECK(hung.judge().caught_by == Detector::hang);
}

TEST_CASE("a race fails a case whose values are right, and comes first", "[verify]") {
  Fixture f("normal");
  f.seen.order_faults = {{"race on scratch of rank 1: ...", "codec.h:50 and codec.h:54"}};
  CHECK(f.judge().verdict == Verdict::mismatch);
  CHECK(f.judge().caught_by == Detector::race);
  CHECK(f.judge().wrong == 0);
  f.seen.outputs[0][0][0] ^= std::byte{1};
  f.seen.order_faults.push_back(f.seen.order_faults[0]);
  CHECK(f.judge().caught_by == Detector::race);
  CHECK(f.judge().reason.starts_with("race on scratch of rank 1: ... (and 1 more); call 0 rank 0"));
  // After a hang waits give up, and what follows is in no order.
  f.seen.hang = {"rank 0 block 0 thread 1 waits for flags of rank 0"};
  CHECK(f.judge().caught_by == Detector::hang);
  CHECK(f.judge().reason.find("race") == std::string::npos);
}

TEST_CASE("wrong values are caught as values, before guards and differences between ranks",
          "[verify]") {
  Fixture f("normal");
  f.seen.outputs[0][0][0] ^= std::byte{1};
  f.seen.broken = {"the input of rank 0 was modified"};
  CHECK(f.judge().caught_by == Detector::value);
  CHECK(name(Detector::value) == "value");
}

TEST_CASE("a code is shown in hex, as fields and as a value", "[verify]") {
  CHECK(verify::describe_code(model::Format::e4m3fn, 0x71) == "0x71 = 0'1110'001 = 144");
  CHECK(verify::describe_code(model::Format::bf16, 0xBF80) == "0xbf80 = 1'01111111'0000000 = -1");
  CHECK(verify::describe_code(model::Format::e8m0, 0x80) == "0x80 = '10000000' = 2");
}

TEST_CASE("substance counts what is finite and not zero", "[verify]") {
  Fixture f("order_free");
  for (auto& call : f.wanted) {
    for (auto& rank : call) std::fill(rank.begin(), rank.end(), std::byte{0});
  }
  std::swap(f.wanted[1][0], f.wanted[1][2]);
  f.set(f.wanted, 0, 0x3F80);
  f.set(f.wanted, 1, 0x0001);
  f.set(f.wanted, 2, 0x7F80);
  f.set(f.wanted, 3, 0x7FC0);
  std::swap(f.wanted[1][0], f.wanted[1][2]);
  const verify::Substance found = verify::substance(f.c, f.wanted);
  CHECK(found.substantial == 2);
  CHECK(found.elements == 54);
}
