// Goal: `tally study` keeps its promises to scripts: exit statuses, what goes to which stream, and
// results that other programs can read and repeat.
// Method: the built program is run as a user would run it.

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"

namespace {

using tally::test::lines;
using tally::test::run_command;
using tally::test::run_tally;
using tally::test::standard_output;
using tally::test::TemporaryFile;
using Json = nlohmann::json;

const std::string kSmall = "study --count 1000 --ranks 2,3 --wire none,e4m3fn --input normal ";
const std::string kTensor = "tests/data/smollm2_135m_layer11_mlp_down.npy";

const std::vector<std::string> kColumns = {"input",
                                           "dtype",
                                           "wire",
                                           "algorithm",
                                           "ranks",
                                           "accumulate",
                                           "elements",
                                           "max_abs_err",
                                           "mean_abs_err",
                                           "rms_err",
                                           "max_rel_err",
                                           "mean_rel_err",
                                           "rms_rel_err",
                                           "sqnr_db",
                                           "bias",
                                           "saturated",
                                           "flushed",
                                           "nan",
                                           "infinite",
                                           "max_err_over_bound",
                                           "wire_bytes_per_element"};

}  // namespace

TEST_CASE("study: 0 and a table with a row for each cell", "[cli]") {
  const auto result = run_tally(kSmall);
  CHECK(result.status == 0);
  CHECK(lines(result.output).size() == 1 + 2 * 2 * 3);
  CHECK(result.output.find("SQNR dB") != std::string::npos);
}

TEST_CASE("study: what stands in the documents runs, with no error above its bound", "[cli]") {
  const std::string command = "study --input " + kTensor +
                              " --wire e4m3fnuz,e4m3fn,e4m3fn:b128:f32 --algorithm flat,tree,ring"
                              " --ranks 2,4,8 --json -";
  CHECK(run_tally(command).status == 0);
  const auto rows = lines(standard_output(command));
  REQUIRE(rows.size() == 27);
  for (const std::string& row : rows) {
    const Json object = Json::parse(row);
    CHECK(object["input"] == kTensor);
    CHECK(object["elements"] == 6912);
    CHECK(object["max_err_over_bound"] <= 1);
  }
}

TEST_CASE("study: --json - is JSON lines and nothing else, with the documented fields", "[cli]") {
  const auto rows = lines(standard_output(kSmall + "--json -"));
  REQUIRE(rows.size() == 12);
  for (const std::string& row : rows) {
    const Json object = Json::parse(row);
    CHECK(object.size() == kColumns.size());
    for (const std::string& key : kColumns) CHECK(object.contains(key));
    CHECK(object["elements"] == 1000);
    CHECK(object["accumulate"] == (object["wire"] == "none" ? "element" : "f32"));
    CHECK(object["sqnr_db"] > 20);
  }
}

TEST_CASE("study: --csv - has the same columns and numbers", "[cli]") {
  const auto rows = lines(standard_output(kSmall + "--csv -"));
  const auto objects = lines(standard_output(kSmall + "--json -"));
  REQUIRE(rows.size() == objects.size() + 1);
  std::string header;
  for (const std::string& key : kColumns) header += (header.empty() ? "" : ",") + key;
  CHECK(rows[0] == header);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto object = nlohmann::ordered_json::parse(objects[i]);
    std::string row;
    for (const auto& [key, value] : object.items()) {
      row +=
          (row.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    CHECK(rows[i + 1] == row);
  }
}

TEST_CASE("study: what is not finite is null in JSON and empty in CSV", "[cli]") {
  const std::string exact = "study --input order_free --wire none --algorithm flat --count 100 ";
  CHECK(Json::parse(standard_output(exact + "--json -"))["sqnr_db"].is_null());
  CHECK(lines(standard_output(exact + "--csv -")).back().find(",,") != std::string::npos);
  CHECK(standard_output(exact).find("inf") != std::string::npos);
}

TEST_CASE("study: the same seed gives the same bytes on one core and on all", "[cli]") {
  const std::string arguments =
      "study --count 200000 --ranks 4 --wire none,e4m3fn,e4m3fn:b128:f32 --input normal,outliers "
      "--json - ";
  const std::string all = standard_output(arguments);
  CHECK(lines(all).size() == 18);
  CHECK(standard_output(arguments) == all);
  CHECK(run_command("taskset -c 0 " TALLY_PROGRAM " " + arguments).output == all);
  CHECK(standard_output(arguments + "--seed 1") == all);
  CHECK(standard_output(arguments + "--seed 2") != all);
}

TEST_CASE("study: files take JSON and CSV beside the table", "[cli]") {
  TemporaryFile json("study.json"), csv("study.csv");
  const auto result = run_tally(kSmall + "--json " + json.path() + " --csv " + csv.path());
  CHECK(result.status == 0);
  CHECK(result.output.find("SQNR dB") != std::string::npos);
  CHECK(json.read() == standard_output(kSmall + "--json -"));
  CHECK(csv.read() == standard_output(kSmall + "--csv -"));
}

TEST_CASE("study: 2 for a bad command line, with what and a hint, and nothing on stdout", "[cli]") {
  const std::pair<std::string, std::string> all[] = {
      {"study --wrie e4m3fn", "did you mean '--wire'?"},
      {"study --wire e4m3fm", "did you mean 'e4m3fn'?"},
      {"study --algorithm rign", "did you mean 'ring'?"},
      {"study --input nromal", "did you mean 'normal'?"},
      {"study --input missing.npy", "missing.npy"},
      {"study --dtype bf61", "did you mean 'bf16'?"},
      {"study --accumulate f23", "did you mean 'f32'?"},
      {"study --accumulate element --wire e4m3fn", "--accumulate"},
      {"study --accumulate f32 --wire none --algorithm ring", "--accumulate"},
      {"study --ranks 0", "from 1 to 64"},
      {"study --ranks 9 --input " + kTensor, "8 rows"},
      {"study --count 7000 --input " + kTensor, "6912 elements"},
      {"study --count x", "'x'"},
      {"study --seed -1", "--seed"},
      {"study --json - --csv -", "standard output"},
      {"study --count 1 --json /no/such/folder/x.json", "cannot be written"},
      {"study stray", "stray"},
      {"study --json", "tally study --help"},
  };
  for (const auto& [arguments, said] : all) {
    INFO(arguments);
    const auto result = run_tally(arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK(result.output.find(said) != std::string::npos);
    CHECK(standard_output(arguments).empty());
  }
}

TEST_CASE("study: help says what the columns are", "[cli]") {
  const std::string help = standard_output("study --help");
  for (const std::string& key : kColumns) {
    if (key == "input" || key == "elements") continue;
    INFO(key);
    CHECK(help.find(key) != std::string::npos);
  }
  CHECK(help.find("null") != std::string::npos);
  CHECK(run_tally("study --help").status == 0);
}
