// Goal: `tally sim --validate` and `--calibrate` hand out what they document, and tell of bad files
// where, what and a hint.
// Method: the built program on the measurements in docs/ and on files that are wrong.

#include <nlohmann/json.hpp>

#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"

namespace {

using tally::test::lines;
using tally::test::run_tally;
using tally::test::standard_output;
using Json = nlohmann::json;

const std::string kOurs = TALLY_SOURCE_DIR "/docs/measurements/h200_x2";
const std::string kPublic = TALLY_SOURCE_DIR "/docs/measurements/public";

std::string written(const char* name, const std::string& text) {
  tally::test::TemporaryFile file(name);
  file.write(text);
  return run_tally("sim --validate " + file.path()).output;
}

}  // namespace

TEST_CASE("sim --validate: an object for each table, and a last one over all rows", "[cli]") {
  const auto text = lines(standard_output("sim --validate " + kOurs + " " + kPublic + " --json -"));
  REQUIRE(text.size() == 46);
  std::size_t rows = 0;
  for (const std::string& line : text) {
    const Json object = Json::parse(line);
    CHECK(object.size() == 5);
    CHECK(object["median_rel_err"] <= object["p90_rel_err"]);
    CHECK(object.contains("bias"));
    if (object["file"] == "all") {
      CHECK(object["rows"] == rows);
    } else {
      rows += object["rows"].get<std::size_t>();
    }
  }
  CHECK(Json::parse(text.back())["file"] == "all");
  const auto one =
      lines(standard_output("sim --validate " + kOurs + "/all_reduce_ring.csv --csv -"));
  CHECK(one.size() == 3);  // a header, the table and all
}

TEST_CASE("sim --validate: the page draws every point", "[cli]") {
  const std::string page = standard_output("sim --validate " + kOurs + " --html -");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("all_reduce_nccl.csv") != std::string::npos);
}

TEST_CASE("sim --calibrate: every parameter, and what it rests on", "[cli]") {
  const Json json = Json::parse(standard_output("sim --calibrate " + kPublic + " --json -"));
  CHECK(json["made_by"].get<std::string>().find("sim --calibrate") != std::string::npos);
  for (const Json& parameter : json["parameters"]) {
    CHECK(parameter["low"] <= parameter["value"]);
    CHECK(parameter["value"] <= parameter["high"]);
    CHECK_FALSE(parameter["source"].get<std::string>().empty());
  }
}

TEST_CASE("sim: a table that is wrong is told of by file, line and hint", "[cli]") {
  const std::string header = "file,machine,nodes,ranks,collective,library,algorithm,wire,dtype\n";
  CHECK(written("a.csv", "file,machine\nx,y\n").find("no column 'nodes'") != std::string::npos);
  const std::string unknown =
      written("b.csv", header + "x.csv,mi30x,1,8,all_reduce,rccl,auto,none,f32\n");
  CHECK(unknown.find(":2: ") != std::string::npos);
  CHECK(unknown.find("did you mean 'mi300x'?") != std::string::npos);
  const auto missing = run_tally("sim --validate /nowhere");
  CHECK(missing.status == 2);
  CHECK(missing.output.find("hint: ") != std::string::npos);
}

TEST_CASE("sim: our own algorithms are simulated, phase by phase", "[cli]") {
  const std::string text = standard_output("sim --algorithm tree --bytes 8M");
  for (const char* phase : {"launch ", "stage ", "reduce ", "gather "}) {
    INFO(phase);
    CHECK(text.find(phase) != std::string::npos);
  }
  CHECK(standard_output("sim --nodes 64 --algorithm hierarchical --bytes 64M").find("exchange") !=
        std::string::npos);
}
