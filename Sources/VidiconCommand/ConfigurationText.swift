import Authentication
import Media

/// The text of a configuration as a YAML file that `--config` accepts: what is given as keys, each with its origin in a comment, and what
/// has its default as comments.
struct ConfigurationText {
  /// Whether passwords, keys and tokens are shown; masked ones are not accepted again.
  var showsSecrets: Bool
  private var lines: [String] = []
  private var hasMasked = false

  /// The text of a configuration.
  init(_ configuration: ServeConfiguration, showsSecrets: Bool) {
    self.showsSecrets = showsSecrets
    for key in ServeConfiguration.Key.allCases {
      switch key {
      case .streams:
        self.lines.append("streams:")
        for stream in configuration.streams { self.append(stream) }
      case .users: self.append(users: configuration)
      default:
        self.append(
          key, configuration.given[key], isList: key.isList, default: configuration.defaultText(of: key), key.secrecy,
          indentation: "")
      }
    }
  }

  /// The lines of the file.
  var text: String {
    let masks =
      self.hasMasked
      ? [
        "# Secrets are shown as \(SettingSecrecy.mask), which is not accepted in their place; --show-secrets shows them."
      ] : []
    return (["# What is in force. A line that begins with # and has a key is a default."] + masks + self.lines)
      .joined(separator: "\n")
  }

  private mutating func append(_ stream: StreamOptions) {
    // A stream has a name in any case, so that there is a mapping.
    let origin = stream.given[.name].last?.origin ?? .default
    self.append("  - name: \(YAMLScalar(stream.name))", origin)
    for key in StreamOptions.Key.allCases where key != .name {
      let isList = [.push, .pushFile].contains(key)
      self.append(
        key, stream.given[key], isList: isList, default: stream.defaultText(of: key), key.secrecy, indentation: "    ")
    }
  }

  /// Appends a setting: one line, or one for each member of a list.
  private mutating func append<Key: SettingKey>(
    _ key: Key, _ values: [GivenSettings<Key>.Value], isList: Bool, default text: String?, _ secrecy: SettingSecrecy,
    indentation: String
  ) {
    let name = indentation + key.rawValue
    guard let last = values.last else {
      let value = text.map { " \(YAMLScalar($0))" } ?? ""
      self.append("\(indentation)# \(key.rawValue):\(value)", .default)
      return
    }
    guard isList else { return self.append("\(name): \(self.shown(last.form, secrecy))", last.origin) }
    // Values that each run reads from its environment would be there twice.
    let isWritten = values.contains { $0.origin != .environment }
    self.lines.append(isWritten ? "\(name):" : "\(indentation)# \(key.rawValue):")
    for value in values {
      let mark = value.origin == .environment ? "# - " : "- "
      // Kept without secrets.
      let secrecy = value.origin == .environment ? .open : secrecy
      self.append("\(indentation)  \(mark)\(self.shown(value.form, secrecy))", value.origin)
    }
  }

  private mutating func append(users configuration: ServeConfiguration) {
    let (users, tokens) = (configuration.access.users, configuration.access.tokens)
    guard !users.isEmpty || !tokens.isEmpty else { return self.append("# users:", .default) }
    let origin = configuration.given[.users].last?.origin ?? .file
    self.lines.append("users:")
    for user in users {
      let password =
        switch user.password {
        case .clear(let secret): secret.text
        case .scrypt(let hash): hash.text
        }
      self.append(user: [("name", user.user), ("password", self.shown(password, .secret))], user.role, origin)
    }
    for token in tokens { self.append(user: [("token", self.shown(token.secret.text, .secret))], token.role, origin) }
  }

  private mutating func append(user pairs: [(String, String)], _ role: Role, _ origin: SettingOrigin) {
    var pairs = pairs + [("role", role.name)]
    if case .publisher(let stream) = role { pairs.append(("stream", stream)) }
    self.append("  - \(Self.mapping(pairs))", origin)
  }

  /// Appends a line with the origin of its value.
  private mutating func append(_ line: String, _ origin: SettingOrigin) {
    let padding = String(repeating: " ", count: max(2, 40 - line.count))
    self.lines.append("\(line)\(padding)# \(origin.rawValue)")
  }

  /// A value as YAML, without its secrets unless they are shown.
  private mutating func shown<Key>(_ form: GivenSettings<Key>.Form, _ secrecy: SettingSecrecy) -> String {
    switch form {
    case .text(let text): return "\(YAMLScalar(self.shown(text.text, secrecy)))"
    case .mapping(let pairs):
      return Self.mapping(
        pairs.map { key, value in
          let secrecy: SettingSecrecy = key == "token" ? .secret : key == "url" ? secrecy : .open
          return (key, self.shown(value.text, secrecy))
        })
    }
  }

  private mutating func shown(_ text: String, _ secrecy: SettingSecrecy) -> String {
    guard !self.showsSecrets else { return text }
    let masked = secrecy.masked(text)
    if masked != text { self.hasMasked = true }
    return masked
  }

  private static func mapping(_ pairs: [(String, String)]) -> String {
    "{\(pairs.map { "\($0.0): \(YAMLScalar($0.1))" }.joined(separator: ", "))}"
  }
}

/// A text as a scalar of YAML 1.1 in one line: plain where no character has a meaning, else in quotation marks.
struct YAMLScalar: CustomStringConvertible {
  private let text: String

  /// A scalar of a text.
  init(_ text: String) {
    self.text = text
  }

  var description: String {
    let isPlain =
      self.text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "._/%+-".utf8.contains(byte)
        }
      }
      && self.text.first.map { $0.isLetter || $0.isNumber || $0 == "/" } ?? false
    return isPlain ? self.text : "\"\(self.text.unicodeScalars.map(Self.escaped).joined())\""
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\"", "\\": "\\\(scalar)"
    case _
    where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
      || scalar.properties.generalCategory == .lineSeparator
      || scalar.properties.generalCategory == .paragraphSeparator:
      "\\U" + String(repeating: "0", count: 8 - String(scalar.value, radix: 16).count) + String(scalar.value, radix: 16)
    default: String(scalar)
    }
  }
}
