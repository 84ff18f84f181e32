import Authentication
import MediaInput
import Vidicon

/// The stream key or token by which a publisher sends a stream, for the status display.
struct PublisherAccess: Sendable {
  /// The stream's name.
  var stream: String
  /// Protocol by which publishers send.
  var scheme: PublishedSource.Scheme
  /// The stream key; the token for WHIP.
  var key: Secret
  /// Whether the key was made at the start.
  var isGenerated: Bool

  /// Settings to enter in an encoder: server and stream key, the address with the key for RTSP, or address and token for WHIP. The key is
  /// shown on terminals only, since journals and log files keep what is printed.
  ///
  /// - Parameter server: The server's address, `rtmp://HOST:PORT/NAME`, `rtsp://HOST:PORT/NAME` or `https://HOST:PORT/NAME/whip`.
  func text(server: String, isTerminal: Bool) -> String {
    let parameter = StreamOptions.keyParameter(of: self.scheme)
    let example = "\(self.scheme.sourceName)?\(parameter)=\(parameter.uppercased())"
    let hint = self.isGenerated ? "shown on terminals only; give one with \(example)" : "that of --source"
    switch self.scheme {
    case .rtmp:
      return "server \(server)   stream key\(isTerminal ? " \(self.key.text)" : ": \(hint)")"
    case .rtsp:
      let address = "ffmpeg … -f rtsp \(server)?key="
      return isTerminal ? address + self.key.text : "\(address)KEY   key: \(hint)"
    case .whip:
      return "WHIP \(server)   token\(isTerminal ? " \(self.key.text)" : ": \(hint)")"
    }
  }
}

extension PublisherAccess {
  /// Access of the publishers of a stream; nil for one with another source.
  ///
  /// - Parameter makeKey: Returns a key where none is given.
  init?(to stream: StreamOptions, makeKey: () -> Secret) {
    guard let scheme = stream.publishScheme else { return nil }
    let given = stream.publishToken
    self.init(stream: stream.name, scheme: scheme, key: given?.secret ?? makeKey(), isGenerated: given == nil)
  }

  /// The page that sends the camera of the device that opens it, with the token in its fragment; nil for other protocols than WHIP, and
  /// without HTTP over TLS, which browsers need. For terminals only.
  func page(of addresses: StreamAddresses) -> String? {
    guard self.scheme == .whip, let page = addresses.publishPages.first else { return nil }
    return "\(page)#\(self.key.text)"
  }
}

extension StreamAddresses {
  /// The server that publishers enter, `rtmp://HOST:PORT/NAME`, `rtmps:`, `rtsp:` or `https:`; nil when the protocol is
  /// off.
  func publishServer(_ scheme: PublishedSource.Scheme) -> String? {
    switch scheme {
    // Players' addresses have the application `live` in front.
    case .rtmp: self.rtmp.first.map { $0.replacing("/live/", with: "/", maxReplacements: 1) }
    case .rtsp: self.rtsp.first
    case .whip: self.whip.first
    }
  }
}
