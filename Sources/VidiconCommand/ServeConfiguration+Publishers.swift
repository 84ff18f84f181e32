import Authentication
import Foundation
import Media
import MediaInput
import StreamControl

extension ServeConfiguration {
  /// Whether a stream has the source `whip:`.
  var receivesWHIP: Bool { self.streams.contains { $0.publishScheme == .whip } }

  /// Whether a stream has the source `rtmp:`.
  var receivesRTMP: Bool { self.streams.contains { $0.publishScheme == .rtmp } }

  /// Checks that publishers reach their streams, each by a token of its own.
  func validatePublishers() throws(VidiconError) {
    guard self.receivesWHIP else {
      guard self.streams.contains(where: { $0.whipToken != nil }) else { return }
      throw .usage("--whip-token", "no stream has the source whip:", "add --source whip:, or leave it out")
    }
    guard self.isWebRTCOn else {
      throw .usage("the source whip:", "publishers send over WebRTC, which is off", "leave --webrtc off out")
    }
    var tokens: Set<Secret> = []
    for stream in self.streams where stream.publishScheme == .whip {
      if stream.publishKey != nil, stream.whipToken != nil {
        throw .usage(
          "--whip-token", "the source of \(quoted(stream.name)) has a token already",
          "give one of --source whip:?token=TOKEN and --whip-token TOKEN")
      }
      guard let token = stream.publishToken else { continue }
      guard tokens.insert(token.secret).inserted else {
        throw .usage(
          "--whip-token", "two streams have the same token",
          "give each its own: --stream name=NAME,source=whip:?token=…")
      }
    }
  }
}

extension StreamOptions {
  /// The key or token by which publishers send the stream; nil for one that is made at the start.
  var publishToken: AccessToken? {
    self.publishKey ?? (self.publishScheme == .whip ? self.whipToken : nil)
  }

  /// Name of the parameter of a published source that has the key, as in `rtmp:?key=KEY`.
  static func keyParameter(of scheme: PublishedSource.Scheme) -> String { scheme == .whip ? "token" : "key" }

  /// Parses `TOKEN`, or `@FILE` for the first line of a file, which keeps it out of the list of processes. No error quotes it.
  static func whipToken(_ text: String) throws(VidiconError) -> AccessToken {
    var token = text
    if text.first == "@" {
      let file = SecretFile(
        option: "--whip-token @FILE", secrets: "a token", form: "write the token into its first line")
      let content = try file.text(of: String(text.dropFirst()))
      token = content.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    }
    guard let parsed = AccessToken(parsing: token, role: .publisher(stream: "")) else {
      throw .usage(
        "--whip-token", "the token cannot be used",
        "give 16 to 256 letters, digits and -._~+/, or @FILE with such a line")
    }
    return parsed
  }
}
