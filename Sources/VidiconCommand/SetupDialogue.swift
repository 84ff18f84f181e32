import Capture
import Foundation
import Media

/// The questions of `vidicon setup`: a password for viewers, one for operators, and the camera.
///
/// Questions whose answers are given by options are left out.
struct SetupDialogue<Console: SetupConsole, Generator: RandomNumberGenerator> {
  /// Place of the questions.
  var console: Console
  /// Source of generated passwords.
  var generator: Generator
  /// The connected cameras.
  var cameras: [SetupCamera]
  /// Whether questions are asked; otherwise passwords are made, and the first usable camera is taken.
  var asks = true
  /// Password of viewers; nil for one that is asked for.
  var viewerPassword: SetupPassword?
  /// Password of operators; nil for one that is asked for.
  var operatorPassword: SetupPassword?
  /// The video source; nil for one that is asked for.
  var source: String?
  /// Whether the configuration is that of the service.
  var isForService = false

  /// Asks for what is not given.
  ///
  /// - Throws: ``VidiconError`` at the end of the input, for a given source that cannot be one, and, without questions, where there is no
  ///   camera.
  mutating func run() throws(VidiconError) -> SetupAnswers {
    // A source that is given is checked before anything is asked.
    if let given = self.source { try self.check(given) }
    let viewer = try self.password(self.viewerPassword, of: "viewers")
    let controller = try self.password(self.operatorPassword, of: "operators, which also change streams")
    let source = try self.chosenSource()
    let answers = SetupAnswers(
      viewerPassword: viewer, operatorPassword: controller, source: source, isForService: self.isForService)
    try answers.check()
    return answers
  }

  /// Checks a source apart from the passwords.
  private func check(_ source: String) throws(VidiconError) {
    var generator = SystemRandomNumberGenerator()
    let password = SetupPassword(using: &generator)
    try SetupAnswers(
      viewerPassword: password, operatorPassword: password, source: source, isForService: self.isForService
    ).check()
  }

  /// The given password, or one that is asked for twice; an empty answer makes one.
  private mutating func password(_ given: SetupPassword?, of role: String) throws(VidiconError) -> SetupPassword {
    if let given { return given }
    guard self.asks else { return SetupPassword(using: &self.generator) }
    let question = "Password of \(role) (\(SetupPassword.minimumLength) characters or more; empty: one is made)"
    while true {
      let text = try Self.answer(self.console.askSecret(question))
      if text.isEmpty { return SetupPassword(using: &self.generator) }
      let password: SetupPassword
      do throws(VidiconError) {
        password = try SetupPassword(given: text, subject: "password")
      } catch {
        self.console.show("\(error)")
        continue
      }
      if try Self.answer(self.console.askSecret("The same password again")) == text { return password }
      self.console.show("The two differ.")
    }
  }

  /// The given source, or the one that is chosen.
  private mutating func chosenSource() throws(VidiconError) -> String {
    if let source { return source }
    guard self.asks else { return try self.firstCamera() }
    for (index, camera) in self.cameras.enumerated() {
      self.console.show("  \(index + 1)  \(camera.name)\(camera.problem.map { " (\($0))" } ?? "")")
    }
    if self.cameras.isEmpty { self.console.show("No camera is connected.") }
    let choice = self.cameras.isEmpty ? "Source" : "Number of a camera, or another source"
    while true {
      let text = try Self.answer(
        self.console.ask("\(choice), such as rtsp://192.0.2.7/stream1, or bars for a test pattern"))
      let name = text.trimmingCharacters(in: .whitespaces)
      if name.isEmpty { continue }
      if let number = Int(name) {
        if self.cameras.indices.contains(number - 1) { return self.cameras[number - 1].source }
        self.console.show("There is no camera \(number).")
        continue
      }
      do throws(VidiconError) {
        try self.check(name)
        return name
      } catch {
        self.console.show("\(error)")
      }
    }
  }

  /// The first camera that can be used.
  private func firstCamera() throws(VidiconError) -> String {
    if let camera = self.cameras.first(where: { $0.problem == nil }) { return camera.source }
    throw VidiconError(
      .notFound, subject: "the camera", cause: self.cameras.first?.problem ?? "none is connected",
      nextStep: "connect one, or give --source")
  }

  private static func answer(_ text: String?) throws(VidiconError) -> String {
    if let text { return text }
    throw .usage("vidicon setup", "the input has ended before every question was answered", "answer all, or give --yes")
  }
}

/// A place where `vidicon setup` asks its questions.
protocol SetupConsole {
  /// Shows a line.
  mutating func show(_ line: String)
  /// Asks a question; nil at the end of the input.
  mutating func ask(_ question: String) -> String?
  /// Asks a question whose answer is not shown; nil at the end of the input.
  mutating func askSecret(_ question: String) -> String?
}

/// Standard input and output as a place for questions.
struct TerminalConsole: SetupConsole {
  func show(_ line: String) {
    Terminal.print(line)
  }

  func ask(_ question: String) -> String? {
    Terminal.print("\(question):")
    return readLine(strippingNewline: true)
  }

  func askSecret(_ question: String) -> String? {
    Terminal.readSecret(question)
  }
}

/// A camera that `vidicon setup` offers.
struct SetupCamera: Equatable, Sendable {
  /// Name for people.
  var name: String
  /// The source that selects it.
  var source: String
  /// Reason why it cannot be used now; nil for a usable one.
  var problem: String?
}

extension SetupCamera {
  /// The cameras among the devices of this machine, in their order.
  static func cameras(among devices: [CaptureDevice]) -> [SetupCamera] {
    let cameras = devices.filter { $0.kind == .camera }
    return cameras.map { camera in
      // The name is the same after another boot, while nodes are numbered in the order in which they are found. Of two cameras with the
      // same name, and of one that cannot be opened, only the path of the node selects one.
      let isUnique = cameras.count { $0.stableName == camera.stableName } == 1
      let isStable = isUnique && camera.problem == nil && !camera.stableName.contains("?")
      return SetupCamera(
        name: camera.name, source: isStable ? "v4l2:\(camera.stableName)" : camera.specification,
        problem: camera.problem)
    }
  }
}
