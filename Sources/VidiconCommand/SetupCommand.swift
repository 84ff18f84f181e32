import ArgumentParser
import Authentication
import Foundation
import Media
import StreamControl
import Vidicon

/// `vidicon setup`: asks for passwords and a camera, writes the configuration of the service, and starts it.
struct SetupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup", abstract: "Set the service of this machine up: passwords, camera, start.",
    discussion: """
      Asks for a password of viewers, one of operators and a camera, writes the configuration file with mode 0600, enables the unit \
      vidicon.service of the package, and starts it. Run it as root.
      """)

  /// Path of the file that the unit reads.
  static let path = "/etc/vidicon/vidicon.yaml"

  @Flag(help: "Ask nothing: make the passwords that are not given, and take the first camera without --source.")
  var yes = false

  @Option(help: "The video source, as of vidicon serve.")
  var source: String?

  @Option(help: "A file whose first line is the password of the user viewer, readable by its owner only.")
  var viewerPasswordFile: String?

  @Option(help: "A file whose first line is the password of the user operator, readable by its owner only.")
  var operatorPasswordFile: String?

  @Option(help: "The configuration file. The unit is enabled only with its own. (default: \(Self.path))")
  var output: String?

  @Flag(help: "Replace a configuration file that exists.")
  var replace = false

  @Flag(help: "Only write the file: neither enable nor start the service.")
  var noStart = false

  func run() async throws {
    let file = SetupFile(path: self.output ?? Self.path)
    try file.check(isReplaced: self.replace)
    var cameras: [SetupCamera] = []
    if self.source == nil {
      if let devices = await SourceCatalog.all.listDevices() {
        cameras = SetupCamera.cameras(among: devices)
      } else {
        Terminal.warn("a device does not respond, so that no camera is listed; unplug it, or give --source")
      }
    }
    var dialogue = SetupDialogue(
      console: TerminalConsole(), generator: SystemRandomNumberGenerator(), cameras: cameras, asks: !self.yes,
      viewerPassword: try Self.password(inFile: self.viewerPasswordFile, "--viewer-password-file"),
      operatorPassword: try Self.password(inFile: self.operatorPasswordFile, "--operator-password-file"),
      source: self.source, isForService: file.path == Self.path)
    let answers = try dialogue.run()
    try file.write(answers.text)
    for line in Self.summary(of: answers, path: file.path, showsPasswords: Terminal.isInteractive) {
      Terminal.print(line)
    }
    guard !self.noStart, file.path == Self.path else { return }
    Terminal.print(try SystemService().enable())
  }

  /// The password of a file; nil without a file.
  static func password(inFile path: String?, _ option: String) throws(VidiconError) -> SetupPassword? {
    guard let path else { return nil }
    let file = SecretFile(option: option, secrets: "a password", form: "write one line of text")
    let line = try file.text(of: path).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).first
    return try SetupPassword(given: String(line ?? ""), subject: option)
  }

  /// Lines for the owner: the file, the users, and passwords that were made. Logs and files keep what is printed elsewhere than on a
  /// terminal, so that passwords are not shown there.
  static func summary(of answers: SetupAnswers, path: String, showsPasswords: Bool) -> [String] {
    func line(_ user: String, _ password: SetupPassword) -> String {
      let shown = !password.isGenerated ? "(as given)" : showsPasswords ? password.secret.text : "(in the file)"
      return "  \(user)  \(shown)"
    }
    return [
      "Wrote \(path.pathWithoutCredentials())",
      line("viewer  ", answers.viewerPassword), line("operator", answers.operatorPassword),
      "  source    \(answers.source.withoutCredentials())",
      "  audio     a microphone with a camera, otherwise that of the source; \"audio: none\" in the file leaves it out",
      "  page      https://localhost:\(SetupAnswers.httpsPort)/\(SetupAnswers.streamName)",
    ]
  }
}
