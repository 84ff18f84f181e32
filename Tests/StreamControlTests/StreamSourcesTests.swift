import Capture
import CaptureDevices
import Effects
import Media
import MediaInput
import Streaming
import Synchronization
import Testing

@testable import StreamControl

@Suite("Sources of a stream", .timeLimit(.minutes(5)))
struct StreamSourcesTests {
  // Names.

  @Test(arguments: [
    ("plasma", "plasma"), ("v4l2:/dev/video0", "v4l2:…"), ("file:/home/me/a.mp4", "file:…"), ("screen::0", "screen:…"),
    ("rtsp://me:secret@cam:554/a", "rtsp://…"), ("rtsp://me:se/cret@cam", "rtsp://…"), ("mic:hw:1,0", "mic:…"),
    ("file:http://cam/a.mp4", "file:http://…"), ("pipe:", "pipe:…"),
  ])
  func `viewers see the kind of a source only`(text: String, kind: String) {
    #expect(SourceText(text).shown(to: .viewers) == kind)
    #expect(SourceText(text).shown(to: .controllingViewers) == SourceText(text).shown(isOperator: false))
    #expect(SourceText(text).shown(to: .operators) == SourceText(text).shown(isOperator: true))
  }

  @Test(arguments: [
    ("plasma", "plasma", "plasma"),
    ("v4l2:/dev/video0?size=1x1", "v4l2:/dev/video0?size=1x1", "v4l2:/dev/video0?size=1x1"),
    ("file:/home/me/a.mp4", "file:/home/me/a.mp4", "file:a.mp4"), ("file:a.mp4", "file:a.mp4", "file:a.mp4"),
    ("rtsp://me:secret@cam:554/a/b?token=1#x", "rtsp://…@cam:554/a/b?…", "rtsp://cam:554"),
    ("rtmp://host/live/streamkey", "rtmp://host/live/…", "rtmp://host"),
    ("http://a:b@c@host/x", "http://…@host/x", "http://host"), ("http://a:b/c@host/x", "http://…", "http://…"),
    ("file:http://me:secret@host/a", "file:http://…@host/a", "file:http://host"), ("https://", "https://", "https://"),
  ])
  func `passwords are never shown, folders and paths to operators only`(text: String, full: String, other: String) {
    #expect(SourceText(text).shown(isOperator: true) == full)
    #expect(SourceText(text).shown(isOperator: false) == other)
    let message = "\(text): it does not open; try again"
    #expect(SourceText(text).redacted(message, isOperator: true) == "\(full): it does not open; try again")
    // The sources themselves quote an address without its password.
    for quoted in [text, full] {
      let message = "\(quoted): it does not open; try again"
      #expect(SourceText(text).redacted(message, isOperator: false) == "\(other): it does not open; try again")
    }
  }

  @Test func `viewers may choose generated sources, start sources, and devices of the kind of a start source`() {
    let policy = SourceAccessPolicy(start: [
      .init(video: "v4l2:/dev/video0", audio: "tone"), .init(video: "file:/a.mp4"),
    ])
    for video in ["plasma", "v4l2:/dev/video0", "v4l2:/dev/video1", "file:/a.mp4", "own"] as [SourceSpecification.Video]
    {
      #expect(policy.allows(video), "\(video)")
    }
    for video in ["screen:", "file:/b.mp4", "pipe:", "rtsp://a", "http://a", "rtmp:", "other:"]
      as [SourceSpecification.Video]
    {
      #expect(!policy.allows(video), "\(video)")
    }
    for (audio, isAllowed) in [
      ("silence", true), ("none", true), ("mic:", false), ("file:/b.mp4", false), ("file:/a.mp4", true),
    ]
      as [(SourceSpecification.Audio, Bool)]
    {
      #expect(policy.allows(audio) == isAllowed, "\(audio)")
    }
    // Permission to share a window does not include the screen.
    for part in ["window=5", "region=0,0,9,9", "cursor=0&window=0x5"] {
      let policy = SourceAccessPolicy(start: [.init(video: "screen:?\(part)")])
      #expect(policy.allows("screen:?\(part)" as SourceSpecification.Video))
      #expect(!policy.allows("screen:" as SourceSpecification.Video))
      #expect(!policy.allows("screen:?window=6" as SourceSpecification.Video))
    }
    for whole in ["screen:", "screen::0?cursor=0&fps=5"] as [SourceSpecification.Video] {
      #expect(SourceAccessPolicy(start: [.init(video: whole)]).allows("screen:?window=6" as SourceSpecification.Video))
    }
    // `auto` is a microphone when the video source is a camera.
    #expect(!policy.allows(SourceSpecification.Audio.auto))
    #expect(SourceAccessPolicy(start: [.init(audio: .auto)]).allows(SourceSpecification.Audio.auto))
  }

