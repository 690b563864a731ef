// Goal: the program keeps its promises to scripts: exit statuses, what goes to which stream, and
// results that other programs can read.
// Method: the built program is run as a user would run it.

#include <fstream>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <regex>

#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"

namespace {

using tally::test::lines;
using tally::test::standard_output;
using tally::test::TemporaryFile;
using Json = nlohmann::json;

tally::test::CommandResult run(const std::string& arguments) {
  return tally::test::run_tally(arguments);
}

const std::string kSmall = "verify --count 100,1000 --ranks 2,3 --dtype bf16 --input normal ";

}  // namespace

TEST_CASE("0 when all held, with a row for each case and a summary", "[cli]") {
  const auto result = run(kSmall);
  CHECK(result.status == 0);
  const auto rows = lines(result.output);
  // 3 algorithms, 7 wires, 2 counts, 2 rank counts, 3 placements; a header and a summary.
  CHECK(rows.size() == 252 + 2);
  CHECK(rows.back().find("252 cases: 252 ok, 0 mismatch, 0 hang, 0 skipped") != std::string::npos);
}

TEST_CASE("1 when a fault is planted, and the printed replay line shows it again", "[cli]") {
  const auto result = run(kSmall + "--plant tail_dropped --wire none");
  CHECK(result.status == 1);
  const std::size_t replay = result.output.find("replay: ./tally ");
  REQUIRE(replay != std::string::npos);
  const std::size_t begin = replay + 16, end = result.output.find('\n', begin);
  const auto again = run(result.output.substr(begin, end - begin));
  CHECK(again.status == 1);
  const auto reason = [](const std::string& output) {
    const std::size_t at = output.find("call ");
    return output.substr(at, output.find('\n', at) - at);
  };
  CHECK(reason(again.output) == reason(result.output));
  CHECK(reason(result.output).find("never written") != std::string::npos);
}

TEST_CASE("cases that a fault is not planted in are skipped, counted and say why", "[cli]") {
  const auto result = run(kSmall + "--plant rank_lost --json -");
  CHECK(result.status == 1);
  const Json summary = Json::parse(lines(result.output).back());
  CHECK(summary["skipped"] == 228);
  CHECK(summary["mismatch"] == 24);
  CHECK(result.output.find("not planted in a kernel for this case") != std::string::npos);
}

TEST_CASE("a race is shrunk and drawn, and its schedule shows it again", "[cli]") {
  const std::string arguments =
      "verify --ranks 3 --algorithm flat --dtype bf16 --wire none --count 100 --input order_free "
      "--placement out_of_place --plant missing_barrier --memory gfx942 ";
  const std::string output = standard_output(arguments);
  const std::size_t shrunk = output.find("shrunk: ./tally ");
  REQUIRE(shrunk != std::string::npos);
  const std::string after = output.substr(shrunk + 16);
  CHECK(after.find("ranks=2/counts=1/out_of_place/launch=1x1w64/") < after.find('\n'));
  CHECK(after.find("nothing orders 1 before 2") != std::string::npos);
  const auto from_race = [](const std::string& text) {
    return text.substr(text.find("race on"), text.find("# 1 cases") - text.find("race on"));
  };
  const auto again = run(after.substr(0, after.find('\n')));
  CHECK(again.status == 1);
  CHECK(from_race(again.output) == from_race(after));

  const Json object = Json::parse(lines(standard_output(arguments + "--json -")).front());
  CHECK(object["verdict"] == "mismatch");
  CHECK(object["caught_by"] == "race");
  CHECK(std::string(object["reason"]).starts_with("race on scratch of rank"));
  CHECK(std::string(object["shrunk"]).find("/schedule=") != std::string::npos);
  CHECK(after.find(std::string(object["chart"])) != std::string::npos);
}

