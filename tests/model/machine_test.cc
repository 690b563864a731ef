// Goal: --machine takes a name or any of the files, and says what is wrong with what it does not.
// Method: write each kind of file; bounds of nodes.

#include "model/machine.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model/machine_presets.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

namespace fs = std::filesystem;

// A file that goes with the object.
class File {
 public:
  explicit File(std::string_view text)
      : path_(fs::temp_directory_path() / ("tally_machine_" + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~File() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Error error_of(const std::string& name, int nodes = 0) {
  const auto machine = find_machine(name, nodes);
  return machine ? Error{} : machine.error();
}

}  // namespace

TEST_CASE("the kind of a file is read off its text", "[model]") {
  const std::string data = TALLY_SOURCE_DIR "/tests/data/";
  REQUIRE(find_machine(data + "rocm_smi_showtopo_xgmi.txt")->topology.gpus_per_node == 8);
  REQUIRE(find_machine(data + "nvidia_smi_topo_nvswitch.txt", 4)->topology.nodes == 4);
  REQUIRE(find_machine(data + "nccl_topology_two_switches.xml", 3)->topology.nodes == 3);
  const File json(preset_texts().front().text);
  REQUIRE(find_machine(json.path())->name == "mi300x");
  const File other("GPU\n"), empty("");
  REQUIRE(error_of(other.path()).what == "no machine that is known");
  REQUIRE(error_of(empty.path()).what == "no machine that is known");
}

TEST_CASE("an unknown machine has a hint", "[model]") {
  const Error error = error_of("mi300");
  REQUIRE(error.where == "--machine");
  REQUIRE(error.what == "no machine and no file 'mi300'");
  REQUIRE(error.hint == "did you mean 'mi300x'?");
  REQUIRE(error_of("/").what == "no machine and no file '/'");
}

TEST_CASE("a machine has as many nodes as are asked for, within bounds", "[model]") {
  REQUIRE(error_of("h100", -1).hint == "1..65536");
  REQUIRE(error_of("h100", 65537).hint == "1..65536");
  REQUIRE(find_machine("h100", 2048)->topology.vertices.size() == 2048 * (8 + 8 + 1) + 1);
  const File alone("<system><cpu><pci busid=\"1\"><gpu sm=\"90\"/></pci></cpu></system>");
  REQUIRE(find_machine(alone.path(), 1));
  REQUIRE(error_of(alone.path(), 2).what == alone.path() + " has no network between nodes");
}

TEST_CASE("evidence is named as files name it", "[model]") {
  REQUIRE(name(Evidence::measured) == "measured");
  REQUIRE(name(Evidence::assumed) == "assumed");
}

}  // namespace tally::model
