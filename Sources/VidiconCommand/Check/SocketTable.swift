/// Sockets of this machine in the text of `/proc/net/tcp`, `tcp6`, `udp` or `udp6`, proc(5).
struct SocketTable {
  /// State of a TCP socket that listens, `TCP_LISTEN` of the kernel.
  private static let listening = "0A"

  private let rows: [[Substring]]

  /// A table of one of the files; lines of another form are left out.
  init(_ text: String) {
    self.rows = text.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }.filter { $0.count > 9 }
  }

  /// The sockets of this machine that have a port, of TCP those that listen; none where the tables cannot be read.
  ///
  /// Those of IPv6 are first, which may have the port of IPv4 too.
  static func socketsOfMachine(port: Int, _ transport: PortFacts.Transport) -> [Socket] {
    // The folder of this process, which a service has that sees processes alone.
    ["\(transport.rawValue)6", transport.rawValue].flatMap {
      SocketTable(SystemFile.text("/proc/self/net/\($0)") ?? "").sockets(ofPort: port, transport)
    }
  }

  /// A socket.
  struct Socket: Equatable {
    /// Number of the socket, which the links in /proc/PID/fd have.
    var inode: UInt64
    /// ID of the user that has opened it.
    var user: UInt32
  }

  /// The sockets that have a port, of TCP those that listen.
  ///
  /// A row begins with number, local address and port in hexadecimal, remote ones, and state; the eighth column is the user, the tenth
  /// the inode.
  func sockets(ofPort port: Int, _ transport: PortFacts.Transport) -> [Socket] {
    self.rows.compactMap { row -> Socket? in
      guard let colon = row[1].lastIndex(of: ":"), Int(row[1][row[1].index(after: colon)...], radix: 16) == port,
        transport == .udp || row[3] == Self.listening, let inode = UInt64(row[9]), inode != 0,
        let user = UInt32(row[7])
      else { return nil }
      return Socket(inode: inode, user: user)
    }
  }
}