TEST_CASE("interleavings are counted, and a healthy kernel holds in all of them", "[cli]") {
  const std::string output = standard_output(
      "verify --ranks 2 --algorithm flat --dtype bf16 --wire none --count 9 --input normal "
      "--placement out_of_place --geometry 1x4 --memory gfx942 --interleavings 300");
  CHECK(output.find("1 cases: 1 ok, 0 mismatch, 0 hang, 0 skipped; 300 interleavings, ") !=
        std::string::npos);
}

TEST_CASE("2 for a bad command line, with what and a hint", "[cli]") {
  const std::pair<std::string, std::string> all[] = {
      {"", "usage"},
      {"verfiy", "did you mean 'verify'?"},
      {"verify --dtpe f32", "did you mean '--dtype'?"},
      {"verify --dtype bf61", "did you mean 'bf16'?"},
      {"verify --wire e4m3fm", "did you mean 'e4m3fn'?"},
      {"verify --algorithm treee", "did you mean 'tree'?"},
      {"verify --collective broadcast", "one of: all_reduce"},
      {"verify --op maxx", "did you mean 'max'?"},
      {"verify --op max --wire e4m3fn", "does not go with wire"},
      {"verify --algorithm ring --wire none --accumulate f32", "does not go with the ring"},
      {"verify --ranks 0", "from 1 to 16"},
      {"verify --ranks 17", "from 1 to 16"},
      {"verify --ranks 2,x", "'x'"},
      {"verify --count -1", "--count"},
      {"verify --count 99999999999999999999", "--count"},
      {"verify -b 1M -e 1K", "larger than -e"},
      {"verify -f 1", "-f"},
      {"verify --accumulate element --wire e4m3fn", "accumulates in f32"},
      {"verify --geometry 2", "BLOCKSxTHREADS"},
      {"verify --shard 3/2", "I/N"},
      {"verify --memory gfx943", "did you mean 'gfx942'?"},
      {"verify --memory ptx", "not modelled yet"},
      {"verify --interleavings 0", "--interleavings"},
      {"verify --plant tail_droped", "did you mean 'tail_dropped'?"},
      {"verify --subject emulater", "did you mean 'emulator'?"},
      {"verify --replay nonsense", "replay"},
      {"verify --json - --csv -", "standard output"},
      {"verify --count 1 --json /no/such/folder/x.json", "cannot be written"},
      {"verify --json", "--json"},
      {"verify stray", "stray"},
      {"formats e4m3", "did you mean"},
      {"formats f32", "at most 16 bits"},
      {"list all", "takes no argument"},
  };
  for (const auto& [arguments, said] : all) {
    INFO(arguments);
    const auto result = run(arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    CHECK(result.output.find(said) != std::string::npos);
    CHECK(standard_output(arguments).empty());
  }
}

TEST_CASE("2 for a broken .npy, naming the file", "[cli]") {
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const auto npy = [](const std::string& header, std::size_t data) {
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
           std::string(data, '\0');
  };
  const std::pair<std::string, std::string> all[] = {
      {npy(f4 + "(8, 10)}", 319), "truncated"},
      {npy("{'descr': '<i4', 'fortran_order': False, 'shape': (8, 10)}", 320), "dtype"},
      {npy(f4 + "(80,)}", 320), "dimensions"},
      {npy(f4 + "(999999999999, 999999999999)}", 320), "shape"},
      {npy("{'descr': 7}", 320), "header"},
      {"hello", "not a .npy"},
  };
  for (const auto& [bytes, said] : all) {
    INFO(said);
    TemporaryFile file("broken.npy");
    file.write(bytes);
    const auto result = run("verify --input " + file.path());
    CHECK(result.status == 2);
    CHECK(result.output.find(file.path()) != std::string::npos);
    CHECK(result.output.find(said) != std::string::npos);
  }
  TemporaryFile whole("whole.npy");
  whole.write(npy(f4 + "(8, 10)}", 320));
  CHECK(run("verify --input " + whole.path()).status == 0);
  CHECK(run("verify --ranks 9 --input " + whole.path()).status == 2);
  CHECK(run("verify --count 11 --input " + whole.path()).status == 2);
}

TEST_CASE("--json - is JSON lines and nothing else, with the documented fields", "[cli]") {
  const auto rows = lines(standard_output(kSmall + "--json -"));
  REQUIRE(rows.size() == 253);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const Json object = Json::parse(rows[i]);
    for (const char* key : {"case",
                            "collective",
                            "algorithm",
                            "ranks",
                            "dtype",
                            "wire",
                            "op",
                            "count",
                            "size_bytes",
                            "in_place",
                            "input",
                            "seed",
                            "calls",
                            "judge",
                            "wrong",
                            "max_abs_err",
                            "max_err_over_bound",
                            "time_us",
                            "verdict",
                            "reason",
                            "caught_by",
                            "interleavings"}) {
      CHECK(object.contains(key));
    }
    CHECK(object["judge"] == "exact");
    CHECK(object["verdict"] == "ok");
  }
  const Json summary = Json::parse(rows.back());
  for (const char* key : {"cases", "ok", "mismatch", "hang", "skipped", "elements", "seconds"}) {
    CHECK(summary.contains(key));
  }
}

