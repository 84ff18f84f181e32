import Authentication
import Foundation
package import Media
import Pushing
import Yams

extension ServeConfiguration {
  /// Reads a configuration file.
  init(contentsOf path: String) throws(VidiconError) {
    try self.init(yaml: SettingsText.read(path, option: "--config"), path: path)
  }

  /// Warns when the file has stream keys of pushes, and users of this machine beside its owner and group can read it.
  private mutating func warnOfReadableKeys(in path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IROTH != 0 else { return }
    self.warnings.append(
      "\(path): all users of this machine can read it, and it has stream keys of pushes; change that with chmod 600")
  }

  /// Parses the text of a configuration file, whose keys are ``Key`` and ``StreamOptions/Key``; `docs/configuration.md` describes them.
  package init(yaml text: String, path: String) throws(VidiconError) {
    let root: Node?
    do {
      root = try Yams.compose(yaml: text)
    } catch let error as YamlError {
      let (place, problem) = error.summary
      throw .usage("\(path)\(place)", problem, "see docs/configuration.md for the form")
    } catch {
      throw .usage(path, "not YAML", "see docs/configuration.md for the form")
    }
    self.init()
    guard let root else { throw .usage(path, "it is empty", "see docs/configuration.md for the keys") }
    let reader = YAMLReader(path: path)
    for (key, value) in try reader.mapping(root, keys: Key.self) {
      switch key {
      case .users:
        for user in try reader.sequence(value) { try self.appendUser(user, reader) }
      case .streams:
        let streams = try reader.sequence(value)
        for stream in streams { self.streams.append(try Self.stream(stream, reader)) }
        if streams.contains(where: { $0[StreamOptions.Key.push.rawValue] != nil }) {
          self.warnOfReadableKeys(in: path)
        }
      default:
        let texts = try key.isList ? reader.texts(value) : [reader.text(value)]
        do throws(VidiconError) {
          try self.set(key, to: texts, named: key.rawValue, from: .file)
        } catch {
          throw error.of(reader.place(of: value))
        }
      }
    }
  }

  private enum UserKey: String, CaseIterable {
    case name, password, token, role, stream
  }

  /// Appends a user with a name and a password, or a token.
  private mutating func appendUser(_ node: Node, _ reader: YAMLReader) throws(VidiconError) {
    var values: [UserKey: String] = [:]
    for (key, value) in try reader.mapping(node, keys: UserKey.self, showsKeys: false) {
      values[key] = try reader.text(value)
    }
    let (name, password, token) = (values[.name] ?? "", values[.password] ?? "", values[.token] ?? "")
    self.given.append(.users, .text(Secret(name)), from: .file)
    do throws(VidiconError) {
      for secret in [password, token] { try SettingSecrecy.secret.check(secret, named: "a user") }
    } catch {
      throw error.of(reader.place(of: node))
    }
    let role: Role
    switch (values[.role], values[.stream] ?? "") {
    case (nil, _), ("viewer", _): role = .viewer
    case ("operator", _): role = .operator
    case ("publisher", let stream) where !stream.isEmpty: role = .publisher(stream: stream)
    default:
      throw reader.failure(node, "the role of a user is viewer, operator, or publisher with a stream")
    }
    if !token.isEmpty {
      guard password.isEmpty, let token = AccessToken(parsing: token, role: role) else {
        throw reader.failure(
          node, "a token has 16 to 256 letters, digits and -._~+/, and no password beside it; see docs/configuration.md"
        )
      }
      self.access.tokens.append(token)
      return
    }
    guard !name.isEmpty, !name.contains(":") else {
      throw reader.failure(node, "a user needs a name without a colon")
    }
    guard !password.isEmpty else {
      throw reader.failure(node, "a user has no password")
    }
    self.access.users.append(Credentials(user: name, password: password, role: role))
  }

  private static func stream(_ node: Node, _ reader: YAMLReader) throws(VidiconError) -> StreamOptions {
    var stream = StreamOptions()
    let pairs = try reader.mapping(node, keys: StreamOptions.Key.self)
    // Other keys override parts of a preset.
    for (key, value) in pairs.filter({ $0.0 == .preset }) + pairs.filter({ $0.0 != .preset }) {
      if key == .push {
        try reader.readPushes(value) { values throws(VidiconError) in try stream.addPush(values, from: .file) }
        continue
      }
      let texts =
        try key == .rendition
        ? [reader.renditions(value)] : key == .pushFile ? reader.texts(value) : [reader.text(value)]
      do throws(VidiconError) {
        for text in texts { try stream.set(key, to: text, from: .file) }
      } catch {
        throw error.of(reader.place(of: value))
      }
    }
    return stream
  }
}

extension YamlError {
  /// Place and problem of an error, without the line of the file, which may have a password.
  fileprivate var summary: (place: String, problem: String) {
    switch self {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      (":\(mark.line):\(mark.column)", "not YAML: \(problem)")
    case .reader(let problem, _, _, _): ("", "not YAML: \(problem)")
    default: ("", "not YAML")
    }
  }
}

