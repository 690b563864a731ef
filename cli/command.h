#pragma once

// The subcommands of tally. Each is one file; arguments follow the command's name.

#include <string>
#include <vector>

namespace tally::cli {

using Arguments = std::vector<std::string>;

// Exit statuses of every command.
inline constexpr int kHeld = 0;      // everything that was checked holds
inline constexpr int kFailed = 1;    // a mismatch, a disproof or a failed check
inline constexpr int kBadInput = 2;  // the command line or a file was wrong
inline constexpr int kNotHere = 3;   // the asked-for subject is not available here

int verify(const Arguments& arguments);
int study(const Arguments& arguments);
int sim(const Arguments& arguments);
int faults(const Arguments& arguments);
int formats(const Arguments& arguments);
int list(const Arguments& arguments);

}  // namespace tally::cli
