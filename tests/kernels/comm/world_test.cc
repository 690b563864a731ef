// Goal: a process finds its place from what torchrun or mpirun says, or is told which variable is
// wrong.
// Method: environments as maps.

#include "kernels/comm/world.h"

#include <map>

#include "tests/support/catch.h"

namespace tally::comm {
namespace {

using Environment = std::map<std::string, std::string>;

model::Result<World> read(const Environment& environment) {
  return world_from_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  });
}

/// torchrun's, with one variable changed.
Environment torchrun(const std::string& name, const std::string& value) {
  Environment all = {{"RANK", "3"},
                     {"WORLD_SIZE", "8"},
                     {"LOCAL_RANK", "1"},
                     {"MASTER_ADDR", "node0"},
                     {"MASTER_PORT", "1234"}};
  all[name] = value;
  return all;
}

}  // namespace

TEST_CASE("torchrun's variables say the place", "[kernels]") {
  const auto world = read(torchrun("RANK", "3"));
  REQUIRE(world);
  REQUIRE(world->rank == 3);
  REQUIRE(world->size == 8);
  REQUIRE(world->local_rank == 1);
  REQUIRE(world->address == "node0");
  REQUIRE(world->port == 1234);
}

TEST_CASE("mpirun's variables say it where torchrun's do not", "[kernels]") {
  Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  const auto world = read(mpirun);
  REQUIRE(world);
  REQUIRE(world->rank == 1);
  REQUIRE(world->size == 2);
  REQUIRE(world->local_rank == 1);
  REQUIRE(world->address == "127.0.0.1");
  REQUIRE(world->port == 29500);
  mpirun.merge(torchrun("RANK", "3"));
  REQUIRE(read(mpirun)->rank == 3);
}

TEST_CASE("without a launcher the process is alone", "[kernels]") {
  const auto world = read({});
  REQUIRE(world);
  REQUIRE(world->rank == 0);
  REQUIRE(world->size == 1);
}

TEST_CASE("where torchrun's agent listens at the port, the next one is taken", "[kernels]") {
  REQUIRE(read(torchrun("TORCHELASTIC_USE_AGENT_STORE", "True"))->port == 1235);
  REQUIRE(read(torchrun("TORCHELASTIC_USE_AGENT_STORE", "False"))->port == 1234);
}

TEST_CASE("a wrong value is an error that names its variable", "[kernels]") {
  const std::pair<const char*, const char*> wrong[] = {
      {"RANK", "abc"},      {"RANK", "8"},
      {"RANK", "-1"},       {"RANK", ""},
      {"RANK", "1 "},       {"RANK", "99999999999999999999"},
      {"WORLD_SIZE", "0"},  {"WORLD_SIZE", "8x"},
      {"LOCAL_RANK", "-1"}, {"MASTER_PORT", "65536"},
      {"MASTER_PORT", "0"}, {"MASTER_PORT", "http"},
      {"MASTER_ADDR", ""},
  };
  for (const auto& [name, value] : wrong) {
    const auto world = read(torchrun(name, value));
    CAPTURE(name, value);
    REQUIRE_FALSE(world);
    REQUIRE(world.error().where == name);
    REQUIRE_FALSE(world.error().hint.empty());
  }
}

TEST_CASE("a rank without a size, and a size without a rank, are errors", "[kernels]") {
  REQUIRE(read({{"RANK", "0"}}).error().where == "WORLD_SIZE");
  REQUIRE(read({{"WORLD_SIZE", "2"}}).error().where == "RANK");
}

}  // namespace tally::comm
