#include "verify/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/convert.h"

namespace tally::verify {
namespace {

using model::CodeClass;
using model::Format;

std::uint32_t code_at(const std::vector<std::byte>& codes, std::int64_t i, int bytes) {
  std::uint32_t code = 0;
  for (int b = 0; b < bytes; ++b)
    code |= std::to_integer<std::uint32_t>(codes[i * bytes + b]) << (8 * b);
  return code;
}

bool is_poison(std::uint32_t code, int bytes) {
  for (int b = 0; b < bytes; ++b) {
    if ((code >> (8 * b) & 0xFF) != std::to_integer<std::uint32_t>(kPoison)) return false;
  }
  return true;
}

std::string bits(std::uint32_t field, int width) {
  std::string text;
  for (int b = width; b-- > 0;) text += (field >> b & 1) != 0 ? '1' : '0';
  return text;
}

/// Compares the outputs of one call on one rank; notes the first difference in `first`.
void compare(const Case& c, int call, int rank, const std::vector<std::byte>& got,
             const std::vector<std::byte>& want, Judgement& judgement, std::string& first) {
  const Format format = c.arithmetic.element;
  const int bytes = model::format(format).bytes();
  if (got == want) return;
  for (std::int64_t i = 0; i < c.counts[call]; ++i) {
    const std::uint32_t got_code = code_at(got, i, bytes), want_code = code_at(want, i, bytes);
    if (same_code(format, got_code, want_code)) continue;
    ++judgement.wrong;
    const double error = std::abs(double{reference::decode(format, got_code)} -
                                  double{reference::decode(format, want_code)});
    if (std::isfinite(error)) judgement.max_abs_err = std::max(judgement.max_abs_err, error);
    if (!first.empty()) continue;
    judgement.first_wrong = {call, rank, i};
    first = fmt::format("call {} rank {} element {} of {}: got {} want {}", call, rank, i,
                        c.counts[call], describe_code(format, got_code),
                        describe_code(format, want_code));
    if (is_poison(got_code, bytes) && c.placement != Placement::in_place) {
      first += " (never written)";
    }
  }
}

/// Each reason once, and no more than a reader wants.
std::vector<std::string> first_few(const std::vector<std::string>& reasons) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> few;
  for (const std::string& reason : reasons) {
    if (std::find(few.begin(), few.end(), reason) != few.end()) continue;
    if (few.size() == kMost) {
      few.push_back("and more");
      break;
    }
    few.push_back(reason);
  }
  return few;
}

/// The first element that two ranks hold differently.
std::optional<std::string> rank_difference(const Case& c, int call,
                                           const reference::RankBuffers& outputs) {
  const Format format = c.arithmetic.element;
  const int bytes = model::format(format).bytes();
  for (int rank = 1; rank < c.ranks; ++rank) {
    if (outputs[rank] == outputs[0]) continue;
    for (std::int64_t i = 0; i < c.counts[call]; ++i) {
      const std::uint32_t mine = code_at(outputs[rank], i, bytes);
      const std::uint32_t other = code_at(outputs[0], i, bytes);
      if (!same_code(format, mine, other)) {
        return fmt::format("ranks differ: call {} element {} is {} on rank 0 and {} on rank {}",
                           call, i, describe_code(format, other), describe_code(format, mine),
                           rank);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"ok", "mismatch", "hang", "skipped"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view name(Detector detector) {
  constexpr std::string_view kNames[] = {"none", "hang", "race", "value", "bounds", "identity"};
  return kNames[static_cast<std::size_t>(detector)];
}

bool same_code(Format format, std::uint32_t a, std::uint32_t b) {
  return a == b || (model::format(format).is_nan(a) && model::format(format).is_nan(b));
}

std::string describe_code(Format format, std::uint32_t code) {
  const model::NumberFormat& f = model::format(format);
  return fmt::format(
      "0x{:0{}x} = {}'{}'{} = {}", code, 2 * f.bytes(), bits(f.sign_field(code), f.sign_bits),
      bits(f.exponent_field(code), f.exponent_bits), bits(f.fraction_field(code), f.fraction_bits),
      reference::decode(format, code));
}

Judgement judge(const Case& c, const Observation& seen,
                const std::function<std::string(Judgement&)>& compare) {
  Judgement judgement;
  std::vector<std::string> reasons;
  const auto caught = [&](Detector by, std::string reason) {
    if (judgement.caught_by == Detector::none) judgement.caught_by = by;
    reasons.push_back(std::move(reason));
  };
  for (const std::string& sentence : seen.hang) caught(Detector::hang, sentence);
  if (seen.hang.empty() && !seen.order_faults.empty()) {
    const std::size_t more = seen.order_faults.size() - 1;  // mostly of the same cause
    caught(Detector::race,
           seen.order_faults[0].what + (more > 0 ? fmt::format(" (and {} more)", more) : ""));
  }
  if (const std::string first = compare(judgement); !first.empty()) caught(Detector::value, first);
  for (const std::string& sentence : seen.broken) caught(Detector::bounds, sentence);
  if (same_on_all_ranks(c.collective)) {
    for (std::size_t call = 0; call < seen.outputs.size(); ++call) {
      if (auto difference = rank_difference(c, static_cast<int>(call), seen.outputs[call])) {
        caught(Detector::identity, *difference);
        break;
      }
    }
  }
  judgement.reason = fmt::format("{}", fmt::join(first_few(reasons), "; "));
  if (judgement.caught_by == Detector::hang) {
    judgement.verdict = Verdict::hang;
  } else if (judgement.caught_by != Detector::none) {
    judgement.verdict = Verdict::mismatch;
  }
  return judgement;
}

Judgement judge_exact(const Case& c, const std::vector<reference::RankBuffers>& wanted,
                      const Observation& seen) {
  return judge(c, seen, [&](Judgement& judgement) {
    std::string first;
    for (std::size_t call = 0; call < wanted.size(); ++call) {
      for (int rank = 0; rank < c.ranks; ++rank) {
        compare(c, static_cast<int>(call), rank, seen.outputs[call][rank], wanted[call][rank],
                judgement, first);
      }
    }
    return first;
  });
}

Substance substance(const Case& c, const std::vector<reference::RankBuffers>& wanted) {
  const model::NumberFormat& format = model::format(c.arithmetic.element);
  Substance found;
  for (std::size_t call = 0; call < wanted.size(); ++call) {
    const auto& output = wanted[call][0];
    for (std::int64_t i = 0; i < c.counts[call]; ++i) {
      const CodeClass kind = format.classify(code_at(output, i, format.bytes()));
      found.substantial += kind == CodeClass::normal || kind == CodeClass::subnormal;
      ++found.elements;
    }
  }
  return found;
}

}  // namespace tally::verify
