// Goal: folders of measured tables are read whole, and a wrong cell is named by file and line.
// Method: a small folder, one fault at a time; and all that lies beside the checkout, where it
// does.

#include "sim/measured_table.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/skip.h"

namespace tally::sim {
namespace {

namespace fs = std::filesystem;

const std::string kHeader =
    "file,machine,nodes,ranks,collective,library,version,algorithm,wire,dtype,launch,in_place,"
    "min_bytes,max_bytes,note\n";

// A folder that goes with the object.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tally_tables_" + std::to_string(getpid()))) {
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

model::Error manifest_error(const std::string& text) {
  const auto entries = parse_manifest("manifest.csv", text);
  return entries ? model::Error{} : entries.error();
}

model::Error rows_error(const std::string& text) {
  const auto rows = parse_rows("t.csv", text, 0, 1 << 30);
  return rows ? model::Error{} : rows.error();
}

}  // namespace

TEST_CASE("a row of a manifest says what was measured", "[sim]") {
  const auto entries = parse_manifest(
      "manifest.csv",
      kHeader +
          "a.csv,h100,2,16,all_to_all,nccl,\"2.27.5, forced\",ring,e4m3fnuz:b32:f16,f16,graph,1,"
          "256,4096,warm\nb.csv,mi300x,1,8,all_reduce,rccl,,auto,,bfloat16,,,,,\n");
  REQUIRE(entries);
  const ManifestEntry &a = entries->at(0), &b = entries->at(1);
  REQUIRE(a.table.file == "a.csv");
  REQUIRE(a.table.scenario.machine == "h100");
  REQUIRE((a.table.scenario.nodes == 2 && a.table.scenario.ranks == 16));
  REQUIRE(a.table.scenario.collective == model::Collective::all_to_all);
  REQUIRE(a.table.scenario.library == "nccl");
  REQUIRE(a.table.scenario.version == "2.27.5, forced");
  REQUIRE(a.table.scenario.algorithm == "ring");
  REQUIRE(a.table.scenario.wire.name == "e4m3fnuz:b32:f16");
  REQUIRE(a.table.scenario.dtype == model::Format::f16);
  REQUIRE(a.table.scenario.launch == Launch::graph);
  REQUIRE(a.table.scenario.in_place);
  REQUIRE((a.min_bytes == 256 && a.max_bytes == 4096));
  REQUIRE(a.table.note == "warm");
  REQUIRE(b.table.scenario.wire.is_none());
  REQUIRE(b.table.scenario.dtype == model::Format::bf16);
  REQUIRE(b.table.scenario.launch == Launch::process_per_gpu);
  REQUIRE(!b.table.scenario.in_place);
  REQUIRE((b.min_bytes == 0 && b.max_bytes == std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("columns may come in any order, with others between them", "[sim]") {
  const auto entries =
      parse_manifest("m.csv",
                     "dtype,site,wire,algorithm,library,collective,ranks,nodes,machine,file\n"
                     "f32,here,none,auto,nccl,all_gather,4,1,a100,x.csv\n");
  REQUIRE(entries);
  REQUIRE(entries->front().table.scenario.machine == "a100");
  REQUIRE(entries->front().table.scenario.ranks == 4);
}

TEST_CASE("a wrong cell of a manifest is named", "[sim]") {
  struct Fault {
    const char *row, *what, *hint;
  };
  const Fault faults[] = {
      {",h100,1,8,all_reduce,nccl,,auto,none,f32,,,,,", "file ''", "a name"},
      {"a,h10,1,8,all_reduce,nccl,,auto,none,f32,,,,,", "machine 'h10'", "did you mean 'h100'?"},
      {"a,h100,0,8,all_reduce,nccl,,auto,none,f32,,,,,", "nodes '0'", "1..65536"},
      {"a,h100,1,,all_reduce,nccl,,auto,none,f32,,,,,", "ranks ''", "1..1048576"},
      {"a,h100,1,8.5,all_reduce,nccl,,auto,none,f32,,,,,", "ranks '8.5'", "1..1048576"},
      {"a,h100,1,8,allreduce,nccl,,auto,none,f32,,,,,", "collective 'allreduce'",
       "did you mean 'all_reduce'?"},
      {"a,h100,1,8,all_reduce,,,auto,none,f32,,,,,", "library ''", "a name"},
      {"a,h100,1,8,all_reduce,nccl,,,none,f32,,,,,", "algorithm ''", "a name"},
      {"a,h100,1,8,all_reduce,nccl,,auto,e4m3,f32,,,,,", "wire 'e4m3'", nullptr},
      {"a,h100,1,8,all_reduce,nccl,,auto,none,f33,,,,,", "dtype 'f33'", "did you mean 'f32'?"},
      {"a,h100,1,8,all_reduce,nccl,,auto,none,f32,grap,,,,", "launch 'grap'",
       "did you mean 'graph'?"},
      {"a,h100,1,8,all_reduce,nccl,,auto,none,f32,,yes,,,", "in_place 'yes'", "0 or 1"},
      {"a,h100,1,8,all_reduce,nccl,,auto,none,f32,,,-1,,", "min_bytes '-1'", nullptr},
  };
  for (const Fault& fault : faults) {
    CAPTURE(fault.row);
    const model::Error error = manifest_error(kHeader + "# a comment\n" + fault.row + "\n");
    REQUIRE(error.where == "manifest.csv:3");
    REQUIRE(error.what == fault.what);
    REQUIRE(!error.hint.empty());
    if (fault.hint != nullptr) REQUIRE(error.hint == fault.hint);
  }
  const model::Error error = manifest_error("file,machin,nodes\n");
  REQUIRE(error.what == "no column 'machine'");
  REQUIRE(error.hint == "did you mean 'machin'?");
}

TEST_CASE("a row without a time takes its size over its rate", "[sim]") {
  const auto rows = parse_rows("t.csv",
                               "size_bytes,time_us,algbw_GBps,busbw_GBps\r\n"
                               "64,1.5,9,9\n128,,0.5,\n256,N/A,0.25,\n999999,nonsense,,\n",
                               64, 4096);
  REQUIRE(rows);
  REQUIRE(rows->size() == 3);
  REQUIRE((rows->at(0).bytes == 64 && rows->at(0).time_us == 1.5));
  REQUIRE((rows->at(1).bytes == 128 && rows->at(1).time_us == 128 / 0.5e3));
  REQUIRE((rows->at(2).bytes == 256 && rows->at(2).time_us == 256 / 0.25e3));
}

TEST_CASE("a wrong cell of a table is named", "[sim]") {
  const std::string header = "size_bytes,time_us,algbw_GBps\n";
  for (const char* row : {"1,,", "1,-1,", "1,0,", "1,nan,", "1,inf,", "1,1e400,", "1,x,2", "0,,1",
                          "1.5,1,", "-1,1,", ",1,", "99999999999999999999,1,", "1, 2,"}) {
    CAPTURE(row);
    const model::Error error = rows_error(header + row + "\n");
    REQUIRE(error.where == "t.csv:2");
    REQUIRE(!error.what.empty());
    REQUIRE(!error.hint.empty());
  }
  REQUIRE(rows_error("size,time_us\n").hint == "one of: size, time_us");
  REQUIRE(rows_error("size_bytes,time_ms\n").hint == "did you mean 'time_ms'?");
}

TEST_CASE("a folder, its manifest, or one of its tables can be named", "[sim]") {
  const Folder folder;
  const std::string row = ",h100,1,8,all_reduce,nccl,,auto,none,f32,,,,,\n";
  const std::string manifest =
      folder.write("manifest.csv", kHeader + "a.csv" + row + "b.csv" + row);
  const std::string a = folder.write("a.csv", "size_bytes,time_us\n8,2\n");
  const auto missing = read_measured(folder.path());
  REQUIRE(!missing);
  REQUIRE(missing.error().where.ends_with("b.csv"));
  folder.write("b.csv", "size_bytes,time_us\n8,2\n16,3\n");
  REQUIRE(read_measured(folder.path())->size() == 2);
  REQUIRE(read_measured(manifest)->at(1).rows.size() == 2);
  const auto one = read_measured(a);
  REQUIRE((one->size() == 1 && one->front().file == "a.csv"));
  const auto stray = read_measured(folder.write("c.csv", "size_bytes,time_us\n8,2\n"));
  REQUIRE(!stray);
  REQUIRE(stray.error().what == "no table 'c.csv'");
  REQUIRE(!read_measured(folder.path() + "/none"));
}

TEST_CASE("all measured tables are read", "[sim]") {
  const fs::path folder = TALLY_SOURCE_DIR "/../shared/data/perf";
  if (!fs::exists(folder)) return test::skip_case("no measured tables here");
  const auto tables = read_measured(folder.string());
  if (!tables) FAIL(tables.error().where << ": " << tables.error().what);
  REQUIRE(tables->size() == 40);
  std::size_t rows = 0;
  for (const MeasuredTable& table : *tables) {
    CAPTURE(table.file);
    REQUIRE(!table.rows.empty());
    rows += table.rows.size();
  }
  REQUIRE(rows == 632);  // as the csv module of Python counts them, by the same rule
}

}  // namespace tally::sim
