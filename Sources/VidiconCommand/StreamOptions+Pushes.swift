import Authentication
import Foundation
import Media
import Pushing

extension StreamOptions {
  /// Keys of a push, in its text and in the configuration file.
  enum PushKey: String, CaseIterable {
    case url, rendition, bitrate, adaptive, token
  }

  /// The variable of the environment with URLs, separated by white space.
  static let pushVariable = "VIDICON_PUSH"

  /// The variable of the environment with the token of WHIP pushes that have none of their own.
  static let pushTokenVariable = "VIDICON_PUSH_TOKEN"

  /// Parses a push: a URL, or `rendition=low,bitrate=1500k,adaptive=no,token=TOKEN,url=URL`, where everything behind `url=` is the
  /// URL, which may name the rendition too. No error quotes the text, since it has a stream key or a token.
  static func push(_ text: String) throws(VidiconError) -> PushTarget {
    try Self.push(try Self.pushValues(text))
  }

  /// Parses the text of a push into the texts of its keys.
  static func pushValues(_ text: String) throws(VidiconError) -> [PushKey: String] {
    var values: [PushKey: String] = [:]
    var rest = text[...]
    while !rest.hasPrefix("url="), !rest.hasPrefix("rtmp"), !rest.hasPrefix("whip+"),
      let comma = rest.firstIndex(of: ",")
    {
      let pair = rest[..<comma].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      rest = rest[rest.index(after: comma)...]
      guard pair.count == 2, let key = PushKey(rawValue: String(pair[0])) else { throw Self.pushUsage }
      guard values.updateValue(String(pair[1]), forKey: key) == nil else {
        throw .usage("the push", "\(key.rawValue) is given twice", "give it once")
      }
    }
    values[.url] = String(rest.hasPrefix("url=") ? rest.dropFirst(4) : rest)
    return values
  }

  /// Adds a push by the texts of its keys.
  mutating func addPush(_ values: [PushKey: String], from origin: SettingOrigin) throws(VidiconError) {
    self.pushes.append(try Self.push(values))
    self.given.append(.push, Self.form(ofPush: values), from: origin)
  }

  /// The form in which a push is kept as given.
  static func form(ofPush values: [PushKey: String]) -> GivenSettings<Key>.Form {
    if values.count == 1, let url = values[.url] { return .text(Secret(url)) }
    return .mapping(PushKey.allCases.compactMap { key in values[key].map { (key.rawValue, Secret($0)) } })
  }

  /// Creates a push from the texts of its keys, of which no error quotes one. ``PushTarget`` checks the values.
  static func push(_ values: [PushKey: String]) throws(VidiconError) -> PushTarget {
    try Key.push.secrecy.check(values[.url] ?? "", named: "the push")
    try SettingSecrecy.secret.check(values[.token] ?? "", named: "the push")
    let bitrate = values[.bitrate].map(Self.bitsPerSecond)
    guard bitrate != .some(nil) else {
      throw .usage("the push", "its bitrate is no number", "give bits per second, such as 1500k")
    }
    let isAdaptive: Bool
    switch values[.adaptive] {
    case nil, "yes", "true": isAdaptive = true
    case "no", "false": isAdaptive = false
    default: throw .usage("the push", "its adaptive is neither yes nor no", "give one of them")
    }
    return try PushTarget(
      url: values[.url] ?? "", token: values[.token].map { Secret($0) },
      rendition: values[.rendition], bitrate: bitrate ?? nil, isAdaptive: isAdaptive)
  }

  private static let pushUsage = VidiconError.usage(
    "the push", "it is neither a URL nor options before one",
    "give rtmp://HOST/APP/KEY or whip+https://HOST/PATH, or rendition=low,bitrate=1500k,adaptive=no,url=rtmp://HOST/APP/KEY"
  )

  /// Reads a file of pushes, one a line; empty lines and those that begin with # are skipped.
  ///
  /// The file must be the user's own, or root's, and readable by its owner only: it has stream keys.
  ///
  /// - Parameter user: The user whose file, or root's, it may be.
  static func pushes(inFile path: String, user: uid_t = geteuid()) throws(VidiconError) -> [PushTarget] {
    let file = SecretFile(option: "--push-file", secrets: "stream keys", form: "write one push a line")
    let text = try file.text(of: path, user: user)
    return try Self.pushes(inLines: text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline), of: path)
  }

  /// Reads a file with a token, which must be as that of ``pushes(inFile:user:)``; white space around the token is left out.
  static func pushToken(inFile path: String, user: uid_t = geteuid()) throws(VidiconError) -> Secret {
    let file = SecretFile(option: "--push-token-file", secrets: "a token", form: "write the token")
    return Secret(try file.text(of: path, user: user).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  private static func pushes(inLines lines: [Substring], of path: String) throws(VidiconError) -> [PushTarget] {
    var targets: [PushTarget] = []
    for (index, line) in lines.enumerated() {
      let line = line.trimmingCharacters(in: .whitespacesAndNewlines)
      if line.isEmpty || line.hasPrefix("#") { continue }
      do throws(VidiconError) {
        targets.append(try Self.push(line))
      } catch {
        throw error.of("\(path.pathWithoutCredentials()):\(index + 1)")
      }
    }
    return targets
  }

  /// Parses the value of ``pushVariable``.
  static func pushes(inVariable text: String) throws(VidiconError) -> [PushTarget] {
    try Self.pushes(inLines: text.split(whereSeparator: \.isWhitespace), of: Self.pushVariable)
  }
}
