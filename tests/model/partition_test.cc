// Goal: chunks and parts cover every element exactly once, in whole units.
// Method: enumerate all small sizes, and mark the elements one by one: the oracle knows nothing of
// how a chunk is computed.

#include "model/partition.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace tally::model {
namespace {

constexpr std::int64_t kUnit = 128;

/// What is wrong with pieces that shall cover [0, n), or nothing.
class Cover {
 public:
  explicit Cover(std::int64_t n) : marks_(n, 0) {}

  void add(Range piece) {
    if (piece.begin > piece.end || piece.begin < 0 || piece.end > std::ssize(marks_)) {
      fault_ = "a piece outside the whole";
      return;
    }
    for (std::int64_t i = piece.begin; i < piece.end; ++i) ++marks_[i];
    if (piece.size() == 0) return;
    if (piece.begin % kUnit != 0) fault_ = "a piece begins inside a unit";
    if (piece.end % kUnit != 0 && piece.end != std::ssize(marks_)) fault_ = "a unit is cut";
  }

  std::string fault() const {
    if (!fault_.empty()) return fault_;
    for (const std::uint8_t mark : marks_) {
      if (mark != 1) return mark == 0 ? "an element is left out" : "an element is covered twice";
    }
    return "";
  }

 private:
  std::vector<std::uint8_t> marks_;
  std::string fault_;
};

}  // namespace

TEST_CASE("chunks are the ones of the contract", "[model]") {
  // C = 128 ceil(n / (N * 128)), by hand
  REQUIRE(chunk(1000, 0, 3, kUnit) == Range{0, 384});
  REQUIRE(chunk(1000, 2, 3, kUnit) == Range{768, 1000});
  REQUIRE(chunk(129, 0, 8, kUnit) == Range{0, 128});
  REQUIRE(chunk(129, 1, 8, kUnit) == Range{128, 129});
  REQUIRE(chunk(129, 7, 8, kUnit) == Range{129, 129});
  REQUIRE(chunk(0, 0, 1, kUnit) == Range{0, 0});
  REQUIRE(chunk(2049, 1, 2, kUnit) == Range{1152, 2049});
  // Larger than 2^32 elements.
  REQUIRE(chunk(std::int64_t{1} << 40, 7, 8, kUnit) ==
          Range{std::int64_t{7} << 37, std::int64_t{1} << 40});
}

TEST_CASE("a part begins where its range begins", "[model]") {
  REQUIRE(part({256, 700}, 0, 2, kUnit) == Range{256, 512});
  REQUIRE(part({256, 700}, 1, 2, kUnit) == Range{512, 700});
  REQUIRE(part({256, 256}, 1, 2, kUnit) == Range{256, 256});
}

TEST_CASE("chunks cover all elements once in whole units: n to 3000, 64 ranks", "[model]") {
  std::string fault;
  for (std::int64_t n = 0; n <= 3000 && fault.empty(); ++n) {
    for (int ranks = 1; ranks <= 64 && fault.empty(); ++ranks) {
      Cover cover(n);
      for (int rank = 0; rank < ranks; ++rank) cover.add(chunk(n, rank, ranks, kUnit));
      fault = cover.fault();
      if (!fault.empty()) FAIL(fault << ": " << n << " elements, " << ranks << " ranks");
    }
  }
  REQUIRE(fault == "");
}

TEST_CASE("parts of chunks cover all elements once in whole units: 1 to 5 lanes", "[model]") {
  std::string fault;
  // All sizes near a unit's border, and every 13th between.
  for (std::int64_t n = 0; n <= 3000 && fault.empty(); ++n) {
    const std::int64_t from_border = (n + 2) % kUnit;
    if (from_border > 4 && n % 13 != 0) continue;
    for (int ranks = 1; ranks <= 64 && fault.empty(); ++ranks) {
      for (int lanes = 1; lanes <= 5 && fault.empty(); ++lanes) {
        Cover cover(n);
        for (int rank = 0; rank < ranks; ++rank) {
          const Range whole = chunk(n, rank, ranks, kUnit);
          for (int lane = 0; lane < lanes; ++lane) cover.add(part(whole, lane, lanes, kUnit));
        }
        fault = cover.fault();
        if (!fault.empty()) FAIL(fault << ": " << n << " in " << ranks << " x " << lanes);
      }
    }
  }
  REQUIRE(fault == "");
}

TEST_CASE("no chunk is longer than the first, and only the last one that holds any is short",
          "[model]") {
  for (std::int64_t n = 0; n <= 3000; n += 7) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const std::int64_t first = chunk(n, 0, ranks, kUnit).size();
      bool is_full = true;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::int64_t size = chunk(n, rank, ranks, kUnit).size();
        if (!(size == first || (is_full && size < first) || size == 0)) FAIL(n << ' ' << ranks);
        is_full = size == first;
      }
    }
  }
}

TEST_CASE("the cover sees what is wrong", "[model]") {
  const auto fault_of = [](std::vector<Range> pieces) {
    Cover cover(300);
    for (const Range piece : pieces) cover.add(piece);
    return cover.fault();
  };
  REQUIRE(fault_of({{0, 128}, {128, 300}}) == "");
  REQUIRE(fault_of({{0, 128}, {128, 299}}) != "");
  REQUIRE(fault_of({{0, 128}, {256, 300}}) == "an element is left out");
  REQUIRE(fault_of({{0, 256}, {128, 300}}) == "an element is covered twice");
  REQUIRE(fault_of({{0, 127}, {127, 300}}) != "");
  REQUIRE(fault_of({{0, 301}}) == "a piece outside the whole");
}

}  // namespace tally::model
