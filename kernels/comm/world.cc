#include "kernels/comm/world.h"

#include <charconv>

namespace tally::comm {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kLastPort = 65535;

/// What was wrong first, while several variables are read.
class Reader {
 public:
  explicit Reader(const Lookup& lookup) : lookup_(lookup) {}

  /// A variable's number in [least, most], or `otherwise` where it is not set.
  int number(const std::string& name, int least, int most, std::optional<int> otherwise) {
    const std::optional<std::string> text = lookup_(name);
    if (!text) {
      if (!otherwise) complain(name, "is not set", "the launcher sets it beside RANK");
      return otherwise.value_or(least);
    }
    int value = 0;
    const char* const end = text->data() + text->size();
    const auto [last, fault] = std::from_chars(text->data(), end, value);
    if (fault != std::errc() || last != end || value < least || value > most) {
      complain(name,
               "'" + *text + "' is not a number from " + std::to_string(least) + " to " +
                   std::to_string(most),
               "torchrun and mpirun set it; do not set it by hand for one rank alone");
    }
    return value;
  }
  const std::optional<model::Error>& error() const { return error_; }

 private:
  void complain(const std::string& where, std::string what, std::string hint) {
    if (!error_) error_ = model::Error{where, std::move(what), std::move(hint)};
  }
  const Lookup& lookup_;
  std::optional<model::Error> error_;
};

struct Names {
  std::string rank, size, local_rank;
};

}  // namespace

model::Result<World> world_from_environment(const Lookup& lookup) {
  const Names torchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
  const Names mpirun = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_RANK"};
  const bool by_torchrun = lookup(torchrun.rank).has_value();
  const Names& names = by_torchrun ? torchrun : mpirun;

  Reader reader(lookup);
  World world;
  if (lookup(names.rank)) {
    world.size = reader.number(names.size, 1, kMostRanks, {});
    if (!reader.error()) world.rank = reader.number(names.rank, 0, world.size - 1, {});
    world.local_rank = reader.number(names.local_rank, 0, kMostRanks, 0);
  } else if (lookup(torchrun.size)) {
    return model::Error{"RANK", "is not set, though WORLD_SIZE is", "torchrun sets both"};
  }
  if (const auto address = lookup("MASTER_ADDR")) world.address = *address;
  if (world.address.empty()) {
    return model::Error{"MASTER_ADDR", "is empty", "the host or address of rank 0"};
  }
  world.port = reader.number("MASTER_PORT", 1, kLastPort, world.port);
  if (lookup("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    world.port += world.port < kLastPort ? 1 : -1;
  }
  if (reader.error()) return *reader.error();
  return world;
}

}  // namespace tally::comm
