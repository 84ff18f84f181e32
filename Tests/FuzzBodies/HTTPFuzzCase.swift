internal import Authentication
internal import HTTPServer
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
    _ = ContentCoding.acceptsGzip(self.text)
    if let tag = EntityTag.match(self.text, "\"t\"") {
      precondition(tag == "\"t\"" || tag == "\"t-gzip\"", "a tag that matches is one of the file's")
    }
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
