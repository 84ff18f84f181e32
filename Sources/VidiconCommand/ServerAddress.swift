import Foundation
import Media

/// The addresses at which a running server answers HTTP, in a file beside its control token, where commands of the same user
/// find them: `$XDG_RUNTIME_DIR/vidicon/address-PORT`, one URL a line.
package struct ServerAddress: Equatable, Sendable {
  /// Beginning of the names of the files; the port of HTTP follows.
  private static let prefix = "address-"

  /// Numeric address to connect to; nil for the loopback addresses.
  var host: String?
  /// Port of HTTP.
  var port: Int
  /// Port of HTTP over TLS; nil without one.
  var securePort: Int?

  /// An address.
  ///
  /// - Parameter bind: The address that the server listens on; nil and unspecified addresses stand for all.
  init(bind: String? = nil, port: Int, securePort: Int? = nil) {
    self.host = bind.flatMap { ["::", "0.0.0.0"].contains($0) ? nil : $0 }
    self.port = port
    self.securePort = securePort
  }

  /// Parses the text of a file; nil for other text.
  package init?(parsing text: String) {
    var ports: [String: Int] = [:]
    var host = "localhost"
    for line in text.split(separator: "\n") {
      guard let mark = line.range(of: "://"), let colon = line.lastIndex(of: ":"), colon >= mark.upperBound,
        let port = Int(line[line.index(after: colon)...]), (1...65_535).contains(port)
      else { return nil }
      ports[String(line[..<mark.lowerBound])] = port
      host = line[mark.upperBound..<colon].replacing("%25", with: "%").filter { $0 != "[" && $0 != "]" }
    }
    guard let port = ports["http"] else { return nil }
    self.init(bind: host == "localhost" ? nil : host, port: port, securePort: ports["https"])
  }

  /// The text of the file: the URL of HTTP, then that of HTTP over TLS.
  package var text: String {
    let host = self.host.map { host in
      host.contains(":") ? "[\(host.replacing("%", with: "%25"))]" : host
    }
    return [("http", self.port as Int?), ("https", self.securePort)].compactMap { scheme, port in
      port.map { "\(scheme)://\(host ?? "localhost"):\($0)\n" }
    }.joined()
  }

  /// Writes the file; nil when that fails, which ``ControlToken`` reports.
  func write() -> RuntimeFile? {
    try? RuntimeFile(name: "\(Self.prefix)\(self.port)", text: self.text)
  }

  /// The addresses of a user's servers by HTTP port, of the files in folders. A server that was killed leaves its own.
  static func find(in folders: [String], of user: uid_t) throws(VidiconError) -> [Int: ServerAddress] {
    try RuntimeFile.contents(prefix: Self.prefix, in: folders, of: user)
      .compactMapValues { ServerAddress(parsing: $0.text) }
  }
}
