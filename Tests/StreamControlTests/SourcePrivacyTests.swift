import Capture
import Effects
import Foundation
import Libc
import Media
import TestSupport
import Testing

@testable import StreamControl
@testable import Streaming

@Suite("Sources that streams hide", .timeLimit(.minutes(5)))
struct SourcePrivacyTests {
  /// Limits that no test reaches while it holds a source.
  private static func stream(_ name: String) -> LiveStream {
    var settings = VideoSettings()
    settings.switchTimeouts.start = .seconds(1000)
    settings.switchTimeouts.firstItem = .seconds(1000)
    return LiveStream(name, video: settings)
  }

  private static func sources(
    _ stream: LiveStream, video: SourceSpecification.Video, _ catalog: SourceCatalog
  ) -> StreamSources {
    StreamSources(stream, video: video, catalog: catalog, privacy: .shared, openingTimeout: .seconds(1000))
  }

  /// Bars, whatever the name.
  private static let catalog = SourceCatalog(devices: { [] }, generators: []) { _ in
    .init(video: BarsCapturer(width: 64, height: 36))
  }

  @Test func `a source that a stream shows with privacy is hidden from streams without`() async throws {
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    let sources = [
      StreamSources(hiding, video: "file:/a/1.mp4?x"), StreamSources(other, video: "plasma"),
    ]
    func streamHiding(_ name: String, from stream: LiveStream) -> String? {
      SourcePrivacy.shared.streamHiding(SourceIdentity(named: name), from: stream)
    }
    #expect(streamHiding("file:/a/1.mp4", from: other) == nil)
    hiding.effects = [PrivacyMask()]
    #expect(streamHiding("file:/a/1.mp4?x", from: other) == "hiding")
    #expect(streamHiding("file:/a/./1.mp4?x", from: hiding) == nil)
    #expect(streamHiding("file:/a/2.mp4", from: other) == nil)
    let error = await #expect(throws: VidiconError.self) { try await sources[1].replace(video: "file:/a/1.mp4?x") }
    #expect(error?.code == .notPermitted && error?.cause.contains("hiding") == true)
    other.effects = [PrivacyMask()]
    #expect(streamHiding("file:/a/1.mp4?x", from: other) == nil)
  }

  @Test func `a source stays hidden after its stream has left it, until that ends privacy`() async throws {
    try await self.withFolder { folder in
      for name in ["/1", "/2"] { try #require(creat(folder + name, 0o600) >= 0) }
      try #require(link(folder + "/1", folder + "/link") == 0 && symlink(folder + "/1", folder + "/symlink") == 0)
      let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
      let sources = [
        StreamSources(hiding, video: "file:\(folder)/1", catalog: Self.catalog),
        StreamSources(other, video: "bars", catalog: Self.catalog),
      ]
      for stream in [hiding, other] {
        stream.attachVideo(BarsCapturer(width: 64, height: 36))
        try await stream.start()
      }
      let effects = StreamEffects(hiding)
      var settings = EffectSettings()
      settings.faces = .privacy
      try await effects.apply(settings)
      for _ in 0..<2 {
        for name in ["1", "link", "symlink", "../\(folder.split(separator: "/").last ?? "")/1"] {
          let error = await #expect(throws: VidiconError.self, "\(name)") {
            try await sources[1].replace(video: "file:\(folder)/\(name)")
          }
          #expect(error?.code == .notPermitted, "\(name)")
        }
        // The second time the stream shows another one.
        try await sources[0].replace(video: "file:\(folder)/2")
      }
      await #expect(throws: VidiconError.self) { try await sources[1].replace(video: "file:\(folder)/2") }
      try await effects.apply(EffectSettings())
      for name in ["1", "2"] { try await sources[1].replace(video: "file:\(folder)/\(name)") }
      for stream in [hiding, other] { await stream.stop() }
    }
  }

