internal import Media

/// The name of a source as it is shown: `plasma`, `v4l2:/dev/video0?size=640x480`, `rtsp://USER:PASSWORD@HOST/`.
struct SourceText: Hashable, Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  /// The part before the first colon, in lower case; nil for generated sources, which have none.
  private var scheme: String? {
    self.text.firstIndex(of: ":").map { self.text[..<$0].lowercased() }
  }

  /// The text without anything that may be a password or token, as far as an audience sees it.
  func shown(to audience: SourceAudience) -> String {
    switch audience {
    case .operators: self.shown(isOperator: true)
    case .controllingViewers: self.shown(isOperator: false)
    case .viewers: self.kind
    }
  }

  /// The kind of source: the text of a generated one, else its scheme and `…`.
  private var kind: String {
    let shown = self.shown(isOperator: false)
    if let scheme = shown.firstRange(of: "://") { return shown[..<scheme.upperBound] + "…" }
    return shown.firstIndex(of: ":").map { shown[...$0] + "…" } ?? shown
  }

  /// The text without anything that may be a password or token. Without the operator role, a file keeps its name but not its
  /// folder, and an address keeps its host only.
  func shown(isOperator: Bool) -> String {
    if self.text.contains("://") {
      let shown = self.text.withoutCredentials()
      guard !isOperator, let rest = shown.firstRange(of: "://")?.upperBound else { return shown }
      let place = shown[rest...].prefix { $0 != "/" && $0 != "?" }
      let host = place.lastIndex(of: "@").map { place[place.index(after: $0)...] } ?? place
      return String(shown[..<rest] + host)
    }
    let shown = self.text.contains("@") ? self.text.withoutCredentials() : self.text
    if self.scheme == "file", !isOperator, let slash = shown.lastIndex(of: "/") {
      return "file:" + shown[shown.index(after: slash)...]
    }
    return shown
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

/// Level of detail at which clients see the names of sources, which contain paths, addresses and devices of the owner.
package enum SourceAudience: Hashable, Sendable {
  /// Operators: everything but passwords.
  case operators
  /// Viewers that may choose sources: names of files without folders, hosts without paths, devices.
  case controllingViewers
  /// Other viewers: the kind of source.
  case viewers
}