  @Test func `viewers see the devices of the kind of a start source, windows with screens`() {
    let devices = [
      CaptureDevice(kind: .camera, specification: "v4l2:/dev/video0", name: "", stableName: ""),
      CaptureDevice(kind: .screen, specification: "screen::0", name: "", stableName: ""),
      CaptureDevice(kind: .window, specification: "screen::0?window=0x5", name: "", stableName: ""),
      CaptureDevice(kind: .microphone, specification: "mic:a", name: "", stableName: ""),
    ]
    for (start, expected) in [
      (SourceSelection(video: "v4l2:/dev/video7"), [0]), (SourceSelection(video: "screen:"), [1, 2]),
      (SourceSelection(video: "screen::0?window=5"), [2]), (SourceSelection(video: "plasma", audio: "mic:b"), [3]),
      (SourceSelection(video: "plasma", audio: "mic:a"), [3]), (SourceSelection(), []),
    ] {
      #expect(SourceAccessPolicy(start: [start]).allowed(of: devices) == expected.map { devices[$0] }, "\(start)")
    }
  }

  // Controls.

  private final class Camera: ControllableCapturer {
    let format = VideoFormat(width: 2, height: 2)
    let isStarted = false
    let set = Mutex<[String]>([])
    let refused: String?

    init(refusing: String? = nil) { self.refused = refusing }

    func start(consumer: any VideoConsumer) {}
    func stop() {}

    var controls: [DeviceControl] {
      [
        .init(name: "focus", label: "", kind: .integer, range: 0...250, step: 5, defaultValue: 10, value: 50),
        .init(name: "focus-auto", label: "", kind: .boolean, range: 0...1, defaultValue: 1, value: 1),
        .init(
          name: "power", label: "", kind: .menu, range: 0...2, defaultValue: 0, value: 0,
          menu: [.init(value: 0, label: "Off"), .init(value: 2, label: "60 Hz")]),
        .init(name: "zoom", label: "", kind: .integer, range: 0...9, defaultValue: 0, value: 1, isReadOnly: true),
        .init(name: "go", label: "", kind: .button, range: 0...0, defaultValue: 0, value: 0),
      ]
    }

    func setControl(_ name: String, to value: Int) throws(VidiconError) {
      if name == self.refused { throw VidiconError(.failed, subject: name, cause: "no", nextStep: "never") }
      self.set.withLock { $0.append("\(name)=\(value)") }
    }

    func change(_ values: [String: Int?], resettingOthers: Bool = false) -> VidiconError? {
      if case .failure(let error) = ControlChange.perform(values, resettingOthers: resettingOthers, on: self) {
        return error
      }
      return nil
    }
  }

  @Test func `automatic modes are switched before values are set, and nil selects the default`() {
    let camera = Camera()
    #expect(camera.change(["focus": 25, "focus-auto": 0, "power": nil]) == nil)
    #expect(camera.set.withLock { $0 } == ["focus-auto=0", "power=0", "focus=25"])
    let reset = Camera()
    #expect(reset.change(["power": 2], resettingOthers: true) == nil)
    #expect(reset.set.withLock { $0 } == ["power=2", "focus-auto=1", "focus=10"])
  }

  @Test(arguments: [
    ("focus", 251, "0 to 250"), ("focus", -5, "0 to 250"), ("focus", 7, "steps of 5"), ("focus-auto", 2, "0 or 1"),
    ("power", 1, "0 (Off), 2 (60 Hz)"), ("zoom", 1, "leave it out"), ("blur", 1, "focus, focus-auto, go, power, zoom"),
    ("focus", Int.min, "0 to 250"), ("focus", Int.max, "0 to 250"),
  ])
  func `no value is set when one of several is invalid`(name: String, value: Int, hint: String) throws {
    let camera = Camera()
    let error = try #require(camera.change(["go": 1].merging([name: value]) { $1 }))
    #expect(error.code == .invalidSpecification)
    #expect(error.subject == (name == "blur" ? "blur" : "controls") && error.description.contains(name))
    #expect(error.nextStep.contains(hint), "\(error)")
    #expect(camera.set.withLock { $0.isEmpty })
  }

  @Test func `when the device refuses a value, the controls before it return to their previous values`() {
    let camera = Camera(refusing: "focus")
    #expect(camera.change(["focus": 25, "focus-auto": 0, "power": 2])?.code == .failed)
    #expect(camera.set.withLock { $0 } == ["focus-auto=0", "power=2", "power=0", "focus-auto=1"])
  }

  // Switching.

