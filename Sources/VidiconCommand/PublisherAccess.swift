import Authentication
import Vidicon

/// The stream key by which a publisher sends a stream, for the status display.
struct PublisherAccess: Sendable {
  /// The stream's name.
  var stream: String
  /// The stream key.
  var key: Secret
  /// Whether the key was made at the start.
  var isGenerated: Bool

  /// Settings to enter in an encoder: server and stream key. The key is shown on terminals only, since journals and log files keep what
  /// is printed.
  ///
  /// - Parameter server: The server's address, `rtmp://HOST:PORT/NAME`.
  func text(server: String, isTerminal: Bool) -> String {
    if isTerminal { return "server \(server)   stream key \(self.key.text)" }
    let hint = self.isGenerated ? "shown on terminals only; give one with rtmp:?key=KEY" : "that of --source"
    return "server \(server)   stream key: \(hint)"
  }
}

extension StreamAddresses {
  /// The server that publishers enter, `rtmp://HOST:PORT/NAME` or `rtmps:`; nil when RTMP is off.
  var publishServer: String? {
    // Players' addresses have the application `live` in front.
    self.rtmp.first.map { $0.replacing("/live/", with: "/", maxReplacements: 1) }
  }
}
