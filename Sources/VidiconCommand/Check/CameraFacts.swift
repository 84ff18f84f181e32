import CaptureDevices
import Media

/// Facts about the cameras of this machine, and what streams ask of them.
struct CameraFacts: Sendable {
  /// Size and rate that a stream asks for.
  struct Request: Equatable, Sendable {
    /// Name of the stream.
    var stream: String
    var width: Int
    var height: Int
    var frameRate: FrameRate
  }

  /// A camera that is connected.
  struct Camera: Equatable, Sendable {
    /// Text for `--source`, such as `v4l2:/dev/video0`.
    var specification: String
    /// Name for people.
    var name: String
    /// Reason why it cannot be used, `CAUSE; NEXT STEP`; nil for a usable one.
    var problem: String?
    /// Group of its node, of which this user is no member, so that it may not be opened; nil where it may.
    var missingGroup: String?
    /// Another program that has it open, such as `obs (process 7)`; nil where none is visible.
    var holder: String?
    /// The first stream that shows it; nil where none does.
    var request: Request?
    /// The format that is used for the request, or for 1280 by 720 pixels; nil where none can be used.
    var choice: CameraFormatChooser.Choice?
    /// Number of its USB bus; nil for another connection.
    var bus: Int?
    /// Speed of its USB connection; nil for another one.
    var speed: USBSpeed?
  }

  var cameras: [Camera]
  /// Streams with their cameras that are not connected.
  var missing: [(stream: String, camera: String)] = []
  /// Streams with the names of their cameras, which several have.
  var ambiguous: [(stream: String, camera: String)] = []
  /// Whether the only stream shows the first camera, or generated video without one.
  var choosesItself = false
  /// Whether the program runs in a container.
  var isInContainer = false
  /// Name of this user as one word of a shell.
  var user = CurrentUser.variable
  /// Whether this process is a service, whose unit has its groups.
  var isService = false

  /// One finding for each camera and each that is missing, and one for each bus that two of them share.
  var findings: [CheckFinding] {
    if self.cameras.isEmpty, self.missing.isEmpty {
      let meaning =
        self.choosesItself
        ? "none; serve generates video unless --source says otherwise" : "none, and no stream needs one"
      return [.ok("cameras", meaning)]
    }
    var findings = self.missing.map { self.absence(of: $0.camera, stream: $0.stream) }
    findings += self.ambiguous.map { stream, camera -> CheckFinding in
      .fault(
        "camera \(camera)", "several cameras have this name, and the stream \(stream) shows one",
        .advice("give the path of one instead, as /dev/v4l/by-id has it"))
    }
    return findings + self.cameras.map(self.finding) + self.crowdedBuses
  }

  private func absence(of camera: String, stream: String) -> CheckFinding {
    let remedy: CheckFinding.Remedy =
      self.cameras.isEmpty && self.isInContainer
      ? .advice("give the container its node, as by docker run --device /dev/video0") : .command("vidicon devices")
    return .fault("camera \(camera)", "not connected, and the stream \(stream) shows it", remedy)
  }

  private func finding(_ camera: Camera) -> CheckFinding {
    let subject = "camera \(camera.specification)"
    let isNeeded = camera.request != nil
    let verdict: CheckFinding.Verdict = isNeeded ? .fault : self.choosesItself ? .warning : .ok
    if let group = camera.missingGroup {
      return CheckFinding(
        subject: subject, verdict: verdict, meaning: "this user is not in the group \(group), which may open it",
        remedy: self.joining(group))
    }
    if let problem = camera.problem { return CheckFinding(subject, problem: problem, verdict: verdict) }
    if let holder = camera.holder, holder.hasPrefix("vidicon ") { return .ok(subject, "\(holder) serves it") }
    if let holder = camera.holder {
      return CheckFinding(
        subject: subject, verdict: verdict == .ok ? .ok : .warning,
        meaning: "\(holder) has it open, and a camera delivers to one program only",
        remedy: .advice("close that program where the camera is to be served"))
    }
    guard let choice = camera.choice else {
      return CheckFinding(
        subject: subject, verdict: verdict, meaning: "none of its formats can be used",
        remedy: .command("vidicon devices"))
    }
    let format = "\(choice.fourCC) \(choice.width)x\(choice.height) at \(choice.frameRate) fps"
    guard let request = camera.request, Self.isLess(choice, than: request) else {
      return .ok(subject, "\(camera.name), \(format)")
    }
    return .warning(
      subject,
      "\(format) is its best for the stream \(request.stream), which asks for \(request.width)x\(request.height) at "
        + "\(request.frameRate) fps", .advice("lower --size or --fps, or use another camera or a faster port"))
  }

  private func joining(_ group: String) -> CheckFinding.Remedy {
    self.isInContainer
      ? .advice("give the container the group, as by docker run --group-add \(group)")
      : CheckFinding.Remedy(
        nextStep: CurrentUser.nextStep(joining: group, user: self.user, isService: self.isService))
  }

  private static func isLess(_ choice: CameraFormatChooser.Choice, than request: Request) -> Bool {
    // A camera counts 29.97 as 30.
    choice.width < request.width || choice.height < request.height
      || choice.frameRate.framesPerSecond < request.frameRate.framesPerSecond * 0.95
  }

  /// A warning for each USB bus that cannot carry all of the uncompressed video that streams take from its cameras.
  private var crowdedBuses: [CheckFinding] {
    let used = self.cameras.filter { $0.request != nil && $0.bus != nil }
    return Dictionary(grouping: used) { $0.bus ?? 0 }.sorted { $0.key < $1.key }.compactMap {
      bus, cameras -> CheckFinding? in
      let needed = cameras.compactMap { $0.choice?.bytesPerSecond }.reduce(0, +)
      let usable = cameras.compactMap { $0.speed?.usableBytesPerSecond }.max() ?? .max
      guard cameras.count > 1, needed > Double(usable) else { return nil }
      let names = cameras.map(\.specification).joined(separator: " and ")
      return .warning(
        "USB bus \(bus)",
        "\(names) together need \(Int(needed / 1e6)) MB/s, and it carries \(usable / 1_000_000) MB/s",
        .advice("add ?format=mjpeg to a source, give a smaller size, or plug one into a port of another bus"))
    }
  }
}
