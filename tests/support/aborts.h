#pragma once

// Our own mistakes stop the program: seen from outside, in a child process.

#include <cerrno>
#include <csignal>
#include <string>

#include "tests/support/child_process.h"

namespace tally::test {

/// Runs the hidden test case of that name of this program, which must make a TALLY_CHECK fail.
/// True where the check that says `what` ended it.
inline bool aborts(const std::string& hidden_case, const std::string& what) {
  const CommandResult result =
      run_command(std::string(program_invocation_name) + " '" + hidden_case + "' 2>&1");
  return result.status == 128 + SIGABRT &&
         result.output.find("internal error: " + what) != std::string::npos;
}

}  // namespace tally::test
