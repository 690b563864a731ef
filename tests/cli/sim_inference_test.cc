// Goal: answers about inference and claims are read by people and by programs, and the document
// shows what the commands print.
// Method: small answers are parsed again; docs/inference.md is written anew and compared. The
// hidden test case "[accept]" writes it: do that when the numbers are meant to change, and read the
// diff.

#include "cli/sim_inference.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/support/catch.h"

namespace {

using namespace tally;
using Json = nlohmann::json;

const char* const kDocument = TALLY_SOURCE_DIR "/docs/inference.md";

sim::Answer answer(const sim::Question& question) {
  const auto found = sim::infer(question);
  REQUIRE(found);
  return *found;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

sim::Claim small_claim() {
  return {"faster by",
          "a paper",
          "two sizes, \"small\"",
          "%",
          sim::Claimed::within,
          10,
          20,
          {{5, "one", "x"}, {30, "two", "y"}},
          "because"};
}

std::string read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// `document`, with what follows the shown command up to the end of its block replaced.
std::string with_output(const std::string& document, const std::string& arguments,
                        const std::string& output) {
  const std::string shown = "```\n$ ./tally sim " + arguments + "\n";
  const std::size_t at = document.find(shown);
  INFO(arguments);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + shown.size(), end = document.find("```\n", begin);
  return document.substr(0, begin) + output + document.substr(end);
}

/// The document as it should be.
std::string document_of_now() {
  std::ostringstream decode, claims;
  const sim::Question question{.batch = 8};
  cli::inference_table(decode, question, answer(question));
  const auto all = sim::claims();
  REQUIRE(all);
  cli::claims_table(claims, *all);
  return with_output(with_output(read(kDocument),
                                 "--model llama3-70b --tp 8 --phase decode --batch 8 --context "
                                 "2048 --library rccl --launch graph",
                                 decode.str()),
                     "--claims", claims.str());
}

}  // namespace

TEST_CASE("the document shows what the commands print", "[cli]") {
  CHECK(document_of_now() == read(kDocument));
}

TEST_CASE("write the document anew", "[.accept]") {
  const std::string document = document_of_now();
  std::ofstream(kDocument) << document;
}

TEST_CASE("a block that differs in one digit is not what is printed", "[cli]") {
  const std::string document = "a\n```\n$ ./tally sim --claims\n1\n```\nb\n";
  CHECK(with_output(document, "--claims", "1\n") == document);
  CHECK(with_output(document, "--claims", "2\n") == "a\n```\n$ ./tally sim --claims\n2\n```\nb\n");
}

TEST_CASE("inference: an object on a line, whose parts add up to its time", "[cli]") {
  std::ostringstream out;
  const sim::Question question{.model = "deepseek-v3", .batch = 4};
  cli::inference_json(out, question, answer(question));
  REQUIRE(lines(out.str()).size() == 1);
  const Json object = Json::parse(out.str());
  const Json& parts = object["parts"];
  const auto all = std::accumulate(
      parts.begin(), parts.end(), sim::Picos{}, [](sim::Picos sum, const Json& part) {
        return sum +
               part["times"].get<int>() * sim::from_nanos(part["each_us"].get<double>() * 1e3);
      });
  CHECK(all.micros() == object["time_us"]);
  CHECK(object["fits"] == true);
  CHECK(object["weights"] == "bf16");
}

TEST_CASE("inference: CSV has the object's fields but the parts, and its header once", "[cli]") {
  std::ostringstream csv, json;
  const sim::Question question;
  cli::inference_csv(csv, question, answer(question), true);
  cli::inference_csv(csv, question, answer(question), false);
  cli::inference_json(json, question, answer(question));
  const auto rows = lines(csv.str());
  REQUIRE(rows.size() == 3);
  CHECK(rows[1] == rows[2]);
  std::string header;
  const auto object = nlohmann::ordered_json::parse(json.str());
  for (const auto& [key, value] : object.items()) {
    if (key != "parts") header += (header.empty() ? "" : ",") + key;
  }
  CHECK(rows[0] == header);
  CHECK(std::count(rows[1].begin(), rows[1].end(), ',') ==
        std::count(header.begin(), header.end(), ','));
}

TEST_CASE("inference: what does not fit is said in the table and in JSON", "[cli]") {
  const sim::Question large{.model = "llama3-405b", .tp = 2}, small{.model = "llama3-8b"};
  std::ostringstream table, json;
  cli::inference_table(table, large, answer(large));
  CHECK(table.str().find("DOES NOT FIT") != std::string::npos);
  cli::inference_json(json, large, answer(large));
  CHECK(Json::parse(json.str())["fits"] == false);
  table.str("");
  cli::inference_table(table, small, answer(small));
  CHECK(table.str().find("DOES NOT FIT") == std::string::npos);
}

TEST_CASE("claims: JSON has every sample, CSV a row each, the table what differs and why",
          "[cli]") {
  const std::vector<sim::Claim> claims = {small_claim(), small_claim()};
  std::ostringstream json, csv, table;
  cli::claims_json(json, claims);
  REQUIRE(lines(json.str()).size() == 2);
  const Json object = Json::parse(lines(json.str())[0]);
  CHECK(object["samples"].size() == 2);
  CHECK(object["differs_by"] == -5);
  CHECK(object["nearest"] == 5);
  cli::claims_csv(csv, claims);
  CHECK(lines(csv.str()).size() == 3);
  CHECK(csv.str().find("\"two sizes, \"\"small\"\"\"") != std::string::npos);
  cli::claims_table(table, claims);
  CHECK(table.str().find("10..20 %") != std::string::npos);
  CHECK(table.str().find("-5\n") != std::string::npos);
  CHECK(table.str().find("why because") != std::string::npos);
  for (const std::string& line : lines(table.str())) CHECK(line.size() <= 110);
}
