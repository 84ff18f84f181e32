/// Sockets of this machine in the text of `/proc/net/tcp`, `tcp6`, `udp` or `udp6`, proc(5).
struct SocketTable {
  /// State of a TCP socket that listens, `TCP_LISTEN` of the kernel.
  private static let listening = "0A"

  private let rows: [[Substring]]

  /// A table of one of the files; lines of another form are left out.
  init(_ text: String) {
    self.rows = text.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }.filter { $0.count > 9 }
  }

  /// Inodes of the sockets that have a port, of TCP those that listen.
  ///
  /// A row begins with number, local address and port in hexadecimal, remote ones, and state; the tenth column is the inode.
  func inodes(ofPort port: Int, _ transport: PortFacts.Transport) -> [UInt64] {
    self.rows.compactMap { row in
      guard let colon = row[1].lastIndex(of: ":"), Int(row[1][row[1].index(after: colon)...], radix: 16) == port,
        transport == .udp || row[3] == Self.listening
      else { return nil }
      return UInt64(row[9]).flatMap { $0 == 0 ? nil : $0 }
    }
  }
}