/// Reads nodes of a YAML file; errors name file, line and column.
private struct YAMLReader {
  let path: String

  /// The pairs of a mapping; unknown and repeated keys are errors.
  ///
  /// - Parameter showsKeys: Whether errors quote an unknown key, which may be a password that lacks its key.
  func mapping<Key: RawRepresentable<String> & CaseIterable & Hashable>(
    _ node: Node, keys: Key.Type, showsKeys: Bool = true
  ) throws(VidiconError) -> [(Key, Node)] {
    guard case .mapping(let mapping) = node else {
      throw self.failure(node, "expected keys and values")
    }
    var pairs: [(Key, Node)] = []
    var seen: Set<Key> = []
    for (keyNode, value) in mapping {
      let text = try self.text(keyNode)
      guard let key = Key(rawValue: text) else {
        throw self.failure(keyNode, "unknown key\(showsKeys ? " \(quoted(text))" : "")", Self.hint(for: text, of: keys))
      }
      guard seen.insert(key).inserted else { throw self.failure(keyNode, "\"\(text)\" is given twice", "give it once") }
      pairs.append((key, value))
    }
    return pairs
  }

  /// The next step where a key is unknown: the one that was probably meant, or all.
  private static func hint<Key: RawRepresentable<String> & CaseIterable>(for text: String, of keys: Key.Type) -> String
  {
    if keys == ServeConfiguration.Key.self, let key = StreamOptions.Key(rawValue: text) {
      return "\"\(key.rawValue)\" is a key of a stream; write it below streams"
    }
    if keys == StreamOptions.Key.self, let key = ServeConfiguration.Key(rawValue: text) {
      return "\"\(key.rawValue)\" is a key of the server; write it outside of streams"
    }
    let near =
      (keys as? any SettingKey.Type)?.nearest(to: text) ?? text.nearest(among: Key.allCases.map { ($0.rawValue, []) })
    if let near { return "did you mean \"\(near)\"?" }
    return "give one of \(Key.allCases.map(\.rawValue).joined(separator: ", "))"
  }

  func sequence(_ node: Node) throws(VidiconError) -> [Node] {
    guard case .sequence(let sequence) = node else {
      throw self.failure(node, "expected a list")
    }
    return Array(sequence)
  }

  /// The members of a list, or of a single value.
  private func members(_ node: Node) -> [Node] {
    if case .sequence(let sequence) = node { Array(sequence) } else { [node] }
  }

  /// A list of values, or one value.
  func texts(_ node: Node) throws(VidiconError) -> [String] {
    try self.members(node).map { node throws(VidiconError) in try self.text(node) }
  }

  func text(_ node: Node) throws(VidiconError) -> String {
    guard case .scalar(let scalar) = node else {
      throw self.failure(node, "expected a single value")
    }
    return scalar.string
  }

  /// The text of `--rendition`: of a value, or of a list whose members are values, or keys and values.
  func renditions(_ node: Node) throws(VidiconError) -> String {
    let texts = try self.members(node).map { node throws(VidiconError) in try self.rendition(node) }
    return texts.isEmpty ? "none" : texts.joined(separator: String(StreamOptions.renditionSeparator))
  }

  private func rendition(_ node: Node) throws(VidiconError) -> String {
    guard case .mapping(let mapping) = node else { return try self.text(node) }
    var pairs: [String] = []
    for (key, value) in mapping { pairs.append("\(try self.text(key))=\(try self.text(value))") }
    return pairs.joined(separator: ",")
  }

  /// Reads the pushes of a value, or of a list whose members are URLs, or keys and values. No error quotes them.
  ///
  /// - Parameter add: Receives the keys and values of each push.
  func readPushes(
    _ node: Node, add: ([StreamOptions.PushKey: String]) throws(VidiconError) -> Void
  ) throws(VidiconError) {
    for member in self.members(node) {
      do throws(VidiconError) {
        try add(try self.pushValues(member))
      } catch {
        throw error.of(self.place(of: member))
      }
    }
  }

  private func pushValues(_ node: Node) throws(VidiconError) -> [StreamOptions.PushKey: String] {
    guard case .mapping = node else { return try StreamOptions.pushValues(try self.text(node)) }
    var values: [StreamOptions.PushKey: String] = [:]
    for (key, value) in try self.mapping(node, keys: StreamOptions.PushKey.self, showsKeys: false) {
      values[key] = try self.text(value)
    }
    return values
  }

  func boolean(_ node: Node) throws(VidiconError) -> Bool {
    switch try self.text(node) {
    case "true": return true
    case "false": return false
    default: throw self.failure(node, "expected true or false")
    }
  }

  /// File, line and column of a node.
  func place(of node: Node) -> String {
    self.path + (node.mark.map { ":\($0.line):\($0.column)" } ?? "")
  }

  func failure(
    _ node: Node, _ cause: String, _ nextStep: String = "see docs/configuration.md"
  ) -> VidiconError {
    .usage(self.place(of: node), cause, nextStep)
  }
}
