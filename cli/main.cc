#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "cli/command.h"
#include "model/suggestion.h"

namespace {

using namespace tally;

struct Command {
  std::string_view name, what;
  int (*run)(const cli::Arguments&);
};

constexpr Command kCommands[] = {
    {"verify", "runs cases on a subject and judges them against the reference", cli::verify},
    {"study", "measures the numerical error of wires and algorithms on inputs", cli::study},
    {"sim", "predicts how long collectives take, and which choice is best where", cli::sim},
    {"faults", "plants every known fault, one at a time, and shows what caught it", cli::faults},
    {"formats", "prints the format table, or every code point of one format", cli::formats},
    {"list", "prints the subjects, algorithms, machines, wires, inputs and faults that there are",
     cli::list},
};

void print_help(std::FILE* to) {
  fmt::print(to,
             "Tally checks GPU collectives: the bits they must produce, their error, their "
             "memory order, and their time.\n\n"
             "usage: tally COMMAND [...]      tally COMMAND --help\n\n");
  for (const Command& command : kCommands)
    fmt::print(to, "  {:<9}{}\n", command.name, command.what);
  fmt::print(to,
             "\nexit status: 0 all held; 1 a check failed; 2 bad usage or input; "
             "3 the subject is not here\n");
}

}  // namespace

int main(int argc, char** argv) {
  const cli::Arguments arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    print_help(stderr);
    return cli::kBadInput;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help(stdout);
    return cli::kHeld;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (command.name == arguments[0]) {
      return command.run(cli::Arguments(arguments.begin() + 1, arguments.end()));
    }
    names.emplace_back(command.name);
  }
  fmt::print(stderr, "tally: unknown command '{}'\n  hint: {}\n", arguments[0],
             model::suggestion(arguments[0], names));
  return cli::kBadInput;
}
