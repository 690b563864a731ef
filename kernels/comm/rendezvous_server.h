#pragma once

// The thread of rank 0's process at which the processes of its communicators meet.

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/comm/frame.h"
#include "kernels/comm/room.h"
#include "kernels/comm/tcp_socket.h"

namespace tally::comm {

/// Serves any number of communicators, told apart by name. Whoever sends what is no frame is cut
/// off: a stranger silently, a rank as one that the others have lost.
class RendezvousServer {
 public:
  /// This process's server at that address: the one that is there, or a new one.
  static model::Result<std::shared_ptr<RendezvousServer>> at(const std::string& address, int port);

  explicit RendezvousServer(Socket listening);
  /// Sends what is owed, for a second at most, and closes all connections.
  ~RendezvousServer();

 private:
  using Meeting = Room<Bytes>;
  struct Connection {
    Socket socket;
    Bytes received, owed;
    std::shared_ptr<Meeting> room;  // null until its first frame
    int rank = 0;
    bool was_told = false;  // that the room has failed
    bool is_over = false;   // nothing more is read from it
  };

  void serve();
  /// When the next room expires; a second from now where none does.
  Time next_deadline() const;
  void accept_all();
  void read(Connection& connection);
  void take_frame(Connection& connection, Frame frame);
  /// One that is not what its sender has to send now; the room fails.
  void refuse(Connection& connection, const model::Error& why);
  /// Where its rank belongs, or null and the reason.
  std::shared_ptr<Meeting> find_room(const Frame& frame, model::Error& why_not);
  void drop(Connection& connection);
  /// To everybody what is complete, and what has failed.
  void deliver();
  void write(Connection& connection);
  bool owes_something() const;

  Socket listening_, wake_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, std::weak_ptr<Meeting>> rooms_;  // by name, the latest
  std::thread thread_;
};

}  // namespace tally::comm
