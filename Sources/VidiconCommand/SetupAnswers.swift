import Authentication
import Media
import MediaInput
import StreamControl

/// Answers to the questions of `vidicon setup`, and the configuration file that they make.
struct SetupAnswers: Sendable {
  /// Port of HTTP over TLS: over HTTP alone, operators log in from the machine itself only.
  static let httpsPort = 8443
  /// Name of the stream.
  static let streamName = "live"
  /// Folders that the service does not see, by `ProtectHome=` and `PrivateTmp=` of its unit.
  private static let hiddenFolders = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"]

  /// Password of the user `viewer`.
  var viewerPassword: SetupPassword
  /// Password of the user `operator`.
  var operatorPassword: SetupPassword
  /// The video source, such as `v4l2:Integrated Camera`.
  var source: String
  /// Whether the unit reads the file, and not only a program that its user starts.
  var isForService = false

  /// The text of the configuration file.
  var text: String {
    """
    # Written by "vidicon setup". "vidicon config print" shows all keys, docs/configuration.md describes them. After a change:
    # systemctl reload vidicon
    httpsPort: \(Self.httpsPort)
    users:
      - {name: viewer, password: \(YAMLScalar(self.viewerPassword.secret.text))}
      - {name: operator, password: \(YAMLScalar(self.operatorPassword.secret.text)), role: operator}
    streams:
      - name: \(Self.streamName)
        source: \(YAMLScalar(self.source))
        # A microphone with a camera. "none" leaves audio out.
        audio: auto

    """
  }

  /// Checks the configuration as `vidicon serve` reads it; opens no source.
  func check() throws(VidiconError) {
    guard self.source != "pipe:" else {
      throw .usage("pipe:", "a service has no standard input", "give a camera, a file or an address")
    }
    if self.isForService { try self.checkReach() }
    let configuration = try ServeConfiguration(yaml: self.text, path: "the configuration")
    try configuration.validate()
    try configuration.checkStreams()
  }

  /// Checks that the service can read the source.
  private func checkReach() throws(VidiconError) {
    let shown = self.source.withoutCredentials()
    switch try SourceSpecification.Video(naming: self.source) {
    case .screen:
      throw .usage(shown, "a service has no screen", "give a camera, a file or an address")
    case .file(let path) where !NetworkSpecification.matches(path):
      guard path.hasPrefix("/") else {
        throw .usage(shown, "a service has no current folder of yours", "give the path from / on")
      }
      var names: [Substring] = []
      for name in path.split(separator: "/") where name != "." {
        if name == ".." { _ = names.popLast() } else { names.append(name) }
      }
      let file = "/" + names.joined(separator: "/")
      guard !Self.hiddenFolders.contains(where: { file.hasPrefix($0) }) else {
        throw .usage(shown, "the service does not see that folder", "move the file, such as to /srv")
      }
    default: return
    }
  }
}
