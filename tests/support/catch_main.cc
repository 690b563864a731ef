// The main function of every test program: a Catch2 session that counts skipped cases.

#define CATCH_CONFIG_RUNNER  // Catch2 v2 compiles its implementation here; v3 ignores it.

#include <cstdio>

#include "tests/support/catch.h"
#include "tests/support/skip.h"

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

namespace tally::test {
namespace {

struct CaseCounts {
  int run = 0, skipped = 0;
  bool current_is_skipped = false;
};
CaseCounts counts;

struct CaseCounter : ListenerBase {
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo&) override { counts.current_is_skipped = false; }
  void testCaseEnded(const Catch::TestCaseStats&) override {
    ++counts.run;
    if (counts.current_is_skipped) ++counts.skipped;
  }
};
CATCH_REGISTER_LISTENER(CaseCounter)

}  // namespace

void skip_case(const std::string& reason) {
  counts.current_is_skipped = true;
  const std::string name(Catch::getResultCapture().getCurrentTestName());
  std::fprintf(stderr, "skipped: %s: %s\n", name.c_str(), reason.c_str());
}

}  // namespace tally::test

int main(int argc, char* argv[]) {
  using tally::test::counts;
  const int status = Catch::Session().run(argc, argv);
  if (counts.skipped > 0) {
    std::fprintf(stderr, "%d of %d test cases skipped\n", counts.skipped, counts.run);
  }
  const bool nothing_ran = counts.skipped > 0 && counts.skipped == counts.run;
  return status == 0 && nothing_ran ? tally::test::kSkipStatus : status;
}