  @Test func `a switch that is under way when privacy begins shows nothing openly`() async throws {
    try await self.withFolder { folder in
      try #require(creat(folder + "/1", 0o600) >= 0)
      let (hiding, other) = (Self.stream("hiding"), Self.stream("other"))
      let (isOpening, mayOpen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let slow = SourceCatalog(devices: { [] }, generators: []) { _ in
        isOpening.signal()
        mayOpen.waitWithLimit()
        return .init(video: BarsCapturer(width: 64, height: 36))
      }
      let sources = [
        StreamSources(hiding, video: "file:\(folder)/1"), Self.sources(other, video: "bars", slow),
      ]
      for stream in [hiding, other] {
        stream.attachVideo(BarsCapturer(width: 64, height: 36))
        try await stream.start()
      }
      let switching = Task { try await sources[1].replace(video: "file:\(folder)/1") }
      await isOpening.signaled()
      #expect(other.effects.isEmpty)
      let effects = StreamEffects(hiding)
      var settings = EffectSettings()
      settings.faces = .privacy
      try await effects.apply(settings)
      // From now on, whatever becomes of the switch.
      #expect(other.effects.contains { $0.isPrivacy })
      mayOpen.signal()
      let error = await #expect(throws: VidiconError.self) { try await switching.value }
      #expect(error?.code == .notPermitted && other.effects.isEmpty && sources[1].video == "bars")
      try await effects.apply(EffectSettings())
      for stream in [hiding, other] { await stream.stop() }
    }
  }

  @Test func `many changes of effects and covers at once leave none behind and take none away`() async throws {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    let sources = [StreamSources(hiding, video: name), StreamSources(other, video: name)]
    for round in 0..<20 {
      hiding.effects = [PrivacyMask()]
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask { await SourcePrivacy.shared.update() }
          group.addTask { other.changeEffects { $0.append(Nothing()) } }
        }
      }
      #expect(other.effects.count { $0.isPrivacy } == 1 && other.effects.count == 4 * (round + 1) + 1)
      hiding.effects = []
      await SourcePrivacy.shared.update()
      #expect(other.effects.count { $0 is Nothing } == other.effects.count)
    }
    withExtendedLifetime(sources) {}
  }

  @Test func `a camera that becomes private while another stream starts it by another name is covered there`()
    async throws
  {
    let (hiding, other) = (Self.stream("hiding"), Self.stream("other"))
    let camera = SlowCamera()
    let names = { @Sendable (_: CameraSpecification) -> Set<String> in ["usb:1"] }
    let catalog = SourceCatalog(devices: { [] }, generators: [], cameraNames: names) { _ in .init(video: camera) }
    let sources = [
      Self.sources(hiding, video: "v4l2:/dev/video63", catalog),
      Self.sources(other, video: "bars", catalog),
    ]
    for stream in [hiding, other] {
      stream.attachVideo(BarsCapturer(width: 64, height: 36))
      try await stream.start()
    }
    let switching = Task { try await sources[1].replace(video: "v4l2:/dev/v4l/by-id/x") }
    // Allowed, since nothing is hidden yet.
    await camera.isStarting.signaled()
    let effects = StreamEffects(hiding)
    var settings = EffectSettings()
    settings.faces = .privacy
    try await effects.apply(settings)
    #expect(other.effects.contains { $0.isPrivacy })
    camera.mayStart.signal()
    try await switching.value
    #expect(other.effects.contains { $0.isPrivacy } && sources[1].video == "v4l2:/dev/v4l/by-id/x")
    try await effects.apply(EffectSettings())
    #expect(other.effects.isEmpty)
    for stream in [hiding, other] { await stream.stop() }
  }

  @Test func `what a private stream is being switched to is covered in other streams, unless the switch fails`()
    async throws
  {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (hiding, other) = (Self.stream("hiding"), Self.stream("other"))
    let (isOpening, mayOpen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let missing = SourceCatalog(devices: { [] }, generators: []) { _ throws(VidiconError) in
      isOpening.signal()
      mayOpen.waitWithLimit()
      throw VidiconError(.notFound, subject: "file", cause: "it is missing", nextStep: "none")
    }
    let sources = [
      Self.sources(hiding, video: "bars", missing), StreamSources(other, video: name, catalog: Self.catalog),
    ]
    for stream in [hiding, other] {
      stream.attachVideo(BarsCapturer(width: 64, height: 36))
      try await stream.start()
    }
    hiding.effects = [PrivacyMask()]
    await SourcePrivacy.shared.update()
    #expect(other.effects.isEmpty)
    let switching = Task { try await sources[0].replace(video: name) }
    await isOpening.signaled()
    #expect(other.effects.contains { $0.isPrivacy })
    mayOpen.signal()
    await #expect(throws: VidiconError.self) { try await switching.value }
    #expect(other.effects.isEmpty)
    for stream in [hiding, other] { await stream.stop() }
  }

  @Test func `a source that comes back when the audio of its successor fails stays covered`() async throws {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (hiding, other) = (Self.stream("hiding"), Self.stream("other"))
    let microphone = BrokenMicrophone()
    let catalog = SourceCatalog(devices: { [] }, generators: []) { request in
      .init(
        video: request.video.map { _ in BarsCapturer(width: 64, height: 36) },
        audio: request.audio.map { _ in microphone })
    }
    let sources = [
      Self.sources(hiding, video: name, catalog), Self.sources(other, video: name, catalog),
    ]
    other.attachAudio(ToneCapturer())
    for stream in [hiding, other] {
      stream.attachVideo(BarsCapturer(width: 64, height: 36))
      try await stream.start()
    }
    hiding.effects = [PrivacyMask()]
    await SourcePrivacy.shared.update()
    #expect(other.effects.contains { $0.isPrivacy })
    let switching = Task { try await sources[1].replace(video: "bars", audio: "mic:") }
    await microphone.isStarting.signaled()
    // Its video is the bars already; the hidden source may come back.
    await SourcePrivacy.shared.update()
    #expect(sources[1].video == "bars" && other.effects.contains { $0.isPrivacy })
    microphone.mayFail.signal()
    await #expect(throws: VidiconError.self) { try await switching.value }
    #expect(sources[1].video == name && other.effects.contains { $0.isPrivacy })
    for stream in [hiding, other] { await stream.stop() }
  }

  /// A microphone that takes its time to fail.
  private final class BrokenMicrophone: AudioCapturer {
    let (isStarting, mayFail) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let isStarted = false

    func start(consumer: any AudioConsumer) throws(VidiconError) {
      self.isStarting.signal()
      self.mayFail.waitWithLimit()
      throw VidiconError(.failed, subject: "mic:", cause: "it is silent", nextStep: "none")
    }

    func stop() {}
  }

  @Test func `an address that could not be looked up is looked up again, and one that is known is not`() {
    for (name, isResolved) in [
      ("rtsp://camera.invalid/a", false), ("rtsp://192.0.2.7/a", true), ("file:/a", true), ("v4l2:/dev/video63", true),
      ("bars", true),
    ] {
      #expect(SourceIdentity(named: name).isResolved == isResolved, "\(name)")
    }
  }

  @Test func `effects that cover no faces are never without the mask that another stream's privacy demands`() {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    let sources = [StreamSources(hiding, video: name), StreamSources(other, video: name)]
    other.effects = [PrivacyMask()]
    // Privacy of the one ends after that of the other has begun: nothing had to be covered between.
    hiding.effects = [PrivacyMask()]
    SourcePrivacy.shared.cover()
    #expect(other.effects.count == 1)
    SourcePrivacy.shared.changeEffects(of: other) { $0 = [Nothing()] }
    #expect(other.effects.map(\.isPrivacy) == [false, true])
    hiding.effects = []
    SourcePrivacy.shared.changeEffects(of: other) { $0 = [Nothing()] }
    #expect(other.effects.map(\.isPrivacy) == [false])
    withExtendedLifetime(sources) {}
  }

  @Test func `setting effects neither removes a mask that another stream demands nor brings it back`() async {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    let sources = [StreamSources(hiding, video: name), StreamSources(other, video: name)]
    hiding.effects = [PrivacyMask()]
    // Read before the mask is added, and set after, as `append` may.
    let open = other.effects
    SourcePrivacy.shared.cover()
    let covered = other.effects
    #expect(open.isEmpty && covered.map(\.isPrivacy) == [true])
    other.effects = open + [Nothing()]
    #expect(other.effects.map(\.isPrivacy) == [false, true] && other.effects[1] === covered[0])
    other.effects = []
    #expect(other.effects.map(\.isPrivacy) == [true])
    // Faces are covered instead.
    other.effects = [PrivacyMask()]
    #expect(other.effects.count == 1 && other.effects[0] !== covered[0])
    other.effects = []
    SourcePrivacy.shared.cover()
    hiding.effects = []
    await SourcePrivacy.shared.update()
    #expect(other.effects.isEmpty)
    other.effects = covered + [Nothing()]
    #expect(other.effects.map(\.isPrivacy) == [false])
    withExtendedLifetime(sources) {}
  }

  @Test func `a capturer is known by the source that it names in any form, and so is the one that replaces it`() {
    let privacy = SourcePrivacy()
    let (hiding, other) = (LiveStream("hiding"), LiveStream("other"))
    let sources = [
      StreamSources(hiding, video: "screen::7", catalog: Self.catalog, privacy: privacy),
      StreamSources(other, video: nil, catalog: Self.catalog, privacy: privacy),
    ]
    hiding.effects = [PrivacyMask()]
    other.attachVideo(NamedCapturer("v4l2:/dev/video63?fps=30&size=640x480"))
    privacy.cover()
    #expect(other.effects.isEmpty && sources[1].video == "v4l2:/dev/video63?size=640x480&fps=30")
    other.attachVideo(NamedCapturer("screen::7?fps=1/2"))
    privacy.cover()
    #expect(other.effects.contains { $0.isPrivacy })
  }

  /// Bars under another source's name.
  private final class NamedCapturer: VideoCapturer {
    let sourceName: String?
    private let capturer = BarsCapturer(width: 64, height: 36)

    init(_ name: String) { self.sourceName = name }

    var format: VideoFormat { self.capturer.format }
    var isStarted: Bool { self.capturer.isStarted }
    func start(consumer: any VideoConsumer) throws(VidiconError) { try self.capturer.start(consumer: consumer) }
    func stop() { self.capturer.stop() }
  }

  /// A camera that takes its time to start.
  private final class SlowCamera: VideoCapturer {
    let (isStarting, mayStart) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    private let capturer = BarsCapturer(width: 64, height: 36)

    var format: VideoFormat { self.capturer.format }
    var isStarted: Bool { self.capturer.isStarted }

    func start(consumer: any VideoConsumer) throws(VidiconError) {
      self.isStarting.signal()
      self.mayStart.waitWithLimit()
      try self.capturer.start(consumer: consumer)
    }

    func stop() { self.capturer.stop() }
  }

  /// Draws nothing.
  private final class Nothing: VideoEffect {
    func process(_ frame: inout EffectFrame) -> EffectVerdict { .keep }
  }

  @Test(arguments: [
    ("v4l2:/dev/video1", "v4l2:/dev/v4l/by-id/x", true), ("rtsp://camera/a", "http://192.0.2.7/b", true),
    ("rtsp://camera/a", "v4l2:/dev/video0", false), ("file:/a", "file:/b", false), ("screen::0", "rtsp://a/b", false),
    ("bars", "v4l2:/dev/video0", false),
  ])
  func `names that may turn out to be one source`(first: String, second: String, could: Bool) {
    let names = [first, second].map { SourceIdentity(unresolved: .init(stringLiteral: $0)) }
    #expect(names[0].couldBe(names[1]) == could && names[1].couldBe(names[0]) == could)
  }

  @Test(arguments: [
    ("rtsp://me:secret@127.0.0.1/a?b", "rtsp://127.0.0.1:554/a"),
    ("rtsp://127.0.0.1:8554/a", "rtsp://localhost:8554/a/"), ("rtsp://localhost:8554/a", "RTSP://LOCALHOST:8554//a"),
    ("rtsp://[::1]:8554/a", "rtsp://127.0.0.1:8554/%61"),
    ("http://192.0.2.7/x", "file:http://192.0.2.7:80/x"), ("http://camera.invalid/x", "http://CAMERA.invalid/x?y"),
    ("v4l2:/dev/video63?size=1x1", "v4l2:/dev/video63"), ("v4l2:/dev/../dev/null", "v4l2:/dev/null"),
    ("screen::7", "screen::7.0?region=0,0,9,9"), ("screen:unix:7", "screen::7?window=5"),
    // Names of capturers and catalogs of one's own, which cannot be parsed.
    ("screen::7", "screen::7?fps=300"), ("screen::7", "SCREEN::7"), ("v4l2:/dev/video63", "V4L2:/dev/video63?fps=0"),
    ("file:/dev/../dev/null", "FILE:/dev/null"), ("pipe:", "Pipe:"), ("own:a", "OWN:a?b"),
  ])
  func `names of one source`(first: String, second: String) {
    #expect(SourceIdentity(named: first).isSame(as: SourceIdentity(named: second)))
  }

  @Test(arguments: [
    ("plasma", "plasma"), ("rtmp:", "rtmp:"), ("rtmp:?key=a", "rtmp:?key=a"),
    ("rtsp://192.0.2.7/a", "rtsp://192.0.2.7/b"),
    ("rtsp://192.0.2.7/a", "rtsp://192.0.2.8/a"), ("rtsp://192.0.2.7:1/a", "rtsp://192.0.2.7:2/a"),
    ("v4l2:/dev/video62", "v4l2:/dev/video63"), ("screen::7", "screen::8"), ("file:/a", "file:/b"),
    ("file:/a", "pipe:"),
  ])
  func `names of two sources, or of none that could be shared`(first: String, second: String) {
    #expect(!SourceIdentity(named: first).isSame(as: SourceIdentity(named: second)))
  }

  @Test func `no name is no source`() {
    #expect(SourceIdentity(named: nil).isEmpty && !SourceIdentity(named: nil).isSame(as: SourceIdentity(named: nil)))
  }

  private func withFolder(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/privacy-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    defer { for name in ["/1", "/2", "/link", "/symlink", ""] { remove(folder + name) } }
    try await body(folder)
  }
}

extension DispatchSemaphore {
  /// Waits for a signal on a thread of its own.
  fileprivate func signaled() async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        self.waitWithLimit()
        continuation.resume()
      }
    }
  }
}
