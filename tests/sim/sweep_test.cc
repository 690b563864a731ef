// Goal: a sweep finds, to the unit, where another choice becomes the best and where a curve jumps,
// and says of every jump which way it goes and what it proves.
// Method: curves that are made for the purpose, against a search through every size.

#include "sim/sweep.h"

#include <algorithm>
#include <map>

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::sim {
namespace {

/// A straight line until `threshold`, and another from there on.
struct Line {
  std::int64_t start = 0, slope = 0;  // picoseconds, and those for each byte
  std::int64_t threshold = 1 << 30, step = 0;

  Prediction at(std::int64_t bytes) const {
    const bool is_after = bytes >= threshold;
    return {{start + slope * bytes + (is_after ? step : 0)}, is_after ? "high" : "low", "link"};
  }
};

using Lines = std::map<std::string, Line>;

CurveOf curves(const Lines& lines) {
  return [&lines](const Scenario& scenario) -> model::Result<TimeOfSize> {
    const auto line = lines.find(scenario.algorithm);
    if (line == lines.end()) return model::Error{"algorithm", "unknown", "none"};
    return TimeOfSize([line](std::int64_t bytes) { return line->second.at(bytes); });
  };
}

std::vector<Scenario> scenarios(const Lines& lines) {
  std::vector<Scenario> all;
  for (const auto& [name, line] : lines) {
    all.emplace_back().algorithm = name;
  }
  return all;
}

Lines random_lines() {
  Lines lines;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    lines[std::string(1, static_cast<char>('a' + i))] = {*rc::gen::inRange(1, 20'000),
                                                         *rc::gen::inRange(0, 20)};
  }
  return lines;
}

const std::vector<std::int64_t> kSizes = {4, 100, 1000, 1024, 8192};

/// The only step of one curve with that line.
Step step_of(const Line& line) {
  const Lines lines = {{"a", line}};
  const Sweep found = sweep(scenarios(lines), kSizes, curves(lines));
  REQUIRE(found.curves[0].steps.size() == 1);
  return found.curves[0].steps[0];
}

}  // namespace

TEST_CASE("the ranges of the best are those of a search through every size", "[sim]") {
  test::property("for straight lines, of which none is the best twice", [] {
    const Lines lines = random_lines();
    const auto choices = scenarios(lines);
    const Sweep found = sweep(choices, kSizes, curves(lines));
    for (std::int64_t bytes = kSizes.front(); bytes <= kSizes.back(); bytes += 4) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < choices.size(); ++c) {
        const auto time = [&](std::size_t i) {
          return lines.at(choices[i].algorithm).at(bytes).time;
        };
        if (time(c) < time(best)) best = c;
      }
      const auto range = std::find_if(found.best.begin(), found.best.end(), [&](const auto& r) {
        return r.first_bytes <= bytes && bytes <= r.last_bytes;
      });
      RC_ASSERT(range != found.best.end());
      RC_ASSERT(range->curve == best);
    }
  });
}

TEST_CASE("ranges follow each other without gaps, a crossover between every two", "[sim]") {
  test::property("from the first size to the last", [] {
    const Lines lines = random_lines();
    const Sweep found = sweep(scenarios(lines), kSizes, curves(lines));
    RC_ASSERT(found.best.front().first_bytes == kSizes.front());
    RC_ASSERT(found.best.back().last_bytes == kSizes.back());
    RC_ASSERT(found.crossovers.size() + 1 == found.best.size());
    RC_ASSERT(find_crossover(found, kSizes.front()) == nullptr);
    for (std::size_t i = 1; i < found.best.size(); ++i) {
      RC_ASSERT(found.best[i].first_bytes == found.best[i - 1].last_bytes + 4);
      RC_ASSERT(find_crossover(found, found.best[i].first_bytes) == &found.crossovers[i - 1]);
    }
  });
}

TEST_CASE("a change of path is found to the unit, wherever it is", "[sim]") {
  test::property("between any two sizes", [] {
    const std::int64_t threshold = 4 * *rc::gen::inRange(2, 2049);
    const Lines lines = {{"a", {1000, 1, threshold, 0}}};
    const Sweep found = sweep(scenarios(lines), kSizes, curves(lines));
    RC_ASSERT(found.curves[0].steps.size() == 1u);
    RC_ASSERT(found.curves[0].steps[0].bytes == threshold);
    RC_ASSERT(found.curves[0].steps[0].threshold == "low -> high");
  });
}

