// Goal: a frame is read as it was written, however its bytes arrive; anything else is refused by
// its first wrong field.
// Method: round trips of drawn frames cut at every byte; single fields changed; drawn bytes.

#include "kernels/comm/frame.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::comm {
namespace {

Frame example() {
  return {FrameKind::contribution, "world", 2, 4, 7, 1500, Bytes(3, std::byte{9})};
}

std::string error_with(std::size_t at, std::uint8_t value) {
  Bytes bytes = encode(example());
  bytes[at] = std::byte{value};
  const auto parsed = parse_frame(bytes);
  return parsed ? "" : parsed.error().what;
}

}  // namespace

TEST_CASE("a frame", "[kernels]") {
  test::property("is read as it was written, and not before its last byte", [] {
    Frame frame;
    frame.kind = static_cast<FrameKind>(*rc::gen::inRange(1, 4));
    frame.name = *rc::gen::container<std::string>(rc::gen::inRange(' ', '~'));
    frame.name.resize(std::min(frame.name.size(), kMostNameBytes));
    frame.size = *rc::gen::inRange(1, kMostProcesses + 1);
    frame.rank = *rc::gen::inRange(0, frame.size);
    frame.round = *rc::gen::arbitrary<std::uint32_t>();
    frame.timeout_ms = *rc::gen::arbitrary<std::uint32_t>();
    for (const auto b : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
      frame.payload.push_back(std::byte{b});
    }
    const Bytes bytes = encode(frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto part = parse_frame(std::span(bytes).first(size));
      RC_ASSERT(part && part->bytes == 0);
    }
    Bytes more = bytes;
    more.push_back(std::byte{'x'});
    const auto parsed = parse_frame(more);
    RC_ASSERT(parsed && parsed->bytes == bytes.size());
    RC_ASSERT(parsed->frame == frame);
  });
}

TEST_CASE("a wrong field is named", "[kernels]") {
  REQUIRE(error_with(0, 'G') == "the bytes are no frame");
  REQUIRE(error_with(4, 2) == "a frame of version 2, not 1");
  REQUIRE(error_with(5, 0) == "a frame of kind 0");
  REQUIRE(error_with(5, 4) == "a frame of kind 4");
  REQUIRE(error_with(7, 1) == "a name of 261");
  REQUIRE(error_with(8, 4) == "rank 4 of 4");
  REQUIRE(error_with(12, 0) == "rank 2 of 0");
  REQUIRE(error_with(13, 2) == "rank 2 of 516");
  REQUIRE(error_with(26, 9) == "a payload of 589827");
  REQUIRE(error_with(28, '\n') == "a name that is not printable");
  REQUIRE(error_with(3, 'V') == "");
}

TEST_CASE("a stranger is refused by its first bytes", "[kernels]") {
  for (const std::string text : {"G", "GET / HTTP/1.1\r\n", "TLRX"}) {
    Bytes bytes;
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    CAPTURE(text);
    REQUIRE_FALSE(parse_frame(bytes));
  }
}

TEST_CASE("what was gathered", "[kernels]") {
  test::property("is read as it was written, and refused with a byte less or more", [] {
    const auto drawn = *rc::gen::arbitrary<std::vector<std::vector<std::uint8_t>>>();
    RC_PRE(!drawn.empty());
    std::vector<Bytes> all;
    for (const auto& one : drawn) {
      all.emplace_back();
      for (const auto b : one) all.back().push_back(std::byte{b});
    }
    Bytes bytes = encode_gathered(all);
    const int size = static_cast<int>(all.size());
    RC_ASSERT(*parse_gathered(bytes, size) == all);
    RC_ASSERT_FALSE(parse_gathered(std::span(bytes).first(bytes.size() - 1), size));
    bytes.push_back(std::byte{0});
    RC_ASSERT_FALSE(parse_gathered(bytes, size));
  });
}

TEST_CASE("a failure arrives with its three lines, and cannot print control characters",
          "[kernels]") {
  const auto back = parse_failure(encode_failure({"where", "wh\x1b[2Jat\n", "hint"}));
  REQUIRE(back.where == "where");
  REQUIRE(back.what == "wh?[2Jat");
  REQUIRE(back.hint == "?hint");
  REQUIRE(encode_failure({std::string(5000, 'x'), "", ""}).size() == 1024);
}

}  // namespace tally::comm
