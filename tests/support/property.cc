#include "tests/support/property.h"

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "tests/support/catch.h"

namespace tally::test {
namespace {

// Commas, brackets, quotes and backslashes mean something in a Catch2 test specification.
std::string catch_escaped(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string_view(",[]\"\\*").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string replay_line(std::uint64_t seed) {
  const std::string test_case(Catch::getResultCapture().getCurrentTestName());
  return "RC_PARAMS=\"seed=" + std::to_string(seed) + "\" " + program_invocation_name + " " +
         shell_quoted(catch_escaped(test_case));
}

void report_property(const std::string& claim, const rc::detail::TestResult& result,
                     std::source_location where) {
  using rc::detail::SuccessResult;
  const Catch::SourceLineInfo line(where.file_name(), where.line());
  Catch::AssertionHandler handler("property", line, Catch::StringRef(claim.c_str(), claim.size()),
                                  Catch::ResultDisposition::ContinueOnFailure);
  std::ostringstream text;
  if (result.is<SuccessResult>()) {
    if (!result.get<SuccessResult>().distribution.empty()) printResultMessage(result, text);
    handler.handleMessage(Catch::ResultWas::Ok, text.str());
  } else {
    // Not through Catch2, whose reporter breaks long lines: this one is for pasting.
    const std::string replay = replay_line(rc::detail::configuration().testParams.seed);
    std::fprintf(stderr, "replay: %s\n", replay.c_str());
    text << "claim: " << claim << '\n';
    printResultMessage(result, text);
    handler.handleMessage(Catch::ResultWas::ExplicitFailure, text.str());
  }
  handler.complete();
}

}  // namespace tally::test