TEST_CASE("the same seed gives byte-identical results, another seed other inputs", "[cli]") {
  const auto body = [](const std::string& arguments) {
    auto rows = lines(standard_output(kSmall + arguments + " --csv -"));
    return rows;
  };
  CHECK(body("--seed 4") == body("--seed 4"));
  const std::string searched = "--wire none --plant no_exit_barrier --interleavings 20";
  CHECK(body(searched) == body(searched));
  CHECK(body("--seed 4") != body("--seed 5"));
}

TEST_CASE("files take JSON, CSV and JUnit beside the table", "[cli]") {
  TemporaryFile json("x.json"), csv("x.csv"), junit("x.xml");
  const auto result =
      run(kSmall + "--plant rank_lost --algorithm flat,tree --wire none,e4m3fn --json " +
          json.path() + " --csv " + csv.path() + " --junit " + junit.path());
  CHECK(result.status == 1);
  CHECK(result.output.find("max err/bound") != std::string::npos);
  CHECK(lines(json.read()).size() == 49);
  const auto rows = lines(csv.read());
  REQUIRE(rows.size() == 49);
  CHECK(rows[0].starts_with("case,collective,algorithm,ranks,dtype,wire,op,"));
  pugi::xml_document document;
  REQUIRE(document.load_string(junit.read().c_str()));
  const auto suite = document.child("testsuite");
  CHECK(suite.attribute("tests").as_int() == 48);
  CHECK(suite.attribute("failures").as_int() == 24);
  CHECK(suite.attribute("skipped").as_int() == 24);
  CHECK(std::distance(suite.begin(), suite.end()) == 48);
}

TEST_CASE("sizes in bytes count elements of each type", "[cli]") {
  const auto output = standard_output(
      "verify -b 8 -e 1K -f 4 --ranks 2 --dtype f32,f16 --wire none --input order_free --json -");
  std::map<std::pair<std::string, std::int64_t>, int> seen;
  for (const std::string& line : lines(output)) {
    const Json object = Json::parse(line);
    if (object.contains("case")) ++seen[{object["dtype"], object["count"]}];
  }
  CHECK(seen.size() == 8);
  CHECK(seen[{"f32", 128}] == 9);
  CHECK(seen[{"f16", 256}] == 9);
}

TEST_CASE("help is on standard output and lists what there is", "[cli]") {
  CHECK(run("--help").status == 0);
  CHECK(standard_output("--help").find("verify") != std::string::npos);
  CHECK(run("verify --help").status == 0);
  CHECK(standard_output("verify --help").find("--wire") != std::string::npos);
  CHECK(standard_output("formats --help").find("usage") != std::string::npos);
  CHECK(standard_output("list").find("e4m3fnuz:sat") != std::string::npos);
}

