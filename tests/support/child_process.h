#pragma once

// Runs another program from a test and keeps what it printed.

#include <string>

namespace tally::test {

/// The exit status is 128 + the signal's number for a program that a signal ended, as in a shell.
struct CommandResult {
  int status;
  std::string output;
};

/// Runs a line of shell. `output` holds its standard output; add 2>&1 to have both.
CommandResult run_command(const std::string& line);

}  // namespace tally::test
