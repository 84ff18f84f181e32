import Capture
import CaptureDevices
import HTTPServer
import Media
import Streaming
import Synchronization
import Testing
import Threading

@testable import Vidicon

@Suite("Changes of sources that fail, wait, or mean the same device", .timeLimit(.minutes(2)))
struct SourceChangeTests {
  /// A device that one capturer at a time can have, and what is wanted of it.
  private final class Camera: ExclusiveCapturer {
    /// Who has the device.
    final class Device: Sendable {
      let owner = Mutex<ObjectIdentifier?>(nil)
      let starts = Mutex<[String]>([])
    }

    let device: Device
    let options: String
    private let pictures = BarsCapturer(width: 64, height: 36)
    private let consumer = Mutex<(any VideoConsumer)?>(nil)

    init(_ device: Device, options: String) {
      self.device = device
      self.options = options
    }

    var format: VideoFormat { self.pictures.format }
    var isStarted: Bool { self.pictures.isStarted }

    func start(consumer: any VideoConsumer) throws(VidiconError) {
      let isOwner = self.device.owner.withLock { owner in
        if owner == nil, self.options != "bad" { owner = ObjectIdentifier(self) }
        return owner == ObjectIdentifier(self)
      }
      guard isOwner else { throw VidiconError(.failed, subject: "cam", cause: "it is in use", nextStep: "wait") }
      self.device.starts.withLock { $0.append(self.options) }
      self.consumer.withLock { $0 = consumer }
      try self.pictures.start(consumer: consumer)
    }

    func stop() {
      self.pictures.stop()
      self.device.owner.withLock { if $0 == ObjectIdentifier(self) { $0 = nil } }
    }

    /// The device is lost.
    func end() {
      self.pictures.stop()
      self.consumer.withLock { $0 }?.captureEnded(nil)
    }

    func relation(of other: any VideoCapturer) -> DeviceRelation {
      guard let other = other as? Camera, other.device === self.device else { return .otherDevice }
      return other.options == self.options ? .same : .sameWithOtherOptions
    }

    func another() -> any VideoCapturer { Camera(self.device, options: self.options) }
  }

  /// Sound that does not start.
  private final class Mute: AudioCapturer {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let isStarted = false
    func start(consumer: any AudioConsumer) throws(VidiconError) {
      throw VidiconError(.failed, subject: "mute", cause: "it is silent", nextStep: "none")
    }
    func stop() {}
  }

  /// Sound that ends when it is told to.
  private final class Voice: AudioCapturer {
    let sound = ToneCapturer()
    let consumer = Mutex<(any AudioConsumer)?>(nil)
    var format: AudioFormat { self.sound.format }
    var isStarted: Bool { self.sound.isStarted }
    func start(consumer: any AudioConsumer) throws(VidiconError) {
      self.consumer.withLock { $0 = consumer }
      try self.sound.start(consumer: consumer)
    }
    func stop() { self.sound.stop() }
  }

  /// Of cameras `cam:OPTIONS`, which all are one, `mute`, and what is drawn.
  private static func offer(_ device: Camera.Device) -> SourceCatalog {
    var offer = SourceCatalog.none
    offer.open = { request throws(VidiconError) in
      let video: (any VideoCapturer)? = request.video.map { text -> any VideoCapturer in
        guard text.hasPrefix("cam:") else { return PlasmaCapturer(width: 64, height: 36) }
        return Camera(device, options: String(text.dropFirst(4)))
      }
      let audio: (any AudioCapturer)? = request.audio.map { text -> any AudioCapturer in
        text == "mute" ? Mute() : SilenceCapturer()
      }
      return .init(video: video, audio: audio)
    }
    return offer
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
      try await body(StreamSources(stream, video: "cam:", audio: "tone", offer: Self.offer(device)), stream, device)
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
  }

  @Test func `a device under another name is there already, and with other options it is opened anew`() async throws {
    try await Self.withCamera { sources, stream, device in
      let first = stream.videoSource
      let same = StreamSources(stream, video: "alias", audio: "tone", offer: Self.offer(device))
      try await same.replace(video: "cam:")
      #expect(stream.videoSource === first)
      #expect(same.video == "alias")
      try await sources.replace(video: "cam:large")
      #expect((stream.videoSource as? Camera)?.options == "large")
      #expect(sources.video == "cam:large")
      #expect(device.starts.withLock { $0 } == ["", "large"])
    }
  }

  @Test func `when other options of a device fail it has its earlier ones again`() async throws {
    try await Self.withCamera { sources, stream, device in
      await #expect(throws: SourceChangeError.self) { try await sources.replace(video: "cam:bad") }
      #expect((stream.videoSource as? Camera)?.options == "")
      #expect(stream.videoSource?.isStarted == true)
      #expect(sources.video == "cam:")
      #expect(device.starts.withLock { $0 } == ["", ""])
    }
  }

