#include "kernels/comm/agreement.h"

#include <algorithm>

namespace tally::comm {
namespace {

constexpr char kOwnError = '!', kSettings = '=';

Bytes written(const Settings& settings, const std::optional<model::Error>& own) {
  Bytes bytes = {static_cast<std::byte>(own ? kOwnError : kSettings)};
  if (own) {
    const Bytes error = encode_failure(*own);
    bytes.insert(bytes.end(), error.begin(), error.end());
  } else {
    for (const std::string& line : settings) {
      for (const char c : line + "\n") bytes.push_back(static_cast<std::byte>(c));
    }
  }
  bytes.resize(std::min(bytes.size(), kMostContributionBytes));
  return bytes;
}

Settings read(const Bytes& bytes) {
  Settings lines = {""};
  for (const std::byte b : bytes) {
    const char c = static_cast<char>(b);
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

/// The lines that differ, of rank 0 and of another; one has fewer where it ends first.
std::string difference(const Settings& first, const Settings& other, int rank) {
  const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
  const auto text = [](const Settings& all, Settings::const_iterator at) {
    return at == all.end() ? std::string("nothing") : *at;
  };
  return "rank 0 has " + text(first, a) + ", rank " + std::to_string(rank) + " has " +
         text(other, b);
}

}  // namespace

std::optional<model::Error> agree(Rendezvous& rendezvous, const std::string& name,
                                  const Settings& settings,
                                  const std::optional<model::Error>& own) {
  const auto all = rendezvous.all_gather(written(settings, own));
  if (!all) return all.error();
  Settings first;
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    const Bytes& bytes = (*all)[rank];
    const std::string who = text_of_ranks({static_cast<int>(rank)});
    if (bytes.empty()) continue;
    const Bytes rest(bytes.begin() + 1, bytes.end());
    if (bytes.front() == static_cast<std::byte>(kOwnError)) {
      const model::Error error = parse_failure(rest);
      return model::Error{error.where, who + ": " + error.what, error.hint};
    }
    if (rank == 0) {
      first = read(rest);
    } else if (const Settings other = read(rest); other != first) {
      return model::Error{
          "communicator '" + name + "'",
          "the ranks' settings differ: " + difference(first, other, static_cast<int>(rank)),
          "options and environment are the same on all ranks"};
    }
  }
  return std::nullopt;
}

}  // namespace tally::comm