TEST_CASE("a replay is a whole case: nothing else is typed, nothing is empty or unknown", "[cli]") {
  const std::string head =
      "all_reduce/flat/bf16/none/sum/element/ranks=2/counts=9/out_of_place/launch=1x1w64/seed=1/"
      "interleavings=1/memory=gfx942/fault=";
  const std::string fits = head + "none/schedule=usual/input=order_free";
  CHECK(run("verify --replay " + fits).status == 0);
  CHECK(run("verify --replay " + fits + " --ranks 4").status == 2);
  CHECK(run("verify --replay " + fits + " --graph").status == 2);
  CHECK(run("verify --replay ''").status == 2);
  CHECK(run("verify --plant ''").status == 2);
  const auto unknown = run("verify --replay " + head + "no_relase/input=order_free");
  CHECK(unknown.status == 2);
  CHECK(unknown.output.find("no_release") != std::string::npos);
  // Choices that are never made: the case is not what failed.
  const auto stale = run("verify --replay " + head + "none/schedule=999999:1/input=order_free");
  CHECK(stale.status == 3);
  CHECK(stale.output.find("does not make") != std::string::npos);
}

TEST_CASE("clocks for more threads than they can watch are refused, not tried", "[cli]") {
  const auto result =
      run("verify --algorithm flat --count 1 --ranks 16 --dtype f32 --wire none --op sum --input "
          "normal "
          "--placement in_place --memory gfx942 --geometry 304x1024");
  CHECK(result.status == 3);
  CHECK(result.output.find("8192 threads") != std::string::npos);
}

TEST_CASE("faults shows those that are named, and knows no others", "[cli]") {
  const auto shown = lines(standard_output("faults no_release 'flat none' --json -"));
  REQUIRE(shown.size() == 2);
  const Json healthy = Json::parse(shown[0]), fault = Json::parse(shown[1]);
  CHECK(healthy["verdict"] == "clean");
  CHECK(healthy["caught_by"] == nullptr);
  CHECK(fault["fault"] == "no_release");
  CHECK(fault["report"] == "vllm-project/vllm#8404");
  CHECK(fault["caught_by"] == "race");
  CHECK(fault["verdict"] == "caught");
  CHECK(fault["interleavings"] >= 1);
  const auto unknown = run("faults no_relase");
  CHECK(unknown.status == 2);
  CHECK(unknown.output.find("no_release") != std::string::npos);
}

TEST_CASE("a format's codes are listed with fields and value", "[cli]") {
  const auto codes = lines(standard_output("formats e4m3fnuz"));
  REQUIRE(codes.size() == 256);
  CHECK(codes[0x80] == "0x80 = 1'0000'000 = nan");
  CHECK(codes[0x7F] == "0x7f = 0'1111'111 = 240");
}

TEST_CASE("the documents show what their commands print", "[cli]") {
  // The time is the one thing that differs from run to run.
  const auto without_seconds = [](const std::string& text) {
    return std::regex_replace(text, std::regex("in [0-9.]+ s\n"), "in T s\n");
  };
  const std::pair<const char*, int> documents[] = {{"/README.md", 8},
                                                   {"/docs/fp8_on_activations.md", 4}};
  for (const auto& [name, wanted] : documents) {
    std::ifstream file(std::string(TALLY_SOURCE_DIR) + name);
    const std::string document{std::istreambuf_iterator<char>(file), {}};
    int examples = 0;
    const std::string prompt = "```\n$ ./tally ";
    for (std::size_t at = document.find(prompt); at != std::string::npos;
         at = document.find(prompt, at + 1)) {
      const std::size_t command = at + prompt.size(), end = document.find('\n', command);
      const std::string shown = document.substr(end + 1, document.find("```", end) - end - 1);
      const std::string arguments = document.substr(command, end - command);
      CHECK(without_seconds(standard_output(arguments)) == without_seconds(shown));
      ++examples;
    }
    CHECK(examples == wanted);
  }
}
