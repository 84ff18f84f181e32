import Authentication
import MediaInput
import Vidicon

/// The stream key by which a publisher sends a stream, for the status display.
struct PublisherAccess: Sendable {
  /// The stream's name.
  var stream: String
  /// Protocol by which publishers send.
  var scheme: PublishedSource.Scheme
  /// The stream key.
  var key: Secret
  /// Whether the key was made at the start.
  var isGenerated: Bool

  /// Settings to enter in an encoder: server and stream key, or the address with the key for RTSP. The key is shown on terminals only,
  /// since journals and log files keep what is printed.
  ///
  /// - Parameter server: The server's address, `rtmp://HOST:PORT/NAME` or `rtsp://HOST:PORT/NAME`.
  func text(server: String, isTerminal: Bool) -> String {
    let hint =
      self.isGenerated ? "shown on terminals only; give one with \(self.scheme.sourceName)?key=KEY" : "that of --source"
    switch self.scheme {
    case .rtmp:
      return "server \(server)   stream key\(isTerminal ? " \(self.key.text)" : ": \(hint)")"
    case .rtsp:
      let address = "ffmpeg … -f rtsp \(server)?key="
      return isTerminal ? address + self.key.text : "\(address)KEY   key: \(hint)"
    }
  }
}

extension StreamAddresses {
  /// The server that publishers enter, `rtmp://HOST:PORT/NAME`, `rtmps:` or `rtsp:`; nil when the protocol is off.
  func publishServer(_ scheme: PublishedSource.Scheme) -> String? {
    switch scheme {
    // Players' addresses have the application `live` in front.
    case .rtmp: self.rtmp.first.map { $0.replacing("/live/", with: "/", maxReplacements: 1) }
    case .rtsp: self.rtsp.first
    }
  }
}
