// Goal: the kernels' encoders in integer arithmetic are right for every f32 there is.
// Method: all 2^32 inputs against reference::encode_array, which shares nothing with them and is
// itself compared with the definition on every f32 (tests/reference). Every core takes pieces of
// 2^16 inputs that share their upper half.

#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/software_convert.h"
#include "reference/convert.h"
#include "tests/support/catch.h"

namespace tally::kernels {
namespace {

using model::Beyond;
using model::Format;

constexpr std::uint32_t kPiece = 0x1'0000;

struct Outcome {
  std::uint64_t compared = 0, wrong = 0;
  std::uint32_t first_wrong = 0;  // an input that one thread met
};

/// The piece's codes as the kernels make them; `fault` is xored into the code of one input.
template <Format F, Beyond beyond, class Code>
void encode_piece(std::uint32_t upper, std::uint32_t fault, std::vector<Code>& codes) {
  for (std::uint32_t i = 0; i < kPiece; ++i) {
    codes[i] = static_cast<Code>(software_encode<F, beyond>(float_of(upper << 16 | i)));
  }
  if (fault != 0 && upper == fault >> 16) codes[fault % kPiece] ^= 1;
}

template <Format F, Beyond beyond, class Code>
void compare_piece(std::uint32_t upper, std::uint32_t fault, std::vector<Code> (&codes)[2],
                   Outcome& outcome) {
  std::vector<float> x(kPiece);
  for (std::uint32_t i = 0; i < kPiece; ++i) x[i] = float_of(upper << 16 | i);
  encode_piece<F, beyond>(upper, fault, codes[0]);
  reference::encode_array(F, {beyond, beyond}, x, std::as_writable_bytes(std::span(codes[1])));
  outcome.compared += kPiece;
  if (std::memcmp(codes[0].data(), codes[1].data(), kPiece * sizeof(Code)) == 0) return;
  for (std::uint32_t i = 0; i < kPiece; ++i) {
    const bool both_nan =
        model::format(F).is_nan(codes[0][i]) && model::format(F).is_nan(codes[1][i]);
    if (codes[0][i] == codes[1][i] || both_nan) continue;
    ++outcome.wrong;
    outcome.first_wrong = upper << 16 | i;
  }
}

template <Format F, Beyond beyond>
Outcome compare_all(std::uint32_t fault = 0) {
  using Code = std::conditional_t<model::format(F).bytes() == 1, std::uint8_t, std::uint16_t>;
  std::atomic<std::uint32_t> next = 0;
  std::mutex mutex;
  Outcome total;
  const auto work = [&] {
    std::vector<Code> codes[2] = {std::vector<Code>(kPiece), std::vector<Code>(kPiece)};
    Outcome mine;
    for (std::uint32_t upper; (upper = next++) < 0x1'0000;) {
      compare_piece<F, beyond>(upper, fault, codes, mine);
    }
    const std::lock_guard lock(mutex);
    total.compared += mine.compared;
    total.wrong += mine.wrong;
    if (mine.wrong != 0) total.first_wrong = mine.first_wrong;
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back(work);
  }
  threads.clear();
  return total;
}

template <Format F, Beyond beyond>
void require_all_equal() {
  const Outcome outcome = compare_all<F, beyond>();
  CAPTURE(std::string(model::format(F).name), beyond == Beyond::special, outcome.first_wrong);
  REQUIRE(outcome.wrong == 0);
  REQUIRE(outcome.compared == std::uint64_t{1} << 32);
}

}  // namespace

TEST_CASE("one-byte encoders agree with the reference on every f32", "[kernels][slow]") {
  require_all_equal<Format::e4m3fn, Beyond::special>();
  require_all_equal<Format::e4m3fn, Beyond::max_finite>();
  require_all_equal<Format::e5m2, Beyond::special>();
  require_all_equal<Format::e5m2, Beyond::max_finite>();
  require_all_equal<Format::e4m3fnuz, Beyond::special>();
  require_all_equal<Format::e4m3fnuz, Beyond::max_finite>();
  require_all_equal<Format::e5m2fnuz, Beyond::special>();
  require_all_equal<Format::e5m2fnuz, Beyond::max_finite>();
}

TEST_CASE("f16 and bf16 encoders agree with the reference on every f32", "[kernels][slow]") {
  require_all_equal<Format::f16, Beyond::special>();
  require_all_equal<Format::bf16, Beyond::special>();
}

TEST_CASE("the comparison notices one wrong code among all", "[kernels][slow]") {
  const Outcome outcome = compare_all<Format::bf16, Beyond::special>(0x3F98'0001);
  REQUIRE(outcome.wrong == 1);
  REQUIRE(outcome.first_wrong == 0x3F98'0001);
}

}  // namespace tally::kernels
