/// Facts about the microphones that this user reaches, and what streams ask of them.
struct MicrophoneFacts: Sendable {
  /// A microphone of the list of devices.
  struct Microphone: Equatable, Sendable {
    /// Text for `--audio`, such as `mic:`.
    var specification: String
    /// Name for people.
    var name: String
    /// Reason why it cannot be used, `CAUSE; NEXT STEP`; nil for a usable one.
    var problem: String?
  }

  var microphones: [Microphone]
  /// Streams with the microphones that they name; an empty name stands for the default one.
  var requests: [(stream: String, name: String)] = []
  /// Streams of a camera whose audio is chosen at the start.
  var automatic: [String] = []

  /// One finding for each request, else one for the machine.
  var findings: [CheckFinding] {
    let usable = self.microphones.filter { $0.problem == nil }
    let requested = self.requests.map { self.finding($0, usable: usable) }
    if !requested.isEmpty { return requested }
    if let microphone = usable.first {
      return [.ok("microphones", "\(microphone.name) (\(microphone.specification))")]
    }
    let verdict: CheckFinding.Verdict = self.automatic.isEmpty ? .ok : .warning
    if let microphone = self.microphones.first, let problem = microphone.problem {
      return [CheckFinding("microphone \(microphone.specification)", problem: problem, verdict: verdict)]
    }
    guard let stream = self.automatic.first else { return [.ok("microphones", "none, and no stream needs one")] }
    return [
      .ok("microphones", "none; the audio of the stream \(stream) is silence, or give --audio none for no audio")
    ]
  }

  private func finding(_ request: (stream: String, name: String), usable: [Microphone]) -> CheckFinding {
    let subject = "microphone mic:\(request.name)"
    let named = self.microphones.filter { request.name.isEmpty || Self.matches(request.name, $0) }
    if let microphone = named.first(where: { $0.problem == nil }) {
      return .ok(subject, "\(microphone.name), for the stream \(request.stream)")
    }
    if let problem = named.first?.problem { return CheckFinding(subject, problem: problem, verdict: .fault) }
    // A PCM of ALSA has other names than that of the list.
    if request.name.contains(":") {
      return .ok(subject, "named as ALSA has it, and not in the list of devices; it shows at the start")
    }
    return .fault(
      subject, "this user reaches no such microphone, and the stream \(request.stream) is to have it",
      usable.isEmpty
        ? .advice("plug one in, or start PipeWire or PulseAudio in this user's session") : .command("vidicon devices"))
  }

  private static func matches(_ name: String, _ microphone: Microphone) -> Bool {
    microphone.specification == "mic:\(name)" || microphone.specification.lowercased().contains(name.lowercased())
      || microphone.name.lowercased().contains(name.lowercased())
  }
}
