#include "kernels/comm/frame.h"

#include <algorithm>
#include <array>

#include "model/check.h"

namespace tally::comm {
namespace {

constexpr std::array<char, 4> kMagic = {'T', 'L', 'R', 'V'};
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMostFailureBytes = 1024;

void put(Bytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::uint32_t take(std::span<const std::byte> bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

model::Error wrong(std::string what) {
  return {"rendezvous", std::move(what), "something else talks at this address and port"};
}

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

void append(Bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

}  // namespace

Bytes encode(const Frame& frame) {
  TALLY_CHECK(frame.name.size() <= kMostNameBytes && frame.payload.size() <= kMostPayloadBytes,
              "a frame beyond its limits");
  Bytes bytes;
  bytes.reserve(kFrameHeaderBytes + frame.name.size() + frame.payload.size());
  append(bytes, {kMagic.data(), kMagic.size()});
  put(bytes, kVersion, 1);
  put(bytes, static_cast<std::uint8_t>(frame.kind), 1);
  put(bytes, frame.name.size(), 2);
  put(bytes, static_cast<std::uint32_t>(frame.rank), 4);
  put(bytes, static_cast<std::uint32_t>(frame.size), 4);
  put(bytes, frame.round, 4);
  put(bytes, frame.timeout_ms, 4);
  put(bytes, frame.payload.size(), 4);
  append(bytes, frame.name);
  bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  return bytes;
}

model::Result<ParsedFrame> parse_frame(std::span<const std::byte> bytes) {
  // Each field as soon as it is there: a stranger may send few bytes and wait.
  for (std::size_t i = 0; i < std::min(bytes.size(), kMagic.size()); ++i) {
    if (bytes[i] != static_cast<std::byte>(kMagic[i])) return wrong("the bytes are no frame");
  }
  if (bytes.size() > 4 && take(bytes, 4, 1) != kVersion) {
    return wrong("a frame of version " + std::to_string(take(bytes, 4, 1)) + ", not " +
                 std::to_string(kVersion));
  }
  if (bytes.size() < kFrameHeaderBytes) return ParsedFrame{};
  const std::uint32_t kind = take(bytes, 5, 1), name_bytes = take(bytes, 6, 2);
  const std::uint32_t rank = take(bytes, 8, 4), size = take(bytes, 12, 4);
  const std::uint32_t payload_bytes = take(bytes, 24, 4);
  if (kind < 1 || kind > 3) return wrong("a frame of kind " + std::to_string(kind));
  if (name_bytes > kMostNameBytes) return wrong("a name of " + std::to_string(name_bytes));
  if (size < 1 || size > kMostProcesses || rank >= size) {
    return wrong("rank " + std::to_string(rank) + " of " + std::to_string(size));
  }
  const bool is_gathered = static_cast<FrameKind>(kind) == FrameKind::gathered;
  const std::size_t most = is_gathered ? kMostPayloadBytes : kMostContributionBytes;
  if (payload_bytes > most) return wrong("a payload of " + std::to_string(payload_bytes));

  const std::size_t end = kFrameHeaderBytes + name_bytes + payload_bytes;
  if (bytes.size() < end) return ParsedFrame{};
  ParsedFrame parsed;
  parsed.bytes = end;
  parsed.frame.kind = static_cast<FrameKind>(kind);
  const auto name = bytes.subspan(kFrameHeaderBytes, name_bytes);
  const auto payload = bytes.subspan(kFrameHeaderBytes + name_bytes, payload_bytes);
  for (const std::byte b : name) {
    const char c = static_cast<char>(b);
    if (!is_printable(c)) return wrong("a name that is not printable");
    parsed.frame.name += c;
  }
  parsed.frame.rank = static_cast<int>(rank);
  parsed.frame.size = static_cast<int>(size);
  parsed.frame.round = take(bytes, 16, 4);
  parsed.frame.timeout_ms = take(bytes, 20, 4);
  parsed.frame.payload.assign(payload.begin(), payload.end());
  return parsed;
}

Bytes encode_gathered(const std::vector<Bytes>& all) {
  Bytes bytes;
  for (const Bytes& one : all) {
    put(bytes, one.size(), 4);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

model::Result<std::vector<Bytes>> parse_gathered(std::span<const std::byte> bytes, int size) {
  std::vector<Bytes> all;
  for (int rank = 0; rank < size; ++rank) {
    if (bytes.size() < 4) return wrong("what was gathered ends early");
    const std::size_t length = take(bytes, 0, 4);
    bytes = bytes.subspan(4);
    if (length > bytes.size()) return wrong("what was gathered ends early");
    all.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    bytes = bytes.subspan(length);
  }
  if (!bytes.empty()) return wrong("what was gathered has bytes behind its end");
  return all;
}

Bytes encode_failure(const model::Error& error) {
  Bytes bytes;
  append(bytes, error.where + "\n" + error.what + "\n" + error.hint);
  bytes.resize(std::min(bytes.size(), kMostFailureBytes));
  return bytes;
}

model::Error parse_failure(std::span<const std::byte> bytes) {
  model::Error error;
  std::string* const lines[] = {&error.where, &error.what, &error.hint};
  std::size_t line = 0;
  for (const std::byte b : bytes.first(std::min(bytes.size(), kMostFailureBytes))) {
    const char c = static_cast<char>(b);
    if (c == '\n' && line < 2) {
      ++line;
    } else {
      *lines[line] += is_printable(c) ? c : '?';
    }
  }
  return error;
}

}  // namespace tally::comm
