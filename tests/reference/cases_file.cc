#include "tests/reference/cases_file.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "model/check.h"

namespace tally::test {

std::vector<CaseLine> read_cases(const std::string& name) {
  std::ifstream file("tests/reference/" + name);
  TALLY_CHECK(file.good(), "a .cases file is missing; run from the repository's root");
  std::vector<CaseLine> lines;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find(" #")));
    CaseLine found{number, {}};
    for (std::string word; words >> word;) found.words.push_back(word);
    if (found.words.empty() || found.words[0][0] == '#') continue;
    lines.push_back(found);
  }
  TALLY_CHECK(!lines.empty(), "a .cases file without cases");
  return lines;
}

std::uint64_t from_hex(const std::string& digits) {
  std::size_t used = 0;
  const std::uint64_t value = std::stoull(digits, &used, 16);
  TALLY_CHECK(used == digits.size(), "not a hexadecimal number");
  return value;
}

std::string describe(model::Format id, std::uint32_t code) {
  const model::NumberFormat& f = model::format(id);
  std::string fields;
  for (int bit = f.width() - 1; bit >= 0; --bit) {
    fields += (code >> bit & 1) != 0 ? '1' : '0';
    const bool ends_sign = f.sign_bits == 1 && bit == f.width() - 1;
    const bool ends_exponent = bit == f.fraction_bits && bit != 0;
    if (ends_sign || ends_exponent) fields += '.';
  }
  char hex[16];
  std::snprintf(hex, sizeof hex, " (0x%0*x)", (f.width() + 3) / 4, code);
  return fields + hex;
}

std::string difference(model::Format id, const std::string& input, std::uint32_t got,
                       std::uint32_t want) {
  return std::string(model::format(id).name) + " of " + input + ": got " + describe(id, got) +
         ", want " + describe(id, want);
}

}  // namespace tally::test
