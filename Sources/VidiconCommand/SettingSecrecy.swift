import Media
import Pushing
import Streaming

/// The part of a setting's text that is not shown.
enum SettingSecrecy {
  /// Shown as a whole.
  case open
  /// Passwords, keys and tokens of an address.
  case address
  /// Stream key and path of a push.
  case push
  /// `USER:PASSWORD@` of a TURN server.
  case iceServer
  /// Not shown.
  case secret
  /// Not shown, except for `@FILE`, which names a file.
  case secretOrFile

  /// The mark in the place of a secret, here as in messages.
  static let mask = "…"

  /// The text without secrets.
  func masked(_ text: String) -> String {
    switch self {
    case .open: text
    case .address: Self.hasCredentials(text) ? text.withoutCredentials() : text
    case .push: (try? PushTarget(url: text)).map { Self.address(of: $0) } ?? Self.mask
    case .iceServer:
      // The host stays; a name may be a password by mistake.
      if text.first != "@", let colon = text.firstIndex(of: ":"), let at = text.lastIndex(of: "@") {
        "\(text[...colon])\(Self.mask)\(text[at...])"
      } else {
        text
      }
    case .secret: Self.mask
    case .secretOrFile: text.first == "@" ? text : Self.mask
    }
  }

  /// The URL of a push without its secrets. The name of a rendition in its query is none; any other value there may be one.
  private static func address(of target: PushTarget) -> String {
    let address = "\(target.address)/\(Self.mask)"
    guard target.rendition != RenditionName.main, RenditionSettings.isName(target.rendition) else { return address }
    return "\(address)?rendition=\(target.rendition)"
  }

  /// Whether a source has a place for passwords, keys and tokens: names of devices and files have none, whatever characters they have.
  private static func hasCredentials(_ source: String) -> Bool {
    source.contains("://") || ["rtmp:", "rtsp:", "whip:"].contains { source.hasPrefix($0) }
  }

  /// Refuses a text whose secret is masked: a server would run with a password that everybody knows.
  ///
  /// - Parameter name: The option or key, for messages.
  func check(_ text: String, named name: String) throws(VidiconError) {
    let isMasked =
      switch self {
      case .open: false
      // A file or device may have the character in its name.
      case .address: text.contains(Self.mask) && Self.hasCredentials(text)
      case .push, .iceServer: text.contains(Self.mask)
      case .secret, .secretOrFile: text == Self.mask
      }
    guard !isMasked else {
      throw .usage(name, "its secret is masked", "write the secret in place of \(Self.mask)")
    }
  }
}

extension ServeConfiguration.Key {
  /// The part of the text that is not shown; users have parts of their own.
  var secrecy: SettingSecrecy { self == .iceServers ? .iceServer : .open }
}

extension StreamOptions.Key {
  /// The part of the text that is not shown.
  var secrecy: SettingSecrecy {
    switch self {
    case .source, .audio: .address
    case .push: .push
    case .whipToken: .secretOrFile
    default: .open
    }
  }
}
