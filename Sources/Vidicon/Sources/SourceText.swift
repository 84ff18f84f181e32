internal import CaptureDevices

/// The text that names a source, as its user wrote it: `plasma`, `v4l2:/dev/video0?size=640x480`, `rtsp://USER:PASSWORD@HOST/`.
struct SourceText: Hashable, Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  /// What stands before the first colon, in lower case; nil for sources that are drawn or made.
  var scheme: String? {
    self.text.firstIndex(of: ":").map { self.text[..<$0].lowercased() }
  }

  /// The text without its options.
  var withoutOptions: Substring {
    self.text.prefix { $0 != "?" }
  }

  /// What may be told of it: never a password or an option of an address; to those who are not trusted not the folder of a
  /// file, and of an address the host alone.
  func shown(isTrusted: Bool) -> String {
    if let authority = self.text.firstRange(of: "://") {
      let rest = self.text[authority.upperBound...].prefix { $0 != "?" && $0 != "#" }
      // A password may hold an at sign and, by mistake, a slash.
      let place = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
      let address = isTrusted ? place : place.prefix { $0 != "/" }
      return String(self.text[..<authority.upperBound] + address)
    }
    if self.scheme == "file", !isTrusted, let slash = self.text.lastIndex(of: "/") {
      return "file:" + self.text[self.text.index(after: slash)...]
    }
    return self.text
  }

  /// A message without what ``shown(isTrusted:)`` leaves out of this source, should it quote it.
  func redacted(_ message: String, isTrusted: Bool) -> String {
    var message = message
    // Messages quote it as it is, or as the trusted may see it.
    var secrets = [self.text, self.shown(isTrusted: true)]
    if self.scheme == "file" { secrets.append(String(self.text.dropFirst(5))) }
    secrets.sort { $0.utf8.count > $1.utf8.count }
    let shown = self.shown(isTrusted: isTrusted)
    for secret in secrets where !secret.isEmpty && !shown.hasSuffix(secret) {
      message = message.replacing(secret, with: shown)
    }
    return message
  }
}
