// Goal: ranks meet, over TCP and in one process, exchange bytes in rounds, and all learn by name
// who did not come, who left, and who is no rank.
// Method: ranks as threads, and as processes that are killed; strangers on the port.

#include "kernels/comm/rendezvous.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "kernels/comm/rendezvous_server.h"
#include "tests/kernels/comm/rank_threads.h"
#include "tests/support/catch.h"

namespace tally::comm {
namespace {

using Join = model::Result<std::unique_ptr<Rendezvous>> (*)(const Joining&);
constexpr Join kBoth[] = {join_over_tcp, join_in_process};

/// A port that nobody listens at now.
int free_port() { return port_of(*listen_at("127.0.0.1", 0)); }

Joining joining(int rank, int size, int port, Milliseconds timeout = Milliseconds(20'000)) {
  return {"test", {rank, size, rank, "127.0.0.1", port}, timeout};
}

Bytes bytes_of(int rank, int round) {
  return Bytes(static_cast<std::size_t>(rank + 7 * round), static_cast<std::byte>(rank + round));
}

/// "", or what went wrong in that many rounds.
std::string rounds(Rendezvous& rendezvous, const Joining& how, int count) {
  for (int round = 0; round < count; ++round) {
    const auto all = rendezvous.all_gather(bytes_of(how.world.rank, round));
    if (!all) return all.error().what;
    if (static_cast<int>(all->size()) != how.world.size) return "another number of ranks";
    for (int rank = 0; rank < how.world.size; ++rank) {
      if ((*all)[rank] != bytes_of(rank, round)) return "other bytes";
    }
  }
  return "";
}

std::string join_and_exchange(Join join, const Joining& how, int count) {
  const auto rendezvous = join(how);
  return rendezvous ? rounds(**rendezvous, how, count) : rendezvous.error().what;
}

}  // namespace

TEST_CASE("every rank gets what each gave, round after round", "[kernels]") {
  for (const Join join : kBoth) {
    for (const int size : {1, 2, 3, 8, 16}) {
      const int port = free_port();
      const auto said = on_threads(
          size, [&](int rank) { return join_and_exchange(join, joining(rank, size, port), 20); });
      REQUIRE(said == std::vector<std::string>(size));
    }
  }
}

TEST_CASE("a contribution may be as large as its limit", "[kernels]") {
  const int port = free_port();
  const auto said = on_threads(4, [&](int rank) -> std::string {
    const auto rendezvous = join_over_tcp(joining(rank, 4, port));
    const Bytes largest(kMostContributionBytes, static_cast<std::byte>(rank));
    const auto all = (*rendezvous)->all_gather(largest);
    return all && (*all)[3] == Bytes(kMostContributionBytes, std::byte{3}) ? "" : "other bytes";
  });
  REQUIRE(said == std::vector<std::string>(4));
}

TEST_CASE("one process serves several communicators at one port, by name", "[kernels]") {
  const int port = free_port();
  const auto said = on_threads(3, [&](int rank) -> std::string {
    std::vector<std::unique_ptr<Rendezvous>> both;
    for (const std::string name : {"one", "other"}) {
      Joining how = joining(rank, 3, port);
      how.name = name;
      auto rendezvous = join_over_tcp(how);
      if (!rendezvous) return rendezvous.error().what;
      both.push_back(std::move(*rendezvous));
    }
    for (int i = 0; i < 4; ++i) {
      const std::string what = rounds(*both[i % 2], joining(rank, 3, port), 1 + i);
      if (!what.empty()) return what;
    }
    return "";
  });
  REQUIRE(said == std::vector<std::string>(3));
}

TEST_CASE("a rank that never comes is named on every survivor, within the timeout", "[kernels]") {
  for (const Join join : kBoth) {
    const int port = free_port();
    std::vector<std::string> said;
    const double seconds = seconds_of([&] {
      said = on_threads(3, [&](int rank) {
        const int others = rank < 2 ? rank : 3;  // rank 2 does not come
        return join_and_exchange(join, joining(others, 4, port, Milliseconds(1000)), 1);
      });
    });
    REQUIRE(said == std::vector<std::string>(3, "rank 2 did not arrive within 1 s"));
    REQUIRE(seconds >= 1);
    REQUIRE(seconds < 5);
  }
}

TEST_CASE("without rank 0 nobody listens, and rank 0 is named", "[kernels]") {
  const int port = free_port();
  const std::string what =
      join_and_exchange(join_over_tcp, joining(1, 2, port, Milliseconds(200)), 1);
  REQUIRE(what == "rank 0 did not arrive within 200 ms: nobody listens at 127.0.0.1:" +
                      std::to_string(port));
}

TEST_CASE("a rank that leaves is named at once on every survivor, now and later", "[kernels]") {
  for (const Join join : kBoth) {
    for (const int leaver : {0, 2}) {
      const int port = free_port();
      std::vector<std::string> said;
      const double seconds = seconds_of([&] {
        said = on_threads(4, [&](int rank) -> std::string {
          const Joining how = joining(rank, 4, port);
          const auto rendezvous = join(how);
          const std::string what = rounds(**rendezvous, how, rank == leaver ? 2 : 3);
          if (rank == leaver) return "";
          return what + ", " + rounds(**rendezvous, how, 1);
        });
      });
      const std::string left = "rank " + std::to_string(leaver) + " left";
      for (int rank = 0; rank < 4; ++rank) {
        REQUIRE(said[rank] == (rank == leaver ? "" : left + ", " + left));
      }
      REQUIRE(seconds < 5);  // of a timeout of 20
    }
  }
}

TEST_CASE("a process that is killed is named by the others", "[kernels]") {
  const int port = free_port();
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const Joining how = joining(rank, 3, port);
      const auto rendezvous = join_over_tcp(how);
      if (!rendezvous || !rounds(**rendezvous, how, 1).empty()) _exit(1);
      if (rank == 2) raise(SIGKILL);
      _exit(rounds(**rendezvous, how, 1) == "rank 2 left" ? 0 : 2);
    }
    children.push_back(child);
  }
  std::vector<int> ends;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ends.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  REQUIRE(ends == std::vector{0, 0, -SIGKILL});
}

