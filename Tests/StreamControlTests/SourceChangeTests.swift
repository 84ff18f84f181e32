import Capture
import CaptureDevices
import Media
import Streaming
import Synchronization
import TestSupport
import Testing
import Threading

@testable import StreamControl

@Suite("Source changes that fail, wait, or name the same device", .timeLimit(.minutes(5)))
struct SourceChangeTests {
  /// A device with one owner at a time, opened with options.
  private final class Camera: ExclusiveCapturer {
    /// The device and its owner.
    final class Device: Sendable {
      let owner = Mutex<ObjectIdentifier?>(nil)
      let starts = Mutex<[String]>([])
    }

    let device: Device
    let options: String
    private let capturer = BarsCapturer(width: 64, height: 36)
    private let consumer = Mutex<(any VideoConsumer)?>(nil)

    init(_ device: Device, options: String) {
      self.device = device
      self.options = options
    }

    var format: VideoFormat { self.capturer.format }
    var isStarted: Bool { self.capturer.isStarted }

    func start(consumer: any VideoConsumer) throws(VidiconError) {
      let isOwner = self.device.owner.withLock { owner in
        if owner == nil, self.options != "bad" { owner = ObjectIdentifier(self) }
        return owner == ObjectIdentifier(self)
      }
      guard isOwner else { throw VidiconError(.failed, subject: "cam", cause: "it is in use", nextStep: "wait") }
      self.device.starts.withLock { $0.append(self.options) }
      self.consumer.withLock { $0 = consumer }
      try self.capturer.start(consumer: consumer)
    }

    func stop() {
      self.capturer.stop()
      self.device.owner.withLock { if $0 == ObjectIdentifier(self) { $0 = nil } }
    }

    /// Simulates the loss of the device.
    func end() {
      self.capturer.stop()
      self.consumer.withLock { $0 }?.captureEnded(nil)
    }

    func relation(of other: any VideoCapturer) -> DeviceRelation {
      guard let other = other as? Camera, other.device === self.device else { return .otherDevice }
      return other.options == self.options ? .same : .sameWithOtherOptions
    }

    func another() -> any VideoCapturer { Camera(self.device, options: self.options) }
  }

  /// Audio that fails to start.
  private final class Mute: AudioCapturer {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let isStarted = false
    func start(consumer: any AudioConsumer) throws(VidiconError) {
      throw VidiconError(.failed, subject: "mute", cause: "it is silent", nextStep: "none")
    }
    func stop() {}
  }

  /// Audio that ends on demand.
  private final class Voice: AudioCapturer {
    let capturer = ToneCapturer()
    let consumer = Mutex<(any AudioConsumer)?>(nil)
    var format: AudioFormat { self.capturer.format }
    var isStarted: Bool { self.capturer.isStarted }
    func start(consumer: any AudioConsumer) throws(VidiconError) {
      self.consumer.withLock { $0 = consumer }
      try self.capturer.start(consumer: consumer)
    }
    func stop() { self.capturer.stop() }
  }

  /// Cameras `cam:OPTIONS`, all of one device, `mute`, and generated sources.
  private static func catalog(_ device: Camera.Device) -> SourceCatalog {
    var catalog = SourceCatalog.none
    catalog.open = { request throws(VidiconError) in
      let video: (any VideoCapturer)? = request.video.map { video -> any VideoCapturer in
        guard video.name.hasPrefix("cam:") else { return PlasmaCapturer(width: 64, height: 36) }
        return Camera(device, options: String(video.name.dropFirst(4)))
      }
      let audio: (any AudioCapturer)? = request.audio.map { audio -> any AudioCapturer in
        audio == "mute" ? Mute() : SilenceCapturer()
      }
      return .init(video: video, audio: audio)
    }
    return catalog
  }