TEST_CASE("a step says which way it goes, and what that proves", "[sim]") {
  using Verdict = Step::Verdict;
  struct Example {
    std::int64_t before, after;
    Verdict verdict;
    const char* why;
  };
  const Example examples[] = {
      {1000, 1000, Verdict::continuous, "continuous"},
      {1000, 1031, Verdict::continuous, "continuous"},
      {1000, 1040, Verdict::too_early, "comes too early: high is 4 % slower"},
      {1000, 960, Verdict::too_late, "comes too late: high is 4 % faster"},
      {1000, 960, Verdict::too_late, "a message gains by being padded"},
      {1000, 1999, Verdict::too_early, "slower"},
      {1000, 2001, Verdict::mistuned, "two calls of half the size are faster"},
      {1000, 500, Verdict::mistuned, "faster"},
      {1000, 501, Verdict::too_late, "faster"},
  };
  for (const auto& [before, after, verdict, why] : examples) {
    CAPTURE(before, after);
    const Step step = step_of({before, 0, 512, after - before});
    CHECK(step.verdict() == verdict);
    CHECK(step.why().find(why) != std::string::npos);
  }
}

TEST_CASE("a step is no crossover's fault unless a curve jumps there", "[sim]") {
  // b falls below a by its own step at 512; without it they would meet later.
  const Lines jump = {{"a", {1000, 0}}, {"b", {2000, 0, 512, -1300}}};
  const Sweep stepped = sweep(scenarios(jump), kSizes, curves(jump));
  REQUIRE(stepped.crossovers.size() == 1);
  CHECK(stepped.crossovers[0].threshold == "low -> high");
  CHECK(stepped.crossovers[0].verdict() == Step::Verdict::too_late);

  const Lines meet = {{"a", {1000, 2}}, {"b", {2000, 1}}};
  const Sweep crossed = sweep(scenarios(meet), kSizes, curves(meet));
  REQUIRE(crossed.crossovers.size() == 1);
  CHECK(crossed.crossovers[0].bytes == 1004);  // at 1000 they are equal, and the first is kept
  CHECK(crossed.crossovers[0].threshold.empty());
  CHECK(crossed.crossovers[0].verdict() == Step::Verdict::continuous);
}

TEST_CASE("sizes become multiples of what the collective allows, each once", "[sim]") {
  const Lines lines = {{"a", {1000, 1}}};
  auto choices = scenarios(lines);
  const std::int64_t sizes[] = {130, 1, 129, 64};
  CHECK(sweep(choices, sizes, curves(lines)).sizes == std::vector<std::int64_t>{4, 64, 128});
  choices[0].collective = model::Collective::all_gather;  // a block for each of 8 ranks
  CHECK(unit_bytes(choices[0]) == 32);
  CHECK(sweep(choices, sizes, curves(lines)).sizes == std::vector<std::int64_t>{32, 64, 128});
}

TEST_CASE("what nothing is predicted of is left out, and says why", "[sim]") {
  const Lines lines = {{"a", {1000, 1}}};
  auto choices = scenarios(lines);
  choices.emplace_back().algorithm = "unheard_of";
  const Sweep found = sweep(choices, kSizes, curves(lines));
  CHECK(found.curves.size() == 1);
  REQUIRE(found.refused.size() == 1);
  CHECK(found.refused[0].scenario.algorithm == "unheard_of");
  CHECK(found.refused[0].error.what == "unknown");
}

TEST_CASE("the best is looked for among what is allowed, and sizes without one are a gap",
          "[sim]") {
  const Lines lines = {{"a", {1000, 0}}, {"b", {2000, 0}}};
  Sweep found = sweep(scenarios(lines), kSizes, curves(lines));
  choose_best(found, [](std::size_t curve, std::int64_t bytes) {
    return curve == 0 ? bytes < 512 : bytes >= 1020;
  });
  REQUIRE(found.best.size() == 2);
  CHECK((found.best[0].last_bytes == 508 && found.best[0].curve == 0));
  CHECK((found.best[1].first_bytes == 1020 && found.best[1].curve == 1));
  CHECK(found.crossovers.empty());
}

}  // namespace tally::sim
