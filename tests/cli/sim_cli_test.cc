// Goal: `tally sim` keeps its promises to scripts: exit statuses, what goes to which stream, one
// mode at a time, and documented fields; and a table that it tunes can be used.
// Method: the built program is run as a user would run it; its table is given to the communicator's
// chooser.

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/comm/chooser.h"
#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"
#include "verify/names.h"

namespace {

using tally::test::lines;
using tally::test::run_tally;
using tally::test::standard_output;
using tally::test::TemporaryFile;
using Json = nlohmann::ordered_json;

std::vector<Json> objects(const std::string& arguments) {
  std::vector<Json> all;
  for (const std::string& line : lines(standard_output(arguments))) {
    all.push_back(Json::parse(line));
  }
  return all;
}

const std::string kSweep = "sim --sweep -b 1K -e 16M -f 4 --algorithm flat,tree,ring ";
const std::string kTune = "sim --tune -b 1K -e 64M --algorithm flat,tree,ring ";

}  // namespace

TEST_CASE("sim: a prediction says its time, path, bound and closed form", "[cli]") {
  const std::string text = standard_output("sim --algorithm tree --bytes 8M");
  for (const char* part : {"all_reduce f32, 8 ranks on mi300x, 8388608 bytes", "time", "algbw",
                           "path", "bound by", "closed form"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(
      objects("sim --algorithm all --bytes 1M,2M --launch graph,process_per_gpu --json -").size() %
          4 ==
      0);
}

TEST_CASE("sim: one mode at a time, and no flag is ignored", "[cli]") {
  const std::pair<std::string, std::string> all[] = {
      {"sim --sweep --tune", "--tune: is a mode, as --sweep is"},
      {"sim --claims --model llama3-8b", "--claims: is a mode, as --model is"},
      {"sim --validate x --calibrate x", "--calibrate: is a mode, as --validate is"},
      {"sim --validate --ranks 4", "--validate: reads what was measured"},
      {"sim --calibrate -b 4", "takes no -b"},
      {"sim --claims --machine h100", "takes no --machine"},
      {"sim --sweep --max-error 0.1", "takes no --max-error"},
      {"sim --html x", "with --sweep or --tune or --validate"},
      {"sim --max-memory 1", "with --tune"},
      {"sim --tp 8", "with --model"},
      {"sim --model llama3-8b --bytes 4", "takes no --bytes"},
      {"sim --bytes 4 -b 4", "--bytes: stands instead"},
      {"sim -b 8 -e 4", "swap the two"},
      {"sim --bytes 0", "--bytes"},
      {"sim -f 1", "-f"},
      {"sim --machien h100", "did you mean '--machine'?"},
      {"sim --algorithm rign", "did you mean 'ring'?"},
      {"sim --library ncll", "did you mean 'nccl'?"},
      {"sim --launch grahp", "did you mean 'graph'?"},
      {"sim --wire e4m3fm", "did you mean 'e4m3fn'?"},
      {"sim --collective all_reduec", "did you mean 'all_reduce'?"},
      {"sim --collective all_to_all_v", "--collective all_to_all"},
      {"sim --dtype f23", "did you mean 'f32'?"},
      {"sim --ranks 0", "from 1 to"},
      {"sim --ranks 9 --nodes 2", "a multiple of --nodes"},
      {"sim --machine ,", "--machine"},
      {"sim --tune --max-error 2", "from 0 to 1"},
      {"sim --tune --max-error nan", "from 0 to 1"},
      {"sim --tune --format evn", "did you mean 'env'?"},
      {"sim --tune --format env --ranks 4,8", "--format"},
      {"sim --tune --format env --json -", "--format"},
      {"sim --model x --phase prefil", "did you mean 'prefill'?"},
      {"sim --json - --csv -", "standard output"},
      {"sim --json /no/such/folder/x.json", "cannot be written"},
      {"sim stray", "stray"},
  };
  for (const auto& [arguments, said] : all) {
    INFO(arguments);
    const auto result = run_tally(arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK(result.output.find(said) != std::string::npos);
    CHECK(result.output.find("hint: ") != std::string::npos);
    CHECK(standard_output(arguments).empty());
  }
}

TEST_CASE("sim: every field of JSON is in docs/sim.md, and CSV has the same", "[cli]") {
  std::ifstream file("docs/sim.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> kinds;
  for (const std::string& arguments :
       {std::string("sim --json -"), kSweep + "--json -", kTune + "--json -"}) {
    for (const Json& object : objects(arguments)) {
      for (const auto& [key, value] : object.items()) {
        INFO(key);
        CHECK(text.find("`" + key + "`") != std::string::npos);
      }
      kinds.insert(object.value("kind", "none"));
    }
  }
  CHECK(kinds == std::set<std::string>{"none", "point", "best", "crossover", "row", "front"});
  std::string header;
  const auto predicted = objects("sim --json -");
  for (const auto& [key, value] : predicted[0].items()) header += (header.empty() ? "" : ",") + key;
  CHECK(lines(standard_output("sim --csv -")).front() == header);
}

TEST_CASE("sim --sweep: the table, CSV and JSON have a row for each size and curve", "[cli]") {
  const std::string table = standard_output(kSweep);
  CHECK(table.find("# best from 1024 to ") != std::string::npos);
  CHECK(table.find("# crossover at ") != std::string::npos);
  std::size_t points = 0, best = 0;
  for (const Json& object : objects(kSweep + "--json -")) {
    if (object["kind"] != "point") continue;
    ++points;
    best += object["is_best"] == true ? 1 : 0;
  }
  CHECK(points == 3 * 8);
  CHECK(best == 8);
  CHECK(lines(standard_output(kSweep + "--csv -")).size() == 1 + points);
}

TEST_CASE("sim --sweep: the same command gives the same bytes", "[cli]") {
  for (const char* form : {"", "--json -", "--csv -", "--html -"}) {
    CHECK(standard_output(kSweep + form) == standard_output(kSweep + form));
  }
}

TEST_CASE("sim --sweep --html: the page has the command, with its words escaped", "[cli]") {
  TemporaryFile page("sweep.html");
  const auto result = run_tally(kSweep + "--html " + page.path());
  CHECK(result.status == 0);
  const std::string text = page.read();
  CHECK(text.starts_with("<!DOCTYPE html>"));
  CHECK(text.find("tally " + kSweep + "--html " + page.path()) != std::string::npos);
  const std::string hostile = standard_output("sim --sweep --version '<b>' --html -");
  CHECK(hostile.find("--version &#39;&lt;b&gt;&#39; --html -") != std::string::npos);  // quoted
  CHECK(hostile.find("<b>") == std::string::npos);
}

TEST_CASE("sim --tune: a communicator that is given the table chooses by it", "[cli]") {
  std::vector<tally::comm::AlgorithmRow> table;
  std::vector<Json> rows;
  for (const Json& object : objects(kTune + "--collective all_reduce --dtype bf16 --json -")) {
    if (object["kind"] != "row") continue;
    rows.push_back(object);
    table.push_back({*tally::model::parse_collective(object["collective"].get<std::string>()),
                     object["most_bytes"],
                     object["algorithm"],
                     {}});
  }
  REQUIRE(rows.size() > 1);
  const auto chooser =
      tally::comm::choose_by_table(table, tally::model::kNoWire, tally::model::Accumulate::element);
  for (const Json& row : rows) {
    for (const char* end : {"first_bytes", "most_bytes"}) {
      tally::comm::Request request;
      request.dtype = tally::model::Format::bf16;
      request.count = row[end].get<std::int64_t>() / request.dtype.bytes();
      const auto chosen = chooser->choose(request, row["ranks"]);
      REQUIRE(chosen);
      CHECK(chosen->algorithm == row["algorithm"].get<std::string>());
    }
  }
}

TEST_CASE("sim --tune: the fastest within an error and a memory is one command", "[cli]") {
  const std::string within =
      kTune + "--wire none,e4m3fn,e4m3fn:b128:f32 --max-error 0.01 --max-memory 64M ";
  const auto found = objects(within + "--json -");
  CHECK(!found.empty());
  for (const Json& object : found) {
    CHECK(object["error"] <= 0.01);
    CHECK(object["memory_bytes"] <= 64 << 20);
  }
  const auto none = run_tally(kTune + "--max-error 0");
  CHECK(none.status == 1);
  CHECK(none.output.find("nothing is within the limits") != std::string::npos);
}

TEST_CASE("sim --tune: the other forms are what their readers take", "[cli]") {
  CHECK(standard_output(kTune + "--format env").find("RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES=") !=
        std::string::npos);
  CHECK(standard_output(kTune + "--format nccl_tuner").starts_with("# collective,minBytes"));
}

TEST_CASE("sim: help names every mode", "[cli]") {
  const std::string help = standard_output("sim --help");
  for (const char* mode :
       {"--sweep", "--tune", "--validate", "--calibrate", "--model", "--claims"}) {
    CHECK(help.find(mode) != std::string::npos);
  }
  CHECK(run_tally("sim --help").status == 0);
}
