#include <fmt/format.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "model/number_format.h"
#include "model/suggestion.h"
#include "reference/convert_spec.h"
#include "verify/judge.h"

namespace tally::cli {
namespace {

void print_table() {
  fmt::print("{:<9} {:>4} {:>5} {:>4} {:>14} {:>14} {:>14} {:>9} {:>4} {:>4}  {}\n", "format",
             "bits", "s/e/f", "bias", "largest", "least normal", "least", "roundoff", "inf", "-0",
             "source");
  for (const model::NumberFormat& f : model::kNumberFormats) {
    const char* minus_zero = f.sign_bits == 0                        ? "-"
                             : f.minus_zero == model::MinusZero::nan ? "NaN"
                                                                     : "yes";
    fmt::print("{:<9} {:>4} {:>5} {:>4} {:>14.7g} {:>14.7g} {:>14.7g} {:>9.3g} {:>4} {:>4}  {}\n",
               f.name, f.width(),
               fmt::format("{}/{}/{}", f.sign_bits, f.exponent_bits, f.fraction_bits), f.bias,
               f.max_finite(), f.min_normal(), f.min_positive(), f.unit_roundoff(),
               f.has_infinity() ? "yes" : "no", minus_zero, f.source);
  }
}

void print_codes(const model::NumberFormat& f) {
  for (std::uint32_t code = 0; code < f.code_count(); ++code) {
    fmt::print("{}\n", verify::describe_code(f.id, code));
  }
}

}  // namespace

int formats(const Arguments& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    fmt::print(
        "usage: tally formats [NAME]\n\nThe format table, or every code of one format of at "
        "most 16 bits: code, fields, value.\n");
    return kHeld;
  }
  if (arguments.empty()) {
    print_table();
    return kHeld;
  }
  const auto format = model::find_format(arguments[0]);
  std::vector<std::string> names;
  for (const model::NumberFormat& f : model::kNumberFormats) names.emplace_back(f.name);
  if (!format) {
    return complain({"formats", "unknown format '" + arguments[0] + "'",
                     model::suggestion(arguments[0], names)});
  }
  if (arguments.size() > 1 || model::format(*format).width() > 16) {
    return complain({"formats", "prints one format of at most 16 bits", "tally formats e4m3fn"});
  }
  print_codes(model::format(*format));
  return kHeld;
}

}  // namespace tally::cli