  private static func withCamera(
    _ body: (StreamSources, LiveStream, Camera.Device) async throws -> Void
  ) async throws {
    let device = Camera.Device()
    let stream = LiveStream("live", video: VideoSettings(width: 64, height: 36, frameRate: 30))
    stream.attachVideo(Camera(device, options: ""))
    stream.attachAudio(ToneCapturer())
    try await stream.start()
    do {
      try await body(StreamSources(stream, video: "cam:", audio: "tone", catalog: Self.catalog(device)), stream, device)
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
  }

  @Test func `a device under another name stays open, and with other options it is opened again`() async throws {
    try await Self.withCamera { sources, stream, device in
      let first = stream.videoSource
      let same = StreamSources(stream, video: "alias", audio: "tone", catalog: Self.catalog(device))
      try await same.replace(video: "cam:")
      #expect(stream.videoSource === first)
      #expect(same.video == "alias")
      try await sources.replace(video: "cam:large")
      #expect((stream.videoSource as? Camera)?.options == "large")
      #expect(sources.video == "cam:large")
      #expect(device.starts.withLock { $0 } == ["", "large"])
    }
  }

  @Test func `when other options of a device fail, it is opened with the previous ones again`() async throws {
    try await Self.withCamera { sources, stream, device in
      await #expect(throws: VidiconError.self) { try await sources.replace(video: "cam:bad") }
      #expect((stream.videoSource as? Camera)?.options == "")
      #expect(stream.videoSource?.isStarted == true)
      #expect(sources.video == "cam:")
      #expect(device.starts.withLock { $0 } == ["", ""])
    }
  }

  @Test func `when the audio of both fails, the video source and its name are restored`() async throws {
    try await Self.withCamera { sources, stream, _ in
      for video in ["plasma", "cam:large"] as [SourceSpecification.Video] {
        await #expect(throws: VidiconError.self) { try await sources.replace(video: video, audio: "mute") }
        #expect((stream.videoSource as? Camera)?.options == "")
        #expect((sources.video, sources.audio) == ("cam:", "tone"))
      }
      // The names are right, so that this is a change.
      try await sources.replace(video: "plasma")
      #expect(stream.videoSource is PlasmaCapturer)
    }
  }

  @Test func `a video source that has ended is opened again by its name`() async throws {
    try await Self.withCamera { sources, stream, device in
      let first = try #require(stream.videoSource as? Camera)
      first.end()
      try await eventually { stream.statistics.isSlateShown }
      try await sources.replace(video: "cam:")
      #expect(stream.videoSource !== first)
      #expect(device.starts.withLock { $0.count } == 2)
    }
  }

  @Test(arguments: [true, false])
  func `an audio source that has ended or fallen silent is opened again by its name`(isTold: Bool) async throws {

    let voice = Voice()
    let stream = LiveStream("live")
    stream.attachAudio(voice)
    try await stream.start()
    let sources = StreamSources(stream, audio: "voice", catalog: Self.catalog(Camera.Device()))
    try await sources.replace(audio: "voice")
    #expect(stream.audioSource === voice)
    voice.capturer.stop()
    if isTold { voice.consumer.withLock { $0 }?.captureEnded(nil) }
    try await eventually { stream.statistics.isAudioMissing }
    try await sources.replace(audio: "voice")
    #expect(stream.audioSource is SilenceCapturer)
    #expect(sources.audio == "voice")
    try await eventually { !stream.statistics.isAudioMissing }
    await stream.stop()
  }

  @Test func `the next source is never the same device`() async throws {
    try await Self.withCamera { sources, stream, device in
      var catalog = Self.catalog(device)
      catalog.devices = { [CaptureDevice(kind: .camera, specification: "cam:large", name: "", stableName: "")] }
      let sources = StreamSources(stream, video: "cam:", audio: "tone", catalog: catalog)
      #expect(await sources.switchToNext { _, reason in Issue.record(reason) } == "plasma")
      #expect(await sources.switchToNext { _, reason in Issue.record(reason) } == "cam:")
    }
  }

  // Concurrency.

  @Test func `concurrent viewers list the devices once at a time, and at most 17 of them wait`() async throws {
    let count = Mutex(0)
    let maximum = Mutex(0)
    let gate = Gate()
    try await Self.withCamera { _, stream, device in
      var catalog = Self.catalog(device)
      catalog.devices = {
        let now = count.withLock { count in
          count += 1
          return count
        }
        maximum.withLock { $0 = max($0, now) }
        gate.pass()
        count.withLock { $0 -= 1 }
        return []
      }
      let sources = StreamSources(stream, video: "v4l2:/dev/video0", audio: "tone", catalog: catalog)
      await withTaskGroup(of: VidiconError.Code?.self) { group in
        for number in 0..<40 {
          group.addTask {
            do throws(VidiconError) {
              try await sources.replace(SourceNames(video: "v4l2:/dev/video\(number)x"), isOperator: false)
              return nil
            } catch {
              return error.code
            }
          }
        }
        // The 23 beyond the limit are refused while the others wait.
        for _ in 0..<23 { #expect(await group.next() == .busy) }
        gate.open()
        for await code in group { #expect(code == .notPermitted) }
      }
    }
    #expect(maximum.withLock { $0 } == 1)
  }

  @Test func `errors of a source keep their text, and never look like a refusal of the control`() async throws {
    try await Self.withCamera { _, stream, device in
      var catalog = Self.catalog(device)
      for code in [VidiconError.Code.notPermitted, .busy, .wrongState] {
        let failure = VidiconError(code, subject: "v4l2:/dev/a", cause: "it is locked", nextStep: "unlock it")
        catalog.open = { _ throws(VidiconError) in throw failure }
        let sources = StreamSources(stream, video: "cam:", audio: "tone", catalog: catalog)
        await #expect(
          throws: VidiconError(.failed, subject: "v4l2:/dev/a", cause: "it is locked", nextStep: "unlock it")
        ) { try await sources.replace(SourceNames(video: "v4l2:/dev/video7"), isOperator: true) }
      }
    }
  }

  @Test func `a viewer names the start source as shown, and messages hide its folder`() async throws {
    try await Self.withCamera { _, stream, device in
      var catalog = Self.catalog(device)
      catalog.open = { request throws(VidiconError) in
        if request.video == "plasma" { return .init(video: PlasmaCapturer(width: 64, height: 36)) }
        throw VidiconError(
          .notFound, subject: request.video?.name ?? "", cause: "no such file", nextStep: "check the path")
      }
      let sources = StreamSources(stream, video: "file:/secret/a.mp4", catalog: catalog)
      #expect(sources.shown(isOperator: false) == SourceNames(video: "file:a.mp4"))
      try await sources.replace(SourceNames(video: "plasma"), isOperator: false)
      for (isOperator, subject) in [(false, "file:a.mp4"), (true, "file:/secret/a.mp4")] {
        await #expect(
          throws: VidiconError(.notFound, subject: subject, cause: "no such file", nextStep: "check the path")
        ) { try await sources.replace(SourceNames(video: "file:a.mp4"), isOperator: isOperator) }
      }
      await #expect(throws: VidiconError.self) {
        try await sources.replace(SourceNames(video: "file:/secret/b.mp4"), isOperator: false)
      }
    }
  }

