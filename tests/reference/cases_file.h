#pragma once

// Reading .cases files: words in lines, with comments. And codes as people compare them.

#include <cstdint>
#include <string>
#include <vector>

#include "model/number_format.h"

namespace tally::test {

struct CaseLine {
  int number;  // in its file, from 1
  std::vector<std::string> words;
};

/// The lines of tests/reference/<name> that hold anything before a '#'. Stops the program where the
/// file is missing or empty, so that a lost file is not a passed test.
std::vector<CaseLine> read_cases(const std::string& name);

/// Hexadecimal digits as a number; stops the program at anything else.
std::uint64_t from_hex(const std::string& digits);

/// "0.1110.001 (0x71)": sign, exponent and fraction fields in binary, then the code.
std::string describe(model::Format, std::uint32_t code);

/// What to look at where two conversions disagree.
std::string difference(model::Format, const std::string& input, std::uint32_t got,
                       std::uint32_t want);

}  // namespace tally::test
