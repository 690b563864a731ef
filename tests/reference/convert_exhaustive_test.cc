// Goal: the array conversions are right for every f32 there is.
// Method: all 2^32 inputs, in order of magnitude, encoded by the array functions and by the
// definition, saturating and not; for f16 and bf16 what round_array leaves as well. Every core
// takes pieces of 2^16 inputs that share their upper half.

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "reference/convert.h"
#include "reference/convert_spec.h"
#include "tests/reference/cases_file.h"
#include "tests/reference/encoder_check.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;
using model::Overflow;
using model::Rounding;

constexpr std::size_t kPiece = 0x10000;
constexpr Overflow kCompared[] = {model::kAsFormat, model::kSaturate};

using ArrayEncoder = void (*)(Format, Overflow, std::span<const float>, std::span<std::byte>);

struct Outcome {
  std::uint64_t compared = 0, wrong = 0;
  std::string first;  // of the wrong ones that one thread met
};

/// One thread's part of the comparison.
class Comparer {
 public:
  Comparer(Format id, ArrayEncoder encoder)
      : id_(id),
        bytes_(static_cast<std::size_t>(model::format(id).bytes())),
        encoder_(encoder),
        spec_(id),
        x_(kPiece),
        codes_{std::vector<std::byte>(kPiece * bytes_), {}} {
    codes_[1] = codes_[0];
  }

  void compare(std::uint32_t upper_half, Outcome& outcome) {
    for (std::size_t i = 0; i < kPiece; ++i) {
      x_[i] = std::bit_cast<float>(upper_half << 16 | static_cast<std::uint32_t>(i));
    }
    for (int o = 0; o < 2; ++o) encoder_(id_, kCompared[o], x_, codes_[o]);
    Rounded last = spec_.round(x_[0], Rounding::nearest_even);
    std::uint32_t want[2] = {spec_.code(last, kCompared[0]), spec_.code(last, kCompared[1])};
    for (std::size_t i = 0; i < kPiece; ++i) {
      const Rounded rounded = spec_.round(x_[i], Rounding::nearest_even);
      if (rounded != last) {  // neighbours mostly round alike, and then have the same codes
        last = rounded;
        for (int o = 0; o < 2; ++o) want[o] = spec_.code(rounded, kCompared[o]);
      }
      for (int o = 0; o < 2; ++o) {
        const std::uint32_t got = code_at(codes_[o], i);
        if (got != want[o]) report(x_[i], got, want[o], outcome);
      }
      outcome.compared += 2;
    }
    if (id_ == Format::f16 || id_ == Format::bf16) compare_rounded(outcome);
  }

 private:
  /// Compares round_array with the values of the codes that are in codes_[0].
  void compare_rounded(Outcome& outcome) {
    std::vector<float> rounded = x_, want(kPiece);
    round_array(id_, rounded);
    for (std::size_t i = 0; i < kPiece; ++i) want[i] = decode(id_, code_at(codes_[0], i));
    outcome.compared += kPiece;
    if (std::memcmp(rounded.data(), want.data(), kPiece * sizeof(float)) == 0) return;
    ++outcome.wrong;
    outcome.first = "round_array in the piece of " + test::hex(std::bit_cast<std::uint32_t>(x_[0]));
  }

  std::uint32_t code_at(const std::vector<std::byte>& codes, std::size_t i) const {
    if (bytes_ == 1) return std::to_integer<std::uint32_t>(codes[i]);
    std::uint16_t code;
    std::memcpy(&code, codes.data() + 2 * i, 2);
    return code;
  }

  void report(float x, std::uint32_t got, std::uint32_t want, Outcome& outcome) const {
    if (outcome.wrong++ != 0) return;
    outcome.first = test::difference(id_, test::hex(std::bit_cast<std::uint32_t>(x)), got, want);
  }

  Format id_;
  std::size_t bytes_;
  ArrayEncoder encoder_;
  SpecEncoder spec_;
  std::vector<float> x_;
  std::vector<std::byte> codes_[2];  // as kCompared
};

Outcome compare_all(Format id, ArrayEncoder encoder, std::uint32_t pieces = 0x10000) {
  std::atomic<std::uint32_t> next = 0;
  std::mutex mutex;
  Outcome total;
  const auto work = [&] {
    Comparer comparer(id, encoder);
    Outcome mine;
    for (std::uint32_t upper; (upper = next++) < pieces;) comparer.compare(upper, mine);
    const std::lock_guard lock(mutex);
    total.compared += mine.compared;
    total.wrong += mine.wrong;
    if (total.first.empty()) total.first = mine.first;
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back(work);
  }
  threads.clear();
  return total;
}

}  // namespace

TEST_CASE("encode_array agrees with the definition on every f32", "[reference][slow]") {
  for (const Format id : {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz,
                          Format::e8m0, Format::f16, Format::bf16}) {
    const Outcome outcome = compare_all(id, encode_array);
    const std::string name(model::format(id).name);
    INFO(name << ": " << outcome.wrong << " wrong, first " << outcome.first);
    CHECK(outcome.wrong == 0);
    const bool rounds = id == Format::f16 || id == Format::bf16;
    CHECK(outcome.compared == (rounds ? 3 : 2) * (std::uint64_t{1} << 32));
    std::printf("%-8s %llu results compared\n", name.c_str(),
                static_cast<unsigned long long>(outcome.compared));
  }
}

TEST_CASE("the exhaustive comparison notices one wrong code", "[reference][slow]") {
  const Outcome outcome = compare_all(
      Format::e4m3fn,
      [](Format id, Overflow overflow, std::span<const float> x, std::span<std::byte> codes) {
        encode_array(id, overflow, x, codes);
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (std::bit_cast<std::uint32_t>(x[i]) == 0x3F980001) codes[i] ^= std::byte{1};
        }
      },
      0x4000);
  CHECK(outcome.wrong == 2);
  CHECK(outcome.first == "e4m3fn of 0x3F980001: got 0.0111.011 (0x3b), want 0.0111.010 (0x3a)");
}

}  // namespace tally::reference
