import Authentication
import Capture
import Media
import Testing

@testable import VidiconCommand

@Suite("The questions of vidicon setup")
struct SetupDialogueTests {
  private static let cameras = [
    SetupCamera(name: "Broken", source: "v4l2:/dev/video0", problem: "it is in use"),
    SetupCamera(name: "Webcam", source: "v4l2:usb-Webcam-index0"),
  ]

  private func dialogue(
    _ answers: [String], cameras: [SetupCamera] = Self.cameras
  ) -> SetupDialogue<ScriptedConsole, CountingGenerator> {
    SetupDialogue(console: ScriptedConsole(answers), generator: CountingGenerator(), cameras: cameras)
  }

  @Test func `passwords are asked for twice and never shown, and a number chooses a camera`() throws {
    var dialogue = self.dialogue(["sesame-1", "sesame-1", "sesame-2", "sesame-2", "2"])
    let answers = try dialogue.run()
    #expect(answers.viewerPassword.secret.text == "sesame-1" && !answers.viewerPassword.isGenerated)
    #expect(answers.operatorPassword.secret.text == "sesame-2" && answers.source == "v4l2:usb-Webcam-index0")
    let lines = dialogue.console.lines
    #expect(!lines.contains { $0.contains("sesame") } && lines.count { $0.hasPrefix("secret: ") } == 4, "\(lines)")
    #expect(lines.contains("  1  Broken (it is in use)") && lines.contains("  2  Webcam"), "\(lines)")
    let configuration = try ServeConfiguration(yaml: answers.text, path: "vidicon.yaml")
    #expect(
      configuration.access.users == [
        Credentials(user: "viewer", password: "sesame-1", role: .viewer),
        Credentials(user: "operator", password: "sesame-2", role: .operator),
      ])
    #expect(configuration.streams.map(\.name) == ["live"] && configuration.httpsPort == 8443)
    #expect(configuration.streams[0].source == "v4l2:usb-Webcam-index0" && answers.text.contains("\n    audio: auto\n"))
  }

  @Test func `an empty answer makes a password, another one for each user`() throws {
    var dialogue = self.dialogue(["", "", "bars"])
    let answers = try dialogue.run()
    let passwords = [answers.viewerPassword, answers.operatorPassword]
    for password in passwords {
      #expect(password.isGenerated && password.secret.text.contains(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/))
    }
    #expect(passwords[0].secret != passwords[1].secret && dialogue.console.answers == [])
  }

  @Test func `a short password, one that differs, a wrong number and a wrong source are asked for again`() throws {
    var dialogue = self.dialogue([
      "short", "sesame-1", "sesame-3", "sesame-1", "sesame-1", "", "3", "", "htp://nowhere", "pipe:", " bars ",
    ])
    let answers = try dialogue.run()
    #expect(answers.viewerPassword.secret.text == "sesame-1" && answers.source == "bars")
    let lines = dialogue.console.lines
    #expect(lines.contains("The two differ.") && lines.contains("There is no camera 3."), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("password: the password is too short") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("pipe:: ") }, "\(lines)")
    #expect(dialogue.console.answers == [])
  }

  @Test(arguments: [[], ["sesame-1"], ["", ""], ["", "", "9"]])
  func `the end of the input is one line with status 64`(answers: [String]) {
    var dialogue = self.dialogue(answers)
    let error = #expect(throws: VidiconError.self) { try dialogue.run() }
    #expect(error?.exitStatus == 64 && error?.cause.hasPrefix("the input has ended") == true)
  }

  @Test func `without questions passwords are made, and the first camera that can be used is taken`() throws {
    var dialogue = self.dialogue([])
    dialogue.asks = false
    let answers = try dialogue.run()
    #expect(answers.source == "v4l2:usb-Webcam-index0" && answers.viewerPassword.isGenerated)
    dialogue.cameras.removeLast()
    #expect(
      throws: VidiconError(
        .notFound, subject: "the camera", cause: "it is in use", nextStep: "connect one, or give --source")
    ) {
      try dialogue.run()
    }
    dialogue.source = "bars"
    let given = try dialogue.run()
    #expect(given.source == "bars" && dialogue.console.lines == [])
  }

  @Test func `a given source that cannot be one is refused before a question`() {
    var dialogue = self.dialogue(["", ""])
    dialogue.source = "pipe:"
    #expect(throws: VidiconError.self) { try dialogue.run() }
    #expect(dialogue.console.lines == [])
  }

  @Test(
    arguments: [
      ("screen:", false), ("file:clip.mp4", false), ("file:/home/anna/clip.mp4", false), ("file:/root/a.mp4", false),
      ("file:/srv/../tmp/a.mp4", false), ("file://tmp/a.mp4", false), ("file:/srv/a.mp4", true),
      ("file:/temporary/a.mp4", true), ("rtsp://192.0.2.7/home/x", true), ("v4l2:Camera", true),
    ])
  func `a source that the service cannot read is refused for it, and accepted for a file elsewhere`(
    source: String, isReadable: Bool
  ) throws {
    var dialogue = self.dialogue([])
    dialogue.asks = false
    dialogue.source = source
    let elsewhere = try dialogue.run()
    #expect(elsewhere.source == source)
    dialogue.isForService = true
    if isReadable {
      let given = try dialogue.run()
      #expect(given.source == source)
    } else {
      let error = #expect(throws: VidiconError.self) { try dialogue.run() }
      #expect(error?.exitStatus == 64)
    }
  }

  @Test(arguments: ["a: b, {c}", "\"quoted\" \\", "12345678", "…sesame…", "pässwörter", "#12345678", "- - - - -"])
  func `a password with marks of YAML is the same in the file`(password: String) throws {
    var dialogue = self.dialogue([password, password, "", "bars"])
    let text = try dialogue.run().text
    let configuration = try ServeConfiguration(yaml: text, path: "vidicon.yaml")
    #expect(configuration.access.users.first == Credentials(user: "viewer", password: password, role: .viewer))
  }

  @Test func `a camera is chosen by a name that stays, or by its node where the name does not select it`() {
    func device(_ kind: CaptureDevice.Kind, _ node: String, _ name: String, problem: String? = nil) -> CaptureDevice {
      CaptureDevice(kind: kind, specification: "v4l2:\(node)", name: "Camera", stableName: name, problem: problem)
    }
    let cameras = SetupCamera.cameras(among: [
      device(.camera, "/dev/video0", "usb-A"), device(.microphone, "x", "usb-A"),
      device(.camera, "/dev/video2", "usb-B"),
      device(.camera, "/dev/video4", "usb-B"), device(.camera, "/dev/video6", "usb-C", problem: "it is in use"),
      device(.camera, "/dev/video8", "what?"),
    ])
    #expect(
      cameras.map(\.source) == [
        "v4l2:usb-A", "v4l2:/dev/video2", "v4l2:/dev/video4", "v4l2:/dev/video6", "v4l2:/dev/video8",
      ])
  }
}
