#pragma once

// What processes send each other at a rendezvous: one frame after another on a TCP connection.
//
//   byte  0..3    4        5     6..7        8..11  12..15  16..19  20..23      24..27
//         "TLRV"  version  kind  name bytes  rank   size    round   timeout ms  payload bytes
//   then the communicator's name, then the payload. Numbers are little-endian.
//
// The lengths are limited, so that a stranger's bytes are refused by their first 28.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/result.h"

namespace tally::comm {

using Bytes = std::vector<std::byte>;

enum class FrameKind : std::uint8_t {
  contribution = 1,  // from a rank: its bytes of a round
  gathered = 2,      // to a rank: the bytes of all
  failure = 3,       // to a rank: the error that ends the communicator
};

constexpr std::size_t kFrameHeaderBytes = 28;
constexpr std::size_t kMostNameBytes = 255;
constexpr int kMostProcesses = 256;
constexpr std::size_t kMostContributionBytes = 64 << 10;
constexpr std::size_t kMostPayloadBytes = kMostProcesses * (kMostContributionBytes + 4);

struct Frame {
  FrameKind kind = FrameKind::contribution;
  std::string name;
  int rank = 0, size = 1;
  std::uint32_t round = 0;
  std::uint32_t timeout_ms = 0;
  Bytes payload;
  friend bool operator==(const Frame&, const Frame&) = default;
};

/// A frame whose name and payload are within the limits.
Bytes encode(const Frame& frame);

struct ParsedFrame {
  std::size_t bytes = 0;  // that it took; 0 where its end has not arrived yet
  Frame frame;
};
/// The frame that `bytes` begin with. An error where they do not: it says which field is wrong.
model::Result<ParsedFrame> parse_frame(std::span<const std::byte> bytes);

/// The payload of `gathered`: for each rank the length in 4 bytes, and the bytes.
Bytes encode_gathered(const std::vector<Bytes>& all);
model::Result<std::vector<Bytes>> parse_gathered(std::span<const std::byte> bytes, int size);

/// The payload of `failure`: where, what and hint, each a line.
Bytes encode_failure(const model::Error& error);
/// Whatever the bytes: what is not printable ASCII becomes '?', what is too long is cut.
model::Error parse_failure(std::span<const std::byte> bytes);

}  // namespace tally::comm
