#pragma once

// Tables of measured times, and the manifest that says of each what was measured.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/predict.h"

namespace tally::sim {

struct MeasuredRow {
  std::int64_t bytes;
  double time_us;
};

struct MeasuredTable {
  using Row = MeasuredRow;
  std::string file, note;
  Scenario scenario;
  std::vector<Row> rows;
};

/// A row of a manifest: a table without its rows, and which of them count.
struct ManifestEntry {
  MeasuredTable table;
  std::int64_t min_bytes = 0, max_bytes = std::numeric_limits<std::int64_t>::max();
};

/// All tables of a folder with a manifest.csv, or of a manifest; or one table of the manifest
/// beside it. An error names file and line.
model::Result<std::vector<MeasuredTable>> read_measured(const std::string& folder_or_file);

/// The columns file, machine, nodes, ranks, collective, library, algorithm, wire and dtype must be
/// there, and version, launch, in_place, min_bytes, max_bytes and note may be; others are not
/// looked at. Empty: no wire, process_per_gpu, out of place, no bound.
model::Result<std::vector<ManifestEntry>> parse_manifest(const std::string& file,
                                                         std::string_view text);

/// Columns size_bytes, and time_us or algbw_GBps or both. A row without a time takes size / algbw.
/// Rows outside min_bytes..max_bytes are left out unread.
model::Result<std::vector<MeasuredRow>> parse_rows(const std::string& file, std::string_view text,
                                                   std::int64_t min_bytes, std::int64_t max_bytes);

}  // namespace tally::sim