  private static func withStream(
    _ catalog: SourceCatalog = .all, _ body: (StreamSources, LiveStream) async throws -> Void
  ) async throws {
    let stream = LiveStream("live", video: VideoSettings(width: 64, height: 36, frameRate: 30))
    stream.attachVideo(BarsCapturer(width: 64, height: 36))
    stream.attachAudio(ToneCapturer())
    try await stream.start()
    do {
      try await body(StreamSources(stream, video: "bars", audio: "tone", catalog: catalog), stream)
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
  }

  @Test func `sources are replaced by their names, each or both`() async throws {
    try await Self.withStream { sources, stream in
      try await sources.replace(video: "plasma")
      #expect(stream.videoSource is PlasmaCapturer)
      #expect((sources.video, sources.audio) == ("plasma", "tone"))
      stream.rotation = .down
      try await sources.replace(video: "noise", audio: "silence")
      #expect(stream.videoSource is NoiseCapturer)
      #expect(stream.audioSource is SilenceCapturer)
      #expect(stream.rotation == .up)
      // Rotation and mirroring are remembered by the source's name.
      try await sources.replace(video: "plasma", audio: "auto")
      #expect(stream.rotation == .down)
      #expect(stream.audioSource is ToneCapturer)
    }
  }

  @Test func `a source that cannot be opened leaves both sources as they were`() async throws {
    try await Self.withStream { sources, stream in
      let (video, audio) = (stream.videoSource, stream.audioSource)
      for (newVideo, newAudio) in [
        ("nonsense", nil), ("file:/nowhere", nil), ("plasma", "file:/nowhere"), (nil, "none"), ("plasma", "nonsense"),
      ] as [(SourceSpecification.Video?, SourceSpecification.Audio?)] {
        await #expect(throws: VidiconError.self) { try await sources.replace(video: newVideo, audio: newAudio) }
        #expect(stream.videoSource === video)
        #expect(stream.audioSource === audio)
        #expect((sources.video, sources.audio) == ("bars", "tone"))
      }
    }
  }

  @Test func `the next source is the next one that opens, and wraps around`() async throws {
    var catalog = SourceCatalog.all
    catalog.devices = {
      ["v4l2:/dev/none1", "v4l2:/dev/none2", "screen:none:9"].enumerated().map {
        CaptureDevice(kind: $0.offset < 2 ? .camera : .screen, specification: $0.element, name: "", stableName: "")
      }
    }
    try await Self.withStream(catalog) { sources, stream in
      var skipped: [SourceSpecification.Video] = []
      #expect(await sources.switchToNext { source, _ in skipped.append(source) } == "plasma")
      // Screens are skipped unless the stream started with one.
      #expect(skipped == ["v4l2:/dev/none1", "v4l2:/dev/none2"])
      #expect(await sources.switchToNext { source, _ in skipped.append(source) } == "bars")
      #expect(skipped.count == 2)
      #expect(stream.videoSource is BarsCapturer)
    }
  }

  @Test func `a catalog can be limited, or replaced`() async throws {
    let generated = SourceCatalog.all.limited(to: { !$0.contains(":") && $0 != "noise" })
    #expect(generated.generators.map(\.specification) == ["plasma", "bars", "tone", "silence"])
    try await Self.withStream(generated) { sources, _ in
      for source in ["noise", "file:/etc/passwd"] as [SourceSpecification.Video] {
        await #expect(throws: VidiconError.self) { try await sources.replace(video: source) }
      }
      try await sources.replace(video: "plasma")
    }
    var own = SourceCatalog.none
    own.open = { _ in .init(video: NoiseCapturer(width: 64, height: 36)) }
    try await Self.withStream(own) { sources, stream in
      try await sources.replace(video: "mine")
      #expect(stream.videoSource is NoiseCapturer)
      #expect(sources.video == "mine")
    }
  }

  // Publishers.

  @Test(arguments: [PublishedSource.Scheme.rtmp, .rtsp])
  func `a stream that is switched back to a publisher's source has the same one, with its audio`(
    scheme: PublishedSource.Scheme
  ) async throws {
    let first = PublishedSource(
      format: VideoFormat(width: 64, height: 48), audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2),
      scheme: scheme)
    let stream = LiveStream("camera", video: VideoSettings(width: 64, height: 48))
    stream.attachVideo(first.video)
    stream.attachAudio(first.audio)
    let sources = StreamSources(stream, video: .published(scheme), audio: "auto")
    try await sources.replace(video: "plasma", audio: "tone")
    #expect(stream.videoSource is PlasmaCapturer && stream.videoSources.count == 2)
    #expect(stream.videoSources.last === first.video)
    try await sources.replace(video: .published(scheme), audio: "auto")
    #expect(stream.videoSource === first.video && stream.audioSource === first.audio)
    // Audio alone.
    try await sources.replace(audio: "tone")
    try await sources.replace(audio: "auto")
    #expect(stream.audioSource === first.audio)
    // The other protocol has a source of its own, which is kept too.
    let other = SourceSpecification.Video.published(scheme == .rtmp ? .rtsp : .rtmp)
    try await sources.replace(video: other, audio: "auto")
    let second = try #require(stream.videoSource)
    #expect(second !== first.video && stream.audioSource !== first.audio)
    try await sources.replace(video: "plasma")
    try await sources.replace(video: other)
    #expect(stream.videoSource === second && stream.videoSources.count == 2)
  }
}