  @Test func `when the sound of both fails the picture and its name are as before`() async throws {
    try await Self.withCamera { sources, stream, _ in
      for video in ["plasma", "cam:large"] {
        await #expect(throws: SourceChangeError.self) { try await sources.replace(video: video, audio: "mute") }
        #expect((stream.videoSource as? Camera)?.options == "")
        #expect((sources.video, sources.audio) == ("cam:", "tone"))
      }
      // The names are right, so that this is a change.
      try await sources.replace(video: "plasma")
      #expect(stream.videoSource is PlasmaCapturer)
    }
  }

  @Test func `a source that has ended is opened again by its name`() async throws {
    try await Self.withCamera { sources, stream, device in
      let first = try #require(stream.videoSource as? Camera)
      first.end()
      while !stream.statistics.isSlateShown { await Task.yield() }
      try await sources.replace(video: "cam:")
      #expect(stream.videoSource !== first)
      #expect(device.starts.withLock { $0.count } == 2)
    }
  }

  @Test(arguments: [true, false])
  func `sound that has ended, or only stopped to come, is opened again by its name`(isTold: Bool) async throws {
    let voice = Voice()
    let stream = LiveStream("live")
    stream.attachAudio(voice)
    try await stream.start()
    let sources = StreamSources(stream, audio: "voice", offer: Self.offer(Camera.Device()))
    try await sources.replace(audio: "voice")
    #expect(stream.audioSource === voice)
    voice.sound.stop()
    if isTold { voice.consumer.withLock { $0 }?.captureEnded(nil) }
    while !stream.statistics.isAudioMissing { await Task.yield() }
    try await sources.replace(audio: "voice")
    #expect(stream.audioSource is SilenceCapturer)
    #expect(sources.audio == "voice")
    while stream.statistics.isAudioMissing { await Task.yield() }
    await stream.stop()
  }

  @Test func `the next source is never the same device again`() async throws {
    try await Self.withCamera { sources, stream, device in
      var offer = Self.offer(device)
      offer.devices = { [CaptureDevice(kind: .camera, specification: "cam:large", name: "", stableName: "")] }
      let sources = StreamSources(stream, video: "cam:", audio: "tone", offer: offer)
      #expect(await sources.switchToNext { _, reason in Issue.record(reason) } == "plasma")
      #expect(await sources.switchToNext { _, reason in Issue.record(reason) } == "cam:")
    }
  }

  // What waits, and what does not.

  @Test func `strangers who ask for devices at once make them be listed once at a time`() async throws {
    let count = Mutex(0)
    let most = Mutex(0)
    let gate = Gate()
    try await Self.withCamera { _, stream, device in
      var offer = Self.offer(device)
      offer.devices = {
        let now = count.withLock { count in
          count += 1
          return count
        }
        most.withLock { $0 = max($0, now) }
        gate.wait()
        count.withLock { $0 -= 1 }
        return []
      }
      let sources = StreamSources(stream, video: "v4l2:/dev/video0", audio: "tone", offer: offer)
      let control = HTTPServerControl(sources)
      await withTaskGroup(of: HTTPServerControl.Failure.Code?.self) { group in
        for number in 0..<40 {
          group.addTask {
            do throws(HTTPServerControl.Failure) {
              try await control.replace(.init(video: "v4l2:/dev/video\(number)x"), false)
              return nil
            } catch {
              return error.code
            }
          }
        }
        // Those for whom there is no room are sent away while the others wait.
        for _ in 0..<23 { #expect(await group.next() == .busy) }
        gate.open()
        for await code in group { #expect(code == .notPermitted) }
      }
    }
    #expect(most.withLock { $0 } == 1)
  }

  @Test func `a stream is muted while a source is being opened`() async throws {
    let gate = Gate()
    try await Self.withCamera { _, stream, device in
      var offer = Self.offer(device)
      offer.open = { [open = offer.open] request throws(VidiconError) in
        gate.wait()
        return try open(request)
      }
      let sources = StreamSources(stream, video: "cam:", audio: "tone", offer: offer)
      async let replaced: Void = sources.replace(video: "plasma")
      var change = HTTPServerControl.Change()
      (change.isMuted, change.isMirrored) = (true, true)
      try await sources.change(change)
      #expect(stream.isMuted && stream.isMirrored)
      gate.open()
      try await replaced
    }
  }
}

/// Holds threads up until it is opened.
private final class Gate: Sendable {
  private let isOpen = Monitor(false)

  func open() { self.isOpen.withLock { $0 = true } }

  func wait() { _ = self.isOpen.wait { $0 ? true : nil } }
}
