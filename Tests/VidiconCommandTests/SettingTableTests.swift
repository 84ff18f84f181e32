import ArgumentParser
import Authentication
import Foundation
import Testing

@testable import VidiconCommand

/// A setting that one of the command line, the configuration file and the documentation lacks is found here.
@Suite("Tables of settings")
struct SettingTableTests {
  /// Texts of each setting, other than its default; a flag has none.
  private static let samples: [String: [String]] = [
    "bind": ["127.0.0.1"], "rtspPort": ["1001"], "rtspsPort": ["1002"], "httpPort": ["1003"], "httpsPort": ["1004"],
    "rtmpPort": ["1005"], "rtmpsPort": ["1006"], "webrtcPort": ["1007"], "webrtc": ["off"],
    "iceAddresses": ["192.0.2.1", "192.0.2.2"], "iceServers": ["stun:a.example", "turn:us:pw@b.example"],
    "tlsCertificate": ["cert.pem"], "tlsKey": ["key.pem"], "users": ["anna:sesame", "joe:1:2"], "userFile": ["users"],
    "control": ["machine"], "recordingsFor": ["viewers"], "files": ["/srv/a", "/srv/b"],
    "hosts": ["a.example", "b.example"], "cors": ["https://a.example", "*"], "behindProxy": ["127.0.0.1", "::1"],
    "pushAuthorities": ["ca.pem"], "streams": ["name=a", "name=b"],
    "preset": ["portrait"], "name": ["door"], "source": ["bars"], "audio": ["none"], "size": ["640x360"],
    "fps": ["15"], "bitrate": ["500k"], "scaling": ["fill"], "encoder": ["h264_vaapi"], "profile": ["main"],
    "vbv": ["2"], "passThrough": ["off"],
    "rendition": ["name=a,size=640x360,bitrate=450k", "name=b,size=320x180,bitrate=90k"], "audioBitrate": ["48k"],
    "whipToken": ["0123456789abcdef"], "push": ["rtmp://a.example/app/key"], "faces": ["boxes"],
    "privacyMinFace": ["10%"], "mask": ["blur"], "maskPart": ["eyes"], "maskAnchors": ["anchors.json"],
    "smooth": ["0.5"], "overlay": ["logo.png@left"], "snapshotOn": ["smile:/srv"], "record": ["x.mp4"],
    "recordings": ["/srv"], "splitDuration": ["10m"], "splitSize": ["1M"], "keepAge": ["7d"], "keepSize": ["1G"],
    "keepFree": ["2G"], "title": ["Yard"], "recordRendition": ["low"],
  ]

  /// Settings of lists whose members are mappings in the file.
  private static let mappings = [
    "users": "[{name: anna, password: sesame}, {name: joe, password: \"1:2\"}]", "streams": "[{name: a}, {name: b}]",
  ]

  /// A configuration file, and one of pushes, both readable by their owner only.
  private struct Files {
    private let folder: TemporaryFolder
    private let path: String
    /// The command line with the configuration file; parsing takes long.
    private let command: ServeCommand
    var pushes: String { "\(self.folder.path)/pushes" }

    init() throws {
      self.folder = try TemporaryFolder()
      self.path = "\(self.folder.path)/vidicon.yaml"
      self.command = try ServeCommand.parse(["--config", self.path])
      self.write("rtmp://a.example/app/key\n", to: self.pushes)
    }

    private func write(_ text: String, to path: String) {
      #expect(
        FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
    }

    /// The configuration of a file with this text.
    func configuration(_ text: String) throws -> ServeConfiguration {
      self.write(text, to: self.path)
      return try ServeConfiguration(unchecked: self.command)
    }
  }

  /// The configuration without options and file; parsing takes long.
  private static let initial = Result { try Self.configuration([]) }

  private static func configuration(_ arguments: [String]) throws -> ServeConfiguration {
    try ServeConfiguration(unchecked: ServeCommand.parse(arguments))
  }

