#include "tests/kernels/assembly/listing.h"

#include <cxxabi.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include "model/check.h"

namespace tally::kernels::assembly {
namespace {

std::string demangle(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

/// The number behind the first "(tally::model::<type>)" after `from`.
std::optional<int> enumerator(const std::string& name, std::string_view from, std::string type) {
  const std::size_t start = name.find(from);
  if (start == std::string::npos) return std::nullopt;
  const std::string cast = "(tally::model::" + type + ")";
  const std::size_t found = name.find(cast, start);
  if (found == std::string::npos) return std::nullopt;
  return std::atoi(name.c_str() + found + cast.size());
}

model::Wire wire_of(const std::string& name) {
  if (const auto id = enumerator(name, "ScaledBlocks<", "Format")) {
    return model::block_wire(static_cast<model::Format>(*id), 32, model::Format::f32,
                             model::ScaleRule::amax);
  }
  if (const auto id = enumerator(name, "CastCodec<", "Format")) {
    const auto beyond = static_cast<model::Beyond>(*enumerator(name, "CastCodec<", "Beyond"));
    const bool saturates = beyond == model::Beyond::max_finite;
    return model::cast_wire(static_cast<model::Format>(*id),
                            saturates ? model::kSaturate : model::kAsFormat);
  }
  return model::kNoWire;
}

/// The value whose type, in our namespace, is an argument of a template in the name.
template <class T>
T named(const std::string& name, const std::vector<std::pair<std::string, T>>& types, T other) {
  for (const auto& [type, value] : types) {
    if (contains(name, "tally::kernels::" + type + ",")) return value;
  }
  return other;
}

Kernel begin_kernel(const std::string& symbol) {
  using model::Accumulate, model::Collective, model::Format, model::Moved, model::Op;
  Kernel kernel;
  kernel.name = demangle(symbol);
  kernel.collective = named<Collective>(kernel.name,
                                        {{"ReduceScatterFlat", Collective::reduce_scatter},
                                         {"AllGatherFlat", Collective::all_gather},
                                         {"AllToAllFlat", Collective::all_to_all},
                                         {"AllToAllVFlat", Collective::all_to_all_v}},
                                        Collective::all_reduce);
  kernel.algorithm = named<std::string>(
      kernel.name, {{"FlatLl", "flat_ll"}, {"Tree", "tree"}, {"Ring", "ring"}}, "flat");
  const std::pair<std::string, model::ElementType> kMoved[] = {{"unsigned char", Moved::int8},
                                                               {"unsigned short", Format::f16},
                                                               {"unsigned int", Moved::int32},
                                                               {"unsigned long", Moved::int64}};
  for (const auto& [bits, element] : kMoved) {
    if (contains(kernel.name, "RawElement<" + bits + ">")) kernel.arithmetic.element = element;
  }
  if (const auto id = enumerator(kernel.name, ":Element<", "Format")) {
    kernel.arithmetic.element = static_cast<model::Format>(*id);
  }
  kernel.arithmetic.wire = wire_of(kernel.name);
  kernel.arithmetic.op = named<Op>(kernel.name,
                                   {{"Average", Op::avg},
                                    {"Product", Op::prod},
                                    {"Minimum", Op::min},
                                    {"Maximum", Op::max},
                                    {"PremultipliedSum", Op::premul_sum}},
                                   Op::sum);
  kernel.arithmetic.accumulate =
      named<Accumulate>(kernel.name, {{"AccumulateF32", Accumulate::f32}}, Accumulate::element);
  return kernel;
}

/// The line without what follows `comment`, with single spaces and none at its ends.
std::string tidy(const std::string& line, std::string_view comment) {
  std::istringstream words(line.substr(0, line.find(comment)));
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

Instruction parse(const std::string& text, int line, bool begins_block) {
  Instruction instruction{line, begins_block, "", "", {}, text};
  std::istringstream rest(text[0] == '@' ? text.substr(text.find(' ') + 1) : text);
  rest >> instruction.operation;
  if (instruction.operation.back() == ';') instruction.operation.pop_back();
  for (std::string operand; std::getline(rest, operand, ',');) {
    while (!operand.empty() && operand.front() == ' ') operand.erase(0, 1);
    while (!operand.empty() && operand.back() == ';') operand.pop_back();
    if (!operand.empty()) instruction.operands.push_back(operand);
  }
  return instruction;
}

/// Adds a line of a kernel's body: a label, a directive or an instruction.
void add_line(Kernel& kernel, const std::string& text, int line, bool& begins_block,
              std::string& label) {
  if (text.back() == ':') {
    begins_block = true;
    label = text.substr(0, text.size() - 1);
  } else if (text[0] == '.') {
    kernel.directives.push_back(text);
  } else if (text != "{" && text != "}" && text != ")") {
    kernel.code.push_back(parse(text, line, begins_block));
    kernel.code.back().label = std::exchange(label, "");
    begins_block = false;
  }
}

}  // namespace

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string broken(const Instruction& instruction, std::string_view how) {
  return "line " + std::to_string(instruction.line) + ", " + instruction.text + ": " +
         std::string(how);
}

std::vector<Kernel> read_gfx942(const std::string& text) {
  static const std::regex begin(R"(^(_Z\w+):)"), stack(R"(^; ScratchSize: (\d+))");
  std::vector<Kernel> kernels;
  std::istringstream lines(text);
  bool inside = false, begins_block = true;
  std::smatch match;
  std::string label;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!inside && std::regex_search(line, match, begin)) {
      kernels.push_back(begin_kernel(match[1]));
      inside = begins_block = true;
    } else if (line.rfind(".Lfunc_end", 0) == 0) {
      inside = false;
    } else if (!inside && std::regex_search(line, match, stack)) {
      if (!kernels.empty()) kernels.back().stack_bytes = std::stoi(match[1]);
    } else if (inside) {
      if (line.rfind("; %bb.", 0) == 0) begins_block = true;
      const std::string code = tidy(line, ";");
      if (!code.empty()) add_line(kernels.back(), code, number, begins_block, label);
    }
  }
  return kernels;
}

std::vector<Kernel> read_ptx(const std::string& text) {
  static const std::regex begin(R"(\.entry (\w+)\()"),
      stack(R"(\.local \.align \d+ \.b8 \w+\[(\d+)\])");
  std::vector<Kernel> kernels;
  std::istringstream lines(text);
  bool inside = false, begins_block = true;
  std::smatch match;
  std::string label;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (std::regex_search(line, match, begin)) {
      kernels.push_back(begin_kernel(match[1]));
      inside = begins_block = true;
    } else if (inside && line == "}") {
      inside = false;
    } else if (inside) {
      if (std::regex_search(line, match, stack)) kernels.back().stack_bytes += std::stoi(match[1]);
      const std::string code = tidy(line, "//");
      if (!code.empty()) add_line(kernels.back(), code, number, begins_block, label);
    }
  }
  return kernels;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  TALLY_CHECK(bool(stream), "a listing that the build names cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace tally::kernels::assembly