TEST_CASE("strangers on the port disturb nobody", "[kernels]") {
  const int port = free_port();
  const auto serving = RendezvousServer::at("127.0.0.1", port);
  REQUIRE(serving);
  std::vector<Socket> strangers;
  for (const std::string text : {"GET / HTTP/1.1\r\n\r\n", "TLRV\x09", "TLRV", ""}) {
    auto stranger =
        connect_to("127.0.0.1", port, std::chrono::steady_clock::now() + Milliseconds(5000));
    REQUIRE(stranger);
    send(stranger->descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(*stranger));
  }
  const auto said = on_threads(
      3, [&](int rank) { return join_and_exchange(join_over_tcp, joining(rank, 3, port), 5); });
  REQUIRE(said == std::vector<std::string>(3));
}

TEST_CASE("a rank that sends what is no frame, or not now, is lost, and the others are told",
          "[kernels]") {
  Frame frame;
  frame.name = "test";
  frame.rank = 2;
  frame.size = 3;
  frame.timeout_ms = 20'000;
  Frame impostor = frame, skipping = frame, answer = frame;
  impostor.rank = 1;
  impostor.round = 1;
  skipping.round = 2;
  answer.kind = FrameKind::gathered;
  const std::pair<Bytes, std::string> second[] = {
      {Bytes(4, std::byte{'x'}), "the bytes are no frame"},
      {encode(impostor), "a frame out of turn"},
      {encode(skipping), "a frame out of turn"},
      {encode(answer), "a frame that only rank 0 sends"},
  };
  for (const auto& [bytes, what] : second) {
    const int port = free_port();
    const auto said = on_threads(3, [&, &wrong = bytes](int rank) -> std::string {
      if (rank < 2) return join_and_exchange(join_over_tcp, joining(rank, 3, port), 1);
      const Time deadline = std::chrono::steady_clock::now() + Milliseconds(20'000);
      const auto socket = connect_to("127.0.0.1", port, deadline);
      const Bytes first = encode(frame);
      send(socket->descriptor(), first.data(), first.size(), MSG_NOSIGNAL);
      Bytes all;
      wait_readable(*socket, deadline);  // all are there
      receive_some(*socket, all);
      send(socket->descriptor(), wrong.data(), wrong.size(), MSG_NOSIGNAL);
      return wait_readable(*socket, deadline) ? "" : "nobody hung up";
    });
    const std::string lost = "rank 2 sent what is no frame: " + what;
    REQUIRE(said == std::vector<std::string>{lost, lost, ""});
  }
}

TEST_CASE("something else that listens at the port is told from rank 0", "[kernels]") {
  const auto listening = listen_at("127.0.0.1", 0);
  std::thread other([&] {
    wait_readable(*listening, std::chrono::steady_clock::now() + Milliseconds(5000));
    const Socket peer(accept(listening->descriptor(), nullptr, nullptr));
    send(peer.descriptor(), "SSH-2.0-x\r\n", 11, MSG_NOSIGNAL);
    Bytes ignored;
    wait_readable(peer, std::chrono::steady_clock::now() + Milliseconds(5000));
  });
  const auto rendezvous = join_over_tcp(joining(1, 2, port_of(*listening)));
  other.join();
  REQUIRE_FALSE(rendezvous);
  REQUIRE(rendezvous.error().what == "the bytes are no frame");
  REQUIRE(rendezvous.error().hint == "something else talks at this address and port");
}

TEST_CASE("two processes with one rank, or with two sizes, are told so", "[kernels]") {
  for (const Join join : kBoth) {
    const int port = free_port();
    const auto twice = on_threads(2, [&](int i) {
      std::this_thread::sleep_for(Milliseconds(500 * i));  // the first is rank 0, and waits
      return join_and_exchange(join, joining(0, 2, port, Milliseconds(1500)), 0);
    });
    REQUIRE(twice[0] == "rank 1 did not arrive within 1500 ms");
    REQUIRE(twice[1] == "rank 0 is there already");

    const int other = free_port();
    const auto sizes = on_threads(2, [&](int rank) {
      std::this_thread::sleep_for(Milliseconds(500 * rank));
      return join_and_exchange(join, joining(rank, 2 + 2 * rank, other), 0);
    });
    REQUIRE(sizes == std::vector<std::string>(2, "rank 1 counts 4 ranks, others 2"));
  }
}

TEST_CASE("after a failure the same name can be used again", "[kernels]") {
  for (const Join join : kBoth) {
    const int port = free_port();
    REQUIRE(join_and_exchange(join, joining(0, 2, port, Milliseconds(50)), 0) ==
            "rank 1 did not arrive within 50 ms");
    const auto said =
        on_threads(2, [&](int rank) { return join_and_exchange(join, joining(rank, 2, port), 2); });
    REQUIRE(said == std::vector<std::string>(2));
  }
}

TEST_CASE("a name or an address that cannot be is refused", "[kernels]") {
  Joining how = joining(0, 2, free_port());
  for (const std::string& name : {std::string(), std::string(256, 'x'), std::string("a\nb")}) {
    how.name = name;
    REQUIRE_FALSE(join_over_tcp(how));
    REQUIRE_FALSE(join_in_process(how));
  }
  how.name = "x";
  how.world.address = "no.such.host.invalid";
  REQUIRE(join_over_tcp(how).error().where == "MASTER_ADDR");
}

}  // namespace tally::comm
