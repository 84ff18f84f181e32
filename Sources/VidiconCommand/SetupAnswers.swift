import Authentication
import Media

/// Answers to the questions of `vidicon setup`, and the configuration file that they make.
struct SetupAnswers: Sendable {
  /// Port of HTTP over TLS: over HTTP alone, operators log in from the machine itself only.
  static let httpsPort = 8443
  /// Name of the stream.
  static let streamName = "live"

  /// Password of the user `viewer`.
  var viewerPassword: SetupPassword
  /// Password of the user `operator`.
  var operatorPassword: SetupPassword
  /// The video source, such as `v4l2:Integrated Camera`.
  var source: String

  /// The text of the configuration file.
  var text: String {
    """
    # Written by "vidicon setup". "vidicon config print" shows all keys, docs/configuration.md describes them. The service reads this file
    # when it starts: systemctl restart vidicon
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
    let configuration = try ServeConfiguration(yaml: self.text, path: "the configuration")
    try configuration.validate()
    try configuration.checkStreams()
  }
}
