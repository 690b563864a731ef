#pragma once

// RapidCheck properties inside Catch2 test cases, with a replay line when one fails.

#include <rapidcheck.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

namespace tally::test {

/// The shell command that runs the current test case again with that seed.
std::string replay_line(std::uint64_t seed);

/// Tells Catch2 how a property went, at the place where the property is written.
void report_property(const std::string& claim, const rc::detail::TestResult& result,
                     std::source_location where);

/// Checks `testable` on 100 generated cases and reports the outcome as one assertion of the current
/// test case. The claim completes the sentence that the test case's title begins, or stands alone.
/// A failure does not end the test case. Inside, use RC_ASSERT and not REQUIRE: Catch2 would count
/// every step of the shrinking as a failure. RC_PARAMS in the environment sets seed, max_success
/// and the rest, as RapidCheck documents them; without it every run draws a new seed.
template <class Testable>
void property(const std::string& claim, Testable&& testable,
              std::source_location where = std::source_location::current()) {
  const rc::detail::TestMetadata metadata{"", claim};
  report_property(claim, rc::detail::checkTestable(std::forward<Testable>(testable), metadata),
                  where);
}

}  // namespace tally::test
