// Goal: named implementations give, at the edges, the codes that they are known to give; so where
// two of them differ, both behaviours can be asked for.
// Method: the tables of edge_tables.cases, cell by cell. Defects that touch many inputs are counted
// over every input that could have them, and the counts compared with those of the original code.

#include <atomic>
#include <bit>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/check.h"
#include "reference/convert.h"
#include "reference/implementations.h"
#include "tests/reference/cases_file.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;

struct Cell {
  int line;
  Format format;
  std::string implementation;
  std::uint32_t input;
  std::string expected;  // hexadecimal digits, or NaN
  bool believed;
};

std::vector<Cell> read_cells() {
  std::vector<Cell> cells;
  Format format{};
  std::vector<std::string> columns;
  bool names_columns = false;
  for (const test::CaseLine& line : test::read_cases("edge_tables.cases")) {
    const std::vector<std::string>& words = line.words;
    if (words[0] == "table") {
      format = model::find_format(words.at(1)).value();
      names_columns = true;
    } else if (names_columns) {
      columns = words;
      names_columns = false;
    } else {
      TALLY_CHECK(words.size() == columns.size() + 1, "a row of another length than its table");
      const auto input = static_cast<std::uint32_t>(test::from_hex(words[0]));
      std::string left;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        std::string expected = words[i + 1] == "." ? left : words[i + 1];
        left = expected;
        const bool believed = expected.back() == '?';
        if (believed) expected.pop_back();
        cells.push_back({line.number, format, columns[i], input, expected, believed});
      }
    }
  }
  return cells;
}

bool holds(const Cell& cell, std::uint32_t code) {
  if (cell.expected == "NaN") return model::format(cell.format).is_nan(code);
  return code == test::from_hex(cell.expected);
}

const Implementation& implementation_of(const std::string& name) {
  const Implementation* found = find_implementation(name);
  INFO(name);
  REQUIRE(found != nullptr);
  return *found;
}

/// On how many positive f32 patterns of [first, last] the two give different codes.
std::uint64_t count_differences(const Implementation& one, const Implementation& other,
                                Format format, std::uint32_t first, std::uint32_t last) {
  std::atomic<std::uint64_t> total = 0;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::uint64_t count = 0;
      for (std::uint64_t bits = first + t; bits <= last; bits += threads) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        count += encode_as(one, format, x) != encode_as(other, format, x);
      }
      total += count;
    });
  }
  running.clear();
  return total;
}

struct Count {
  Format format;
  std::uint32_t first, last;  // positive f32 patterns that could differ, and some around
  std::uint64_t differences;
};

constexpr std::uint32_t exponent_field(std::uint32_t field) { return field << 23; }

}  // namespace

TEST_CASE("each implementation gives the codes of the edge tables", "[reference]") {
  for (const Cell& cell : read_cells()) {
    const float x = std::bit_cast<float>(cell.input);
    const std::uint32_t code = encode_as(implementation_of(cell.implementation), cell.format, x);
    INFO("edge_tables.cases:" << cell.line << ": " << cell.implementation
                              << (cell.believed ? ", a cell that is only believed" : "") << ", "
                              << model::format(cell.format).name << ": got "
                              << test::describe(cell.format, code) << ", want " << cell.expected);
    CHECK(holds(cell, code));
  }
}

TEST_CASE("a wrong cell in an edge table would be noticed", "[reference]") {
  for (Cell cell : read_cells()) {
    const float x = std::bit_cast<float>(cell.input);
    const std::uint32_t code = encode_as(implementation_of(cell.implementation), cell.format, x);
    const bool wants_nan = cell.expected == "NaN";
    CHECK_FALSE(holds(cell, wants_nan ? 1 : code ^ 1));
  }
}

TEST_CASE("every implementation stands in the table of each format that it covers", "[reference]") {
  std::set<std::pair<std::string, Format>> in_tables;
  for (const Cell& cell : read_cells()) in_tables.insert({cell.implementation, cell.format});
  for (const Implementation& row : implementations()) {
    for (const model::NumberFormat& f : model::kNumberFormats) {
      INFO(row.name << " " << f.name);
      CHECK(covers(row, f.id) == (in_tables.count({std::string(row.name), f.id}) == 1));
    }
  }
}

TEST_CASE("a cell that is only believed belongs to no implementation that was run", "[reference]") {
  for (const Cell& cell : read_cells()) {
    const Evidence evidence = implementation_of(cell.implementation).evidence;
    INFO("edge_tables.cases:" << cell.line);
    CHECK_FALSE((cell.believed && evidence == Evidence::measured));
    CHECK_FALSE((cell.believed && evidence == Evidence::defined));
  }
}

// The numbers of differences were counted over all positive f32 with the original cast_to_f8,
// compiled by g++ 12 -O2 for x86.
TEST_CASE("the HIP host conversion without saturation overflows below the half step",
          "[reference]") {
  constexpr Count kCounts[] = {
      {Format::e4m3fn, 0x43D00000, 0x44000000, 524288},
      {Format::e5m2, 0x47500000, 0x47800000, 1048575},
      {Format::e4m3fnuz, 0x43600000, 0x43800000, 524287},
      {Format::e5m2fnuz, 0x47500000, 0x47800000, 1048575},
  };
  const Implementation& host = implementation_of("hip_host_nosat");
  const Implementation& device = implementation_of("hip_device_nosat");
  for (const Count& c : kCounts) {
    INFO(model::format(c.format).name);
    CHECK(count_differences(host, device, c.format, c.first, c.last) == c.differences);
  }
}

TEST_CASE("the HIP host conversion returns large codes for some tiny values", "[reference]") {
  constexpr Count kCounts[] = {
      {Format::e4m3fn, exponent_field(51), exponent_field(60), 41418751},
      {Format::e5m2, exponent_field(44), exponent_field(52), 32505855},
      {Format::e4m3fnuz, exponent_field(50), exponent_field(59), 41418751},
      {Format::e5m2fnuz, exponent_field(43), exponent_field(51), 32505855},
  };
  const Implementation& host = implementation_of("hip_host_satfinite");
  const Implementation& device = implementation_of("hip_device_satfinite");
  for (const Count& c : kCounts) {
    INFO(model::format(c.format).name);
    CHECK(count_differences(host, device, c.format, c.first, c.last) == c.differences);
  }
}

TEST_CASE("the HIP host conversion has no other difference from the device's", "[reference]") {
  for (const Format format : {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz}) {
    const Implementation& host = implementation_of("hip_host_satfinite");
    const Implementation& device = implementation_of("hip_device_satfinite");
    const std::uint32_t field = format == Format::e4m3fn     ? 57
                                : format == Format::e5m2     ? 49
                                : format == Format::e4m3fnuz ? 56
                                                             : 48;
    for (std::uint32_t high = 0; high < 0x10000; ++high) {
      const std::uint32_t bits = high << 16 | 1;
      const std::uint32_t exponent = (bits & 0x7FFFFFFF) >> 23;
      if (exponent <= field && exponent + 5 > field) continue;
      const float x = std::bit_cast<float>(bits);
      if (encode_as(host, format, x) == encode_as(device, format, x)) continue;
      FAIL_CHECK(test::difference(format, std::to_string(bits), encode_as(host, format, x),
                                  encode_as(device, format, x)));
    }
  }
}

}  // namespace tally::reference
