// Whatever the bytes, a manifest and a table of measurements are read, or answered with an error
// that has a hint.

#include <cstdint>

#include "sim/measured_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto has_hint = [](const model::Error& error) {
    return !error.where.empty() && !error.what.empty() && !error.hint.empty();
  };
  const auto entries = sim::parse_manifest("manifest.csv", text);
  TALLY_CHECK(entries || has_hint(entries.error()), "a silent error");
  const auto rows = sim::parse_rows("table.csv", text, 8, std::int64_t{1} << 40);
  TALLY_CHECK(rows || has_hint(rows.error()), "a silent error");
  if (!rows) return 0;
  for (const sim::MeasuredRow& row : *rows) {
    TALLY_CHECK(row.bytes >= 8 && row.bytes <= std::int64_t{1} << 40, "a row out of bounds");
    TALLY_CHECK(row.time_us > 0 && row.time_us < 1e13, "a time that is none");
  }
  return 0;
}