  @Test func `the audio of a file that an operator chose is opened as confined as its video`() async throws {
    try await Self.withCamera { _, stream, device in
      let requests = Mutex<[SourceCatalog.Request]>([])
      var catalog = Self.catalog(device)
      catalog.fileFolders = ["/etc"]
      catalog.open = { [open = catalog.open] request throws(VidiconError) in
        requests.withLock { $0.append(request) }
        return try open(request)
      }
      let sources = StreamSources(stream, video: "cam:", audio: "tone", catalog: catalog)
      try await sources.replace(SourceNames(video: "file:/etc/passwd"), isOperator: true)
      try await sources.replace(SourceNames(audio: "auto"), isOperator: true)
      // On behalf of the owner the file is still one that a client chose.
      try await sources.replace(audio: "silence")
      try await sources.replace(audio: "auto")
      let seen = requests.withLock { $0.map { [$0.isConfined, $0.allowsLinkLocal] } }
      #expect(seen == [[true, false], [true, false], [false, true], [true, false]])
      // A source of the start is the owner's.
      try await sources.replace(SourceNames(video: "cam:"), isOperator: true)
      try await sources.replace(SourceNames(audio: "silence"), isOperator: true)
      try await sources.replace(SourceNames(audio: "auto"), isOperator: true)
      #expect(requests.withLock { $0.suffix(3).map(\.isConfined) } == [false, false, false])
    }
  }

  @Test func `a stream is muted while a source is being opened`() async throws {
    let gate = Gate()
    try await Self.withCamera { _, stream, device in
      var catalog = Self.catalog(device)
      catalog.open = { [open = catalog.open] request throws(VidiconError) in
        gate.pass()
        return try open(request)
      }
      let sources = StreamSources(stream, video: "cam:", audio: "tone", catalog: catalog)
      async let replaced: Void = sources.replace(video: "plasma")
      var change = StreamChange()
      (change.isMuted, change.isMirrored) = (true, true)
      try await sources.change(change)
      #expect(stream.isMuted && stream.isMirrored)
      gate.open()
      try await replaced
    }
  }
}
