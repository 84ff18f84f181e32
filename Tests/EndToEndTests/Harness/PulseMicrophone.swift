import Foundation
import Testing

/// A private PulseAudio server whose microphone plays a file in a loop: Clients/pulse_microphone.sh.
struct PulseMicrophone {
  let child: ChildProcess

  /// Environment with which clients connect to the server in a folder, through ALSA's plug-in `pulse`.
  static func environment(in folder: String) throws -> [String: String] {
    let configuration = "\(folder)/asound.conf"
    try Data("pcm.pulse { type pulse }\npcm.!default { type pulse }\n".utf8).write(
      to: URL(fileURLWithPath: configuration))
    return ["ALSA_CONFIG_PATH": configuration, "PULSE_SERVER": "unix:\(folder)/native", "HOME": folder]
  }

  /// Starts the server and waits until the microphone exists.
  init(in folder: String, hearing file: String) async throws {
    self.child = try ChildProcess(Tool("bash").path, [TestMedia.client("pulse_microphone.sh"), folder, file])
    do {
      try await self.child.says("ready")
    } catch {
      self.child.kill()
      throw Tool.Missing(name: "pulseaudio: \(error), \(self.child.errors.text)")
    }
  }

  /// Kills the server without an orderly shutdown.
  func end() async {
    self.child.signal(SIGTERM)
    let exit = await self.child.end(within: MachineShare.timeout(.seconds(5)))
    if exit == nil { Issue.record("the audio server does not exit") }
  }
}
