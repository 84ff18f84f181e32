internal import Authentication
internal import ControlAPI
internal import HTTPServer
internal import HTTPTypes
internal import NIOCore

/// Checks of the server's own parsers with a request target or header value.
struct HTTPFuzzCase {
  private let text: String

  init(_ input: ByteBuffer) {
    self.text = String(buffer: input)
  }

  func run() {
    if let address = IPAddress(parsing: self.text) {
      precondition(address.network.network == address.network, "the network of a network is itself")
    }
    self.checkTarget("/" + self.text)
    self.checkTarget(self.text)
    for length in [0, 1, 10, Int.max] {
      guard case .part(let range) = ByteRange(parsing: self.text, length: length) else { continue }
      precondition(
        !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "a range is part of the whole")
    }
    self.checkForwarding()
    self.checkPrefix()
    _ = ContentCoding.acceptsGzip(self.text)
    if let tag = EntityTag.match(self.text, "\"t\"") {
      precondition(tag == "\"t\"" || tag == "\"t-gzip\"", "a tag that matches is one of the file's")
    }
  }

  /// Checks that only a known proxy is believed, whatever a request says of the address it was forwarded for, and that
  /// an address results.
  private func checkForwarding() {
    let client = HTTPClient(address: "127.0.0.1", localAddress: "127.0.0.1")
    // No traps: they are tokens.
    let fields = [HTTPField.Name("Forwarded")!, HTTPField.Name("X-Forwarded-For")!]
    for field in fields {
      var request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
      request.headerFields[field] = self.text
      precondition(client.effectiveAddress(of: request, proxies: []) == "127.0.0.1", "a stranger is believed")
      precondition(!client.isOnThisMachine(request), "a forwarded request counts as one of this machine")
      let address = client.effectiveAddress(of: request, proxies: ["127.0.0.1"])
      precondition(IPAddress(parsing: address) != nil, "the result is an address")
      // A client that forges the other field is not believed either.
      guard let other = fields.first(where: { $0 != field }) else { return }
      request.headerFields[other] = field == fields[0] ? "203.0.113.9" : "for=203.0.113.9"
      let both = client.effectiveAddress(of: request, proxies: ["127.0.0.1"])
      precondition(both == "127.0.0.1" || IPAddress(parsing: both) == IPAddress(parsing: "203.0.113.9"))
    }
  }

  /// Checks that the path of the server at a proxy leads to this host, is text of HTML and of a header field as it is, and is
  /// believed of a known proxy only.
  private func checkPrefix() {
    let client = HTTPClient(address: "127.0.0.1")
    var request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/")
    // No trap: it is a token.
    request.headerFields[HTTPField.Name("X-Forwarded-Prefix")!] = self.text
    precondition(client.forwardedPrefix(of: request, proxies: []) == nil, "a stranger is believed")
    let prefix = client.forwardedPrefix(of: request, proxies: ["127.0.0.1"])
    guard let prefix = prefix ?? HTTPTarget.prefix(parsing: self.text) else { return }
    let isPlain = prefix.utf8.allSatisfy { byte in
      byte.isDigit || "/%-._~".utf8.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    precondition(
      isPlain && prefix.hasPrefix("/") && !prefix.hasSuffix("/") && !prefix.contains("//"), "a path-absolute")
    precondition(HTTPTarget.prefix(parsing: prefix) == prefix || prefix.utf8.count > 256, "the form is final")
    guard var target = try? HTTPTarget(parsing: "/a/b") else { return }
    target.prefix = prefix
    precondition((try? HTTPTarget(parsing: target.reference(to: "/c"))) != nil, "a reference is a target")
  }

  private func checkTarget(_ text: String) {
    guard let target = try? HTTPTarget(parsing: text) else { return }
    _ = target.parameter("text")
    _ = HTTPRoute(target.components, names: ["a", "a/a", "a/mjpeg"])
    for part in target.components {
      let isItself = !part.isEmpty && part != "." && part != ".." && !part.utf8.contains(UInt8(ascii: "/"))
      precondition(isItself, "a part of a path stands for itself")
    }
  }
}