  /// A setting as arguments of the command line, and as a key and value of the file.
  private static func both(_ key: some SettingKey, files: Files) throws -> (arguments: [String], yaml: String) {
    let option = "--\(key.optionName)"
    if try #require(Self.options(of: "serve")[key.optionName], "there is no option \(option)").kind == "flag" {
      return ([option], "\(key.rawValue): \(!key.optionName.hasPrefix("no-"))")
    }
    let texts = try key.rawValue == "pushFile" ? [files.pushes] : #require(Self.samples[key.rawValue], "add a sample")
    let quoted = texts.map { "\"\($0)\"" }
    let value = Self.mappings[key.rawValue] ?? (texts.count == 1 ? quoted[0] : "[\(quoted.joined(separator: ", "))]")
    return (texts.flatMap { [option, $0] }, "\(key.rawValue): \(value)")
  }

  @Test(arguments: ServeConfiguration.Key.allCases)
  func `an option and a key of the server set the same`(key: ServeConfiguration.Key) throws {
    let files = try Files()
    let (arguments, yaml) = try Self.both(key, files: files)
    let configuration = try Self.configuration(arguments)
    #expect(try configuration != Self.initial.get())
    #expect(try configuration == files.configuration(yaml), "\(arguments), \(yaml)")
    #expect(key.isList == (arguments.count == 4), "one sample, and two of a list")
  }

  @Test(arguments: StreamOptions.Key.allCases)
  func `an option, a key of the file and a key of --stream set the same for a stream`(key: StreamOptions.Key) throws {
    let files = try Files()
    // The folder is removed with its last reference.
    defer { withExtendedLifetime(files) {} }
    let (arguments, yaml) = try Self.both(key, files: files)
    let configuration = try Self.configuration(arguments)
    #expect(try configuration != Self.initial.get())
    let name = key == .name ? "" : "name: live, "
    #expect(try configuration == files.configuration("streams: [{\(name)\(yaml)}]"), "\(arguments), \(yaml)")
    let texts = stride(from: 1, to: arguments.count, by: 2).map { arguments[$0].replacing(",", with: ",,") }
    let pairs = "\(key.rawValue)=\(texts.isEmpty ? "true" : texts.joined(separator: ";"))"
    #expect(
      try configuration == Self.configuration(["--stream", key == .name ? pairs : "name=live,\(pairs)"]), "\(pairs)")
  }

  @Test(arguments: ServeConfiguration.Key.allCases)
  func `what is printed of a setting of the server is read as the same`(key: ServeConfiguration.Key) throws {
    try Self.expectRoundTrip(of: key)
  }

  @Test(arguments: StreamOptions.Key.allCases)
  func `what is printed of a setting of a stream is read as the same`(key: StreamOptions.Key) throws {
    try Self.expectRoundTrip(of: key)
  }

  /// Prints a configuration that was given by an option, and then by a key, and reads the text.
  private static func expectRoundTrip(of key: some SettingKey) throws {
    let files = try Files()
    defer { withExtendedLifetime(files) {} }
    let (arguments, _) = try Self.both(key, files: files)
    let given = try Self.configuration(arguments)
    let text = ConfigurationText(given, showsSecrets: true).text
    #expect(Self.origins(in: text).isSuperset(of: ["option"]) && !Self.origins(in: text).contains("file"), "\(text)")
    let read = try files.configuration(text)
    #expect(read == given, "\(text)")
    let again = ConfigurationText(read, showsSecrets: true).text
    #expect(Self.origins(in: again) == ["file", "default"], "\(again)")
    #expect(try files.configuration(again) == given)
  }

  /// The origins in the comments of a printed configuration.
  private static func origins(in text: String) -> Set<String> {
    Set(text.split(separator: "\n").dropFirst().compactMap { $0.firstMatch(of: #/  # (\w+)$/#).map { String($0.1) } })
  }

  @Test func `every setting is printed, and one that is not given as a comment`() throws {
    let lines = ConfigurationText(try Self.initial.get(), showsSecrets: false).text.split(separator: "\n")
    for key in ServeConfiguration.Key.allCases where key != .streams {
      #expect(lines.contains { $0.hasPrefix("# \(key.rawValue):") && $0.hasSuffix("# default") }, "\(key)")
    }
    for key in StreamOptions.Key.allCases where key != .name {
      #expect(lines.contains { $0.hasPrefix("    # \(key.rawValue):") && $0.hasSuffix("# default") }, "\(key)")
    }
    #expect(lines.contains("streams:") && lines.contains { $0.hasPrefix("  - name: live ") })
  }

  @Test func `a default that is printed is the one in force`() throws {
    let initial = try Self.initial.get()
    // Given, these are required.
    let isOther: Set<String> = ["rtspPort", "httpPort", "webrtcPort"]
    var count = 0
    for key in ServeConfiguration.Key.allCases where !isOther.contains(key.rawValue) {
      guard let text = initial.defaultText(of: key) else { continue }
      var configuration = initial
      try configuration.set(key, to: [text], named: key.rawValue, from: .file)
      #expect(configuration == initial, "\(key)")
      count += 1
    }
    for key in StreamOptions.Key.allCases where !isOther.contains(key.rawValue) {
      guard let text = initial.streams[0].defaultText(of: key) else { continue }
      var stream = initial.streams[0]
      try stream.set(key, to: text, from: .file)
      #expect(stream == initial.streams[0], "\(key)")
      count += 1
    }
    #expect(count == 24, "settings with a default text were \(count)")
  }

  @Test func `an option overrides the file, and --stream its streams`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = "\(folder.path)/vidicon.yaml"
    let text = """
      rtspPort: 1
      hosts: [a, b]
      embed: true
      users: [{name: anna, password: x}, {name: joe, password: y}, {token: 0123456789abcdef, role: operator}]
      streams: [{name: a, size: 64x48, push: "rtmp://push.example.net/app/key"}]
      """
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    let file = try Self.configuration(["--config", path])
    #expect(file.rtspPort == 1 && file.access.hosts == ["a", "b"] && file.access.allowsEmbedding)
    #expect(file.access.tokens.count == 1 && file.streams[0].pushes.count == 1)
    let both = try Self.configuration([
      "--config", path, "--rtsp-port", "2", "--host", "c", "--no-embed", "--operator", "eve:z", "--size", "32x32",
    ])
    #expect(both.rtspPort == 2 && both.access.hosts == ["c"] && !both.access.allowsEmbedding)
    #expect(both.access.users.map(\.user) == ["eve"] && both.access.users.map(\.role) == [.operator])
    #expect(both.access.tokens.isEmpty, "a token of the file is a user that was replaced")
    #expect(both.streams.map(\.name) == ["a"] && both.streams[0].size == .init(width: 32, height: 32))
    let replaced = try Self.configuration([
      "--config", path, "--user", "eve:z", "--operator", "bob:z", "--size", "16x16", "--stream", "name=b,fps=10",
      "--stream", "name=c",
    ])
    #expect(replaced.access.users.map(\.user) == ["eve", "bob"] && replaced.streams.map(\.name) == ["b", "c"])
    #expect(replaced.streams.map(\.size) == [.init(width: 16, height: 16), .init(width: 16, height: 16)])
    #expect(replaced.streams.allSatisfy(\.pushes.isEmpty) && replaced.access.tokens.isEmpty)
  }

  @Test func `an option without a key has a reason`() throws {
    let names =
      ServeConfiguration.Key.allCases.map(\.optionName) + StreamOptions.Key.allCases.map(\.optionName)
    let withoutKey = ServeConfiguration.Key.optionsWithoutKey.keys
    #expect(Set(names).count == names.count, "two settings have one option")
    #expect(Set(names).isDisjoint(with: withoutKey))
    #expect(Set(try Self.options(of: "serve").keys) == Set(names).union(withoutKey).union(["help", "version"]))
  }

  @Test func `every setting is documented with its option and its key`() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/configuration.md")
    let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
    func isDocumented(_ option: String, _ key: String? = nil) -> Bool {
      rows.contains { row in
        (row.contains("`--\(option)`") || row.contains("`--\(option) ")) && key.map { row.contains("`\($0)`") } ?? true
      }
    }
    for key in ServeConfiguration.Key.allCases { #expect(isDocumented(key.optionName, key.rawValue), "\(key)") }
    for key in StreamOptions.Key.allCases { #expect(isDocumented(key.optionName, key.rawValue), "\(key)") }
    for option in ServeConfiguration.Key.optionsWithoutKey.keys { #expect(isDocumented(option), "\(option)") }
  }

  @Test(
    arguments: [
      (
        "serve",
        [
          "Sources", "Video and audio", "Faces and other effects", "Recording", "Sending on", "Ports", "Access",
          "This run",
        ]
      ),
      ("record", ["Sources", "Video and audio", "Faces and other effects", "Recording", "This run"]),
    ] as [(String, [String])])
  func `the help has groups with titles, and nothing else beside them`(command: String, titles: [String]) throws {
    var found: [String] = []
    var untitled: Set<String> = []
    for option in try Self.help(of: command) where option.kind != "positional" {
      guard let title = option.sectionTitle else {
        untitled.formUnion(option.longNames)
        continue
      }
      if !found.contains(title) { found.append(title) }
    }
    #expect(found == titles && untitled == ["help", "version"])
    let type: any ParsableCommand.Type = command == "serve" ? ServeCommand.self : RecordCommand.self
    let headings = RootCommand.helpMessage(for: type, columns: 120).split(separator: "\n")
      .filter { !$0.hasPrefix(" ") && $0.hasSuffix(":") }.map(String.init)
    #expect(
      headings == (command == "serve" ? [] : ["ARGUMENTS:"]) + titles.map { "\($0.uppercased()):" } + ["OPTIONS:"])
  }

  @Test(arguments: [
    ("source", "Sources"), ("bitrate", "Video and audio"), ("faces", "Faces and other effects"),
    ("record", "Recording"), ("keep-age", "Recording"), ("push", "Sending on"), ("push-ca", "Sending on"),
    ("https-port", "Ports"), ("webrtc", "Ports"), ("tls-cert", "Access"), ("user", "Access"), ("json", "This run"),
    ("config", "This run"),
  ])
  func `an option is in the group of its purpose`(option: String, title: String) throws {
    #expect(try Self.options(of: "serve")[option]?.sectionTitle == title)
  }

  /// An argument of a command in the description that ArgumentParser writes for tools.
  private struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }

    var kind: String
    var sectionTitle: String?
    var names: [Name]?

    var longNames: [String] { (self.names ?? []).filter { $0.kind == "long" }.map(\.name) }
  }

  private struct Command: Decodable {
    var commandName: String
    var arguments: [Argument]?
    var subcommands: [Command]?
  }

  private struct Description: Decodable {
    var command: Command
  }

  /// The description of the program, which takes long to make.
  private static let description = Result {
    try JSONDecoder().decode(Description.self, from: Data(RootCommand._dumpHelp().utf8))
  }

  /// The arguments of a command, in the order of their declaration.
  private static func help(of command: String) throws -> [Argument] {
    let commands = try Self.description.get().command.subcommands
    return try #require(commands?.first { $0.commandName == command }?.arguments)
  }

  /// The options of a command by their long names.
  private static func options(of command: String) throws -> [String: Argument] {
    let pairs = try Self.help(of: command).flatMap { argument in argument.longNames.map { ($0, argument) } }
    return Dictionary(uniqueKeysWithValues: pairs)
  }
}
