/// The addresses of a stream to show to people.
public struct StreamAddresses: Hashable, Sendable {
  /// For players: `rtsp://HOST:PORT/NAME`, then those over TLS.
  public var rtsp: [String]
  /// For browsers: `http://HOST:PORT/NAME`, then those over TLS.
  public var page: [String]

  /// The addresses of a stream on hosts and ports.
  ///
  /// - Parameter path: Percent-encoded, with the first slash.
  init(path: String, hosts: [String], ports: CameraServerPorts) {
    func urls(_ scheme: String, _ port: Int?) -> [String] {
      guard let port else { return [] }
      return hosts.map { "\(scheme)://\($0):\(port)\(path)" }
    }
    self.rtsp = urls("rtsp", ports.rtsp) + urls("rtsps", ports.rtsps)
    self.page = urls("http", ports.http) + urls("https", ports.https)
  }
}
