internal import CaptureDevices
internal import MediaInput

/// The text that names a source: `plasma`, `v4l2:/dev/video0?size=640x480`, `rtsp://USER:PASSWORD@HOST/`.
struct SourceText: Hashable, Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  /// The part before the first colon, in lower case; nil for generated sources, which have none.
  var scheme: String? {
    self.text.firstIndex(of: ":").map { self.text[..<$0].lowercased() }
  }

  /// Whether it is a network source that accepts any TLS certificate.
  var isInsecure: Bool {
    NetworkSpecification.matches(self.text) && (try? NetworkSpecification(parsing: self.text))?.isInsecure == true
  }

  /// The text without secrets: passwords and query options of addresses are removed. Without the operator role, a file
  /// keeps its name but not its folder, and an address keeps its host only.
  func shown(isOperator: Bool) -> String {
    if let authority = self.text.firstRange(of: "://") {
      let rest = self.text[authority.upperBound...].prefix { $0 != "?" && $0 != "#" }
      // A password may contain an at sign and, by mistake, a slash.
      let place = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
      let address = isOperator ? place : place.prefix { $0 != "/" }
      return String(self.text[..<authority.upperBound] + address)
    }
    if self.scheme == "file", !isOperator, let slash = self.text.lastIndex(of: "/") {
      return "file:" + self.text[self.text.index(after: slash)...]
    }
    return self.text
  }

  /// Replaces every quotation of this source in a message by ``shown(isOperator:)``.
  func redacted(_ message: String, isOperator: Bool) -> String {
    var message = message
    // Messages quote the text itself, or the text as operators see it.
    var secrets = [self.text, self.shown(isOperator: true)]
    if self.scheme == "file" { secrets.append(String(self.text.dropFirst(5))) }
    secrets.sort { $0.utf8.count > $1.utf8.count }
    let shown = self.shown(isOperator: isOperator)
    for secret in secrets where !secret.isEmpty && !shown.hasSuffix(secret) {
      message = message.replacing(secret, with: shown)
    }
    return message
  }
}
