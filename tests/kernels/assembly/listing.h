#pragma once

// Assembly listings, cut into kernels.

#include <string>
#include <string_view>
#include <vector>

#include "model/collective.h"

namespace tally::kernels::assembly {

struct Instruction {
  int line;
  bool begins_block;      // a label, or what the compiler calls a block, stands before it
  std::string label;      // the label before it; mostly empty
  std::string operation;  // without predicate
  std::vector<std::string> operands;
  std::string text;  // the whole line, without comment, single spaces
};

struct Kernel {
  std::string name;  // demangled
  std::vector<Instruction> code;
  std::vector<std::string> directives;  // between the kernel's label and its end
  int stack_bytes = 0;

  // What the name says of the recipe. Of a block wire, the format alone.
  model::Collective collective = model::Collective::all_reduce;
  std::string algorithm;  // flat, flat_ll, tree or ring
  model::Arithmetic arithmetic;

  /// Whether data travels with flags in it, and not in words between barriers.
  bool has_packets() const { return algorithm == "flat_ll"; }
  bool has_blocks() const { return arithmetic.wire.is_block(); }
  /// Whether it converts to and from `format`, on the wire.
  bool carries(model::Format format) const {
    return !arithmetic.wire.is_none() && arithmetic.wire.format == format;
  }
  bool saturates() const { return arithmetic.wire.overflow.finite == model::Beyond::max_finite; }
  /// Blocks are divided by their scales, averages by the number of ranks.
  bool divides() const { return has_blocks() || arithmetic.op == model::Op::avg; }
};

/// clang's assembly for gfx942.
std::vector<Kernel> read_gfx942(const std::string& text);
/// nvcc's PTX.
std::vector<Kernel> read_ptx(const std::string& text);

std::string read_file(const std::string& path);

/// A rule returns nothing where it holds, else where and how it is broken.
using Rule = std::string (*)(const Kernel&);
std::string broken(const Instruction& instruction, std::string_view how);

bool contains(std::string_view text, std::string_view part);

}  // namespace tally::kernels::assembly
