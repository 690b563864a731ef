// Goal: a selection table in the words of RCCLX or of NCCL makes them choose what it says, and what
// they cannot be made to choose is said.
// Method: the variables are read back and RCCLX's own dispatch (model/rcclx.h) is asked; the lines
// for NCCL are compared with the format that its example plugin documents.

#include "cli/tuning_text.h"

#include <map>
#include <sstream>

#include "model/rcclx.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::cli {
namespace {

namespace rcclx = model::rcclx;
using rcclx::Path;
using study::TableRow;

TableRow row(std::string path, std::int64_t first, std::int64_t last,
             std::string library = "rcclx") {
  TableRow row;
  row.scenario.library = std::move(library);
  row.scenario.algorithm = path.substr(0, path.find('/'));
  row.first_bytes = first;
  row.last_bytes = last;
  row.at_last.prediction.path = std::move(path);
  return row;
}

std::vector<std::string> notes(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) all.push_back(line);
  }
  return all;
}

rcclx::Switches read_back(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#"))
      values[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  const auto switches = rcclx::read_switches([&](const std::string& name) {
    return values.count(name) ? std::optional(values[name]) : std::nullopt;
  });
  REQUIRE(switches);
  return *switches;
}

Path chosen(const rcclx::Switches& switches, std::int64_t bytes) {
  return rcclx::choose({model::Collective::all_reduce, bytes / 4}, switches).path;
}

constexpr std::int64_t kMi = 1 << 20;

}  // namespace

TEST_CASE("the variables make RCCLX choose what the table says", "[cli]") {
  test::property("wherever flat ends and tree ends", [] {
    const std::int64_t flat = 128 * *rc::gen::inRange(1, 100'000);
    const std::int64_t tree = flat + 128 * *rc::gen::inRange(1, 1'000'000);
    const std::vector<TableRow> rows = {row("dda/flat", 128, flat),
                                        row("dda/tree", flat + 128, tree),
                                        row("ring/simple", tree + 128, 2 * tree)};
    const std::string text = rcclx_environment(rows);
    RC_ASSERT(notes(text).empty());
    const rcclx::Switches switches = read_back(text);
    RC_ASSERT(chosen(switches, 128) == Path::dda_flat);
    RC_ASSERT(chosen(switches, flat) == Path::dda_flat);
    RC_ASSERT(chosen(switches, flat + 128) == Path::dda_tree);
    RC_ASSERT(chosen(switches, tree) == Path::dda_tree);
    RC_ASSERT(chosen(switches, tree + 128) == Path::ring);
  });
}

TEST_CASE("a table without DDA switches it off", "[cli]") {
  const std::vector<TableRow> rows = {row("ring/ll", 128, kMi)};
  CHECK(chosen(read_back(rcclx_environment(rows)), 1024) == Path::ring);
  CHECK(rcclx_environment({}).empty());
}

TEST_CASE("low precision is switched on, and where RCCLX would begin it elsewhere is said",
          "[cli]") {
  const std::vector<TableRow> can = {row("dda/tree", 128, 16 * kMi - 128),
                                     row("low_precision", 16 * kMi, 64 * kMi)};
  const std::string text = rcclx_environment(can);
  CHECK(notes(text).empty());
  CHECK(chosen(read_back(text), 32 * kMi) == Path::low_precision);
  const std::vector<TableRow> cannot = {row("dda/tree", 128, kMi - 128),
                                        row("low_precision", kMi, 64 * kMi)};
  CHECK(notes(rcclx_environment(cannot)).size() == 1);
}

TEST_CASE("what no thresholds can say is said", "[cli]") {
  const std::vector<TableRow> hole = {row("dda/flat", 128, 1024), row("ring/ll", 1152, 4096),
                                      row("dda/tree", 4224, kMi)};
  const auto said = notes(rcclx_environment(hole));
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("from 1152 to 4096 bytes") != std::string::npos);
  const std::vector<TableRow> reversed = {row("dda/tree", 128, 1024), row("dda/flat", 1152, kMi)};
  CHECK(notes(rcclx_environment(reversed)).size() == 1);
}

TEST_CASE("NCCL's example plugin gets its ten fields for what is an algorithm of NCCL's", "[cli]") {
  const std::vector<TableRow> rows = {
      row("ring/ll", 4, 1024, "nccl"), row("nvls", 1028, 4096, "nccl"),
      row("ring/simple_large", 4100, 8192, "rccl"), row("tree", 8196, kMi, "tally")};
  const std::string text = nccl_tuner_csv(rows);
  CHECK(text.find("\nallreduce,4,1024,ring,ll,-1,1,8,-1,-1\n") != std::string::npos);
  CHECK(text.find("\nallreduce,1028,4096,nvls,simple,-1,1,8,-1,-1\n") != std::string::npos);
  CHECK(text.find("\nallreduce,4100,8192,ring,simple,-1,1,8,-1,-1\n") != std::string::npos);
  CHECK(text.find("tree,") == text.find("tree, process"));  // a two-shot is not NCCL's tree
  CHECK(notes(text).size() == 2);                           // the header, and that
}

}  // namespace tally::cli
