// Goal: a machine's own file is read whole or refused with the place, the fault and a hint.
// Method: break a preset's JSON in one place at a time.

#include "model/machine_file.h"

#include <nlohmann/json.hpp>

#include "model/machine_presets.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::model {
namespace {

using Json = nlohmann::json;

Json preset_json(std::string_view name) {
  for (const PresetText& preset : preset_texts()) {
    if (preset.name == name) return Json::parse(preset.text);
  }
  return {};
}

// The error after one change of a preset: the value at the pointer is replaced.
Error after(std::string_view preset, const std::string& pointer, const Json& value) {
  Json json = preset_json(preset);
  json[Json::json_pointer(pointer)] = value;
  const auto file = parse_machine_file("m.json", json.dump());
  return file ? Error{} : file.error();
}

}  // namespace

TEST_CASE("what is wrong in a machine's file is named by its place", "[model]") {
  struct Fault {
    const char *preset, *pointer;
    Json value;
    const char *where, *what, *hint;
  };
  const std::string number = "not a number that is allowed here";
  const Fault faults[] = {
      {"h100", "/gpu/launch_ns/value", -1, "m.json: /gpu/launch_ns/value", number.c_str(),
       "at least 0, at most 1e18"},
      {"h100", "/gpu/launch_ns/value", "5", "m.json: /gpu/launch_ns/value", number.c_str(),
       "at least 0, at most 1e18"},
      {"h100", "/fabric/link_bytes_per_s/value", 0, "m.json: /fabric/link_bytes_per_s/value",
       number.c_str(), "more than 0, at most 1e18"},
      {"h100", "/fabric/link_bytes_per_s/value", 4.6e11, "m.json: /fabric/link_bytes_per_s",
       "faster than the link's peak", "at most link_peak_bytes_per_s"},
      {"h100", "/gpu/f8_flops/value", 1e300, "m.json: /gpu/f8_flops/value", number.c_str(),
       "more than 0, at most 1e18"},
      {"h100", "/gpu/f8_flops/evidence", "guessed", "m.json: /gpu/f8_flops/evidence",
       "unknown name 'guessed'", "one of: measured, quoted, fitted, assumed"},
      {"h100", "/gpu/f8_flops/source", "", "m.json: /gpu/f8_flops/source", "not a text", "\"...\""},
      {"h100", "/fabric/kind", "swich", "m.json: /fabric/kind", "unknown name 'swich'",
       "did you mean 'switch'?"},
      {"h100", "/fabric/gpus_per_node", 1025, "m.json: /fabric/gpus_per_node",
       "not a whole number that is allowed here", "1..1024"},
      {"h100", "/fabric/gpus_per_node", 2.5, "m.json: /fabric/gpus_per_node",
       "not a whole number that is allowed here", "1..1024"},
      {"h100", "/network/nics_per_node", 9, "m.json: /network/nics_per_node",
       "not a whole number that is allowed here", "1..8"},
      {"h100", "/gpu/lanch_ns", 5, "m.json: /gpu", "unknown member 'lanch_ns'",
       "did you mean 'launch_ns'?"},
      {"h100", "/gpu", 5, "m.json: /gpu", "not an object", "{\"name\": ...}"},
      {"g7e", "/fabric/switch_roots", Json::array({0, 1, 1}), "m.json: /fabric/switch_roots",
       "GPUs that cannot be shared out evenly", "a divisor of gpus_per_node, which is 8"},
      {"g7e", "/fabric/switch_roots", Json::array({0, 7}), "m.json: /fabric/switch_roots",
       "roots without a switch", "number them 0, 1, ..."},
      {"g7e", "/fabric/switch_roots", Json::array({0, -1}), "m.json: /fabric/switch_roots",
       "not a list of small whole numbers", "[0, 1]"},
  };
  for (const Fault& fault : faults) {
    CAPTURE(fault.pointer, fault.value.dump());
    const Error error = after(fault.preset, fault.pointer, fault.value);
    REQUIRE(error.where == fault.where);
    REQUIRE(error.what == fault.what);
    REQUIRE(error.hint == fault.hint);
  }
}

TEST_CASE("a machine's file needs each of its members", "[model]") {
  for (const char* preset : {"h100", "g7e"}) {
    const Json whole = preset_json(preset);
    const Json flat = whole.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      CAPTURE(pointer);
      const Json::json_pointer at(pointer);
      Json json = whole;
      if (!json.at(at.parent_pointer()).is_object()) continue;
      json.at(at.parent_pointer()).erase(at.back());
      const auto file = parse_machine_file("m.json", json.dump());
      REQUIRE(!file);
      REQUIRE(file.error().what == "no member '" + at.back() + "'");
    }
  }
}

TEST_CASE("text that is not JSON is refused with its line", "[model]") {
  const auto error = [](std::string_view text) {
    const auto file = parse_machine_file("m.json", text);
    return file ? Error{} : file.error();
  };
  REQUIRE(error("{\n\"name\": NaN}").where == "m.json:2");
  REQUIRE(error("").where == "m.json:1");
  REQUIRE(error("[]").where == "m.json");
  REQUIRE(error("{\"name\": 1e999}").what == "a number that no double holds");
  REQUIRE(!error(std::string(1 << 20, '[')).hint.empty());
}

}  // namespace tally::model
