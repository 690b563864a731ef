// Goal: `tally verify` has every collective and operation, and says which subjects are not here.
// Method: the built program is run as a user would run it, where there is no GPU and where there
// is.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"

namespace {

using tally::test::lines;
using tally::test::standard_output;
using Json = nlohmann::json;

tally::test::CommandResult run(const std::string& arguments) {
  return tally::test::run_tally(arguments);
}

}  // namespace

TEST_CASE("3 for a subject that is not here", "[cli]") {
  // No machine has so many GPUs, and no library is called so.
  const std::pair<const char*, const char*> all[] = {{"gpu", "--devices 1023"},
                                                     {"gpu", "--devices 1023 --time"},
                                                     {"gpu", "--devices 1023 --conversions"},
                                                     {"nccl", "--devices 1023"},
                                                     {"nccl=nothing", ""},
                                                     {"nccl=nothing", "--time"},
                                                     {"mpi", ""}};
  for (const auto& [subject, flags] : all) {
    const std::string arguments = "verify --subject " + std::string(subject) + " " + flags;
    INFO(arguments);
    const auto result = run(arguments);
    CHECK(result.status == 3);
    CHECK(result.output.find("not available here: ") != std::string::npos);
    CHECK(standard_output(arguments).empty());
  }
}

TEST_CASE("2 for what only a GPU can be asked, of the emulator", "[cli]") {
  for (const char* flag : {"--time", "--conversions"}) {
    const auto result = run("verify " + std::string(flag));
    CHECK(result.status == 2);
    CHECK(result.output.find("--subject gpu") != std::string::npos);
  }
}

TEST_CASE("2 for what --time would ignore, or cannot time", "[cli]") {
  const std::pair<const char*, const char*> all[] = {
      {"--op max", "takes no --op"},
      {"--ranks 2", "takes no --ranks"},
      {"--graph", "takes no --graph"},
      {"--junit x.xml", "takes no --junit"},
      {"--collective all_to_all_v", "does not time all_to_all_v"},
      {"--dtype int8", "int8 does not go with all_reduce"},
  };
  for (const auto& [flags, what] : all) {
    const auto result = run("verify --subject gpu --time " + std::string(flags));
    INFO(flags);
    CHECK(result.status == 2);
    CHECK(result.output.find(what) != std::string::npos);
  }
}

TEST_CASE("--collective all has each, and the table says which", "[cli]") {
  const auto rows =
      lines(standard_output("verify --collective all --ranks 2 --count 9 --dtype bf16 --wire none "
                            "--input normal --placement out_of_place"));
  REQUIRE(rows.size() == 3 + 4 + 2);  // ring, flat and tree; the others flat
  for (const char* collective :
       {" all_reduce ", " reduce_scatter ", " all_gather ", " all_to_all ", " all_to_all_v "}) {
    const auto has_it = [&](const std::string& row) {
      return row.find(collective) != std::string::npos;
    };
    CHECK(std::count_if(rows.begin(), rows.end(), has_it) ==
          (std::string(collective) == " all_reduce " ? 3 : 1));
  }
}

TEST_CASE("--factor is premul_sum's, and is in the case", "[cli]") {
  const std::string small =
      "verify --ranks 2 --count 9 --dtype bf16 --wire none --algorithm flat --placement in_place "
      "--json - --op ";
  const auto case_of = [&](const std::string& op) {
    return std::string(Json::parse(lines(standard_output(small + op)).front())["case"]);
  };
  CHECK(case_of("premul_sum --factor 0.25").find("/premul_sum:0.25/") != std::string::npos);
  CHECK(case_of("premul_sum").find("/premul_sum:0.3/") != std::string::npos);
  CHECK(case_of("avg_premul").find("/avg_premul/") != std::string::npos);
  for (const char* wrong : {"sum --factor 0.25", "premul_sum --factor x", "premul_sum --factor inf",
                            "premul_sum --factor nan"}) {
    INFO(wrong);
    CHECK(run(small + wrong).status == 2);
    CHECK(run(small + wrong).output.find("--factor") != std::string::npos);
  }
}

TEST_CASE("a case for a library is not run by our kernels, and says so", "[cli]") {
  const auto result =
      run("verify --replay all_reduce/auto/bf16/none/sum/element/ranks=2/counts=9/out_of_place/"
          "launch=2x64w64/seed=1/interleavings=1/memory=strong/fault=none/input=normal");
  CHECK(result.status == 3);
  CHECK(result.output.find("1 skipped") != std::string::npos);
}
