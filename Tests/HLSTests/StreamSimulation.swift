import HLS
import HLSRules
import Media
import NIOCore

/// Simulated stream in virtual time: a camera, an encoder that honors keyframe requests (at most one per half
/// second), a microphone, and a viewer that reads both playlists whenever they may have changed.
struct StreamSimulation {
  struct Settings {
    var frameRate: FrameRate? = 30
    var hasAudio = true
    /// Maximum jitter of a frame's timestamp, in both directions.
    var jitter = MediaDuration.zero
    /// Delay between a sample's timestamp and its arrival.
    var videoDelay = MediaDuration.milliseconds(40)
    var audioDelay = MediaDuration.milliseconds(60)
    /// Whether the encoder honors keyframe requests.
    var heedsRequests = true
    /// Keyframe interval of the encoder, in frames.
    var keyframeInterval = 60
    /// Time between two frames, if it differs from the frame rate.
    var frameInterval: MediaDuration?
    /// Whether the encoder repeats the last frame as a keyframe if the next one is late.
    var repeatsFrames = false
    /// Arrival times of video and audio.
    var videoTimes: Range<Int64> = 0..<Int64.max
    var audioTimes: Range<Int64> = 0..<Int64.max
  }

  /// The clock's time at the start, as on a machine that has been running for a while.
  static let start = MediaTime(nanoseconds: 12_345_678_901_234)
  static let samplesPerFrame: Int64 = 1024
  static let sampleRate: Int32 = 48_000

  var settings: Settings
  var stream: HLSStream
  var now = Self.start
  var checkers: [String: HLSRuleChecker] = [:]
  var keyframeRequests = 0
  var wakeUps = 0
  /// Playlists that the viewer reads; empty without a viewer.
  var watched = ["live.m3u8", "playlist.m3u8"]
  var fetchesFiles = false

  private var random: UInt64 = 0x9e37_79b9_7f4a_7c15
  private var frameIndex: Int64 = 0
  private var frame: Int64 = 0
  private var nextVideo: EncodedSample?
  private var nextAudio: EncodedSample?
  private var isKeyframePending = false
  private var lastKeyframe: MediaTime?
  private var lastFrame: MediaTime?
  private var framesSinceKeyframe: Int
  private var lastDelivered: MediaTime?

  init(_ settings: Settings = Settings(), configuration: HLSConfiguration? = nil) {
    self.settings = settings
    // The first frame is a keyframe, unless the encoder never makes one.
    self.framesSinceKeyframe = settings.keyframeInterval < 1_000 ? settings.keyframeInterval : 0
    self.stream = HLSStream(
      Self.descriptions(settings), configuration: configuration ?? Self.configuration)
    for file in self.watched { self.checkers[file] = HLSRuleChecker() }
  }

  static let configuration = HLSConfiguration(
    // 2026-11-21T07:41:03.123Z at the start.
    token: "a1b2", unixTimeAtZero: MediaDuration(nanoseconds: 1_795_246_863_123_000_000) - (Self.start - .zero),
    bitrate: 2_364_000, startSegments: 1)

  static func descriptions(_ settings: Settings) -> [CodecDescription] {
    var descriptions: [CodecDescription] = []
    if let frameRate = settings.frameRate { descriptions.append(Self.video(frameRate)) }
    if settings.hasAudio { descriptions.append(Self.audio) }
    return descriptions
  }

  /// High profile, level 3.1.
  static func video(_ frameRate: FrameRate) -> CodecDescription {
    .h264(
      H264Description(
        sequenceParameterSet: [0x67, 0x64, 0x00, 0x1F, 0xAC], pictureParameterSet: [0x68, 0xEE, 0x3C, 0x80],
        width: 1280, height: 720, frameRate: frameRate))
  }

  /// AAC-LC, 48,000 Hz, stereo.
  static let audio = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))

  /// Rule violations of all playlists.
  var violations: [HLSViolation] {
    self.watched.flatMap { self.checkers[$0]?.violations ?? [] }
  }

  /// The time since the start, in milliseconds.
  var milliseconds: Int64 { (self.now - Self.start).nanoseconds / 1_000_000 }

  /// Runs until a time, in milliseconds after the start.
  mutating func run(until milliseconds: Int64) {
    let end = Self.start + .milliseconds(milliseconds)
    if !self.watched.isEmpty { self.watch() }
    while true {
      if self.nextVideo == nil, self.settings.frameRate != nil { self.nextVideo = self.makeVideoFrame() }
      if self.nextAudio == nil, self.settings.hasAudio { self.nextAudio = self.makeFrame() }
      let videoTime = self.nextVideo.map { $0.decodeTime + self.settings.videoDelay }
      let audioTime = self.nextAudio.map { $0.decodeTime + self.settings.audioDelay }
      if let repetition, repetition < min(videoTime ?? end, audioTime ?? end), repetition < end {
        self.now = max(self.now, repetition)
        self.repeatFrame()
        continue
      }
      let sampleTime = [videoTime, audioTime].compactMap { $0 }.min() ?? end
      let time = min(sampleTime, self.stream.deadline ?? sampleTime)
      guard time < end else {
        self.now = end
        return
      }
      self.now = max(self.now, time)
      if time < sampleTime {
        self.perform(self.stream.advance(to: self.now))
      } else if time == videoTime, let sample = self.nextVideo.take() {
        self.deliver(sample)
      } else if let sample = self.nextAudio.take() {
        if self.settings.audioTimes.contains(self.offset(sample)) {
          self.perform(self.stream.consume(sample, at: self.now))
        }
      }
    }
  }

  /// Requests a file, and performs the session's actions.
  mutating func ask(_ file: String, _ query: String = "") -> HLSResponse? {
    HLSRequest(file: file, query: query, arrival: self.now).map { self.ask($0) }
  }

  mutating func ask(_ request: HLSRequest) -> HLSResponse {
    let (response, effects) = self.stream.respond(to: request, at: self.now)
    if effects.requestsKeyframe { self.isKeyframePending = true }
    self.keyframeRequests += effects.requestsKeyframe ? 1 : 0
    return response
  }

  /// The text of an existing playlist.
  mutating func text(_ file: String, _ query: String = "") -> String? {
    guard case .content(let content)? = self.ask(file, query) else { return nil }
    return String(buffer: content.body)
  }

  mutating func perform(_ effects: HLSEffects) {
    if effects.requestsKeyframe {
      self.keyframeRequests += 1
      self.isKeyframePending = true
    }
    if effects.wakesRequests {
      self.wakeUps += 1
      self.watch()
    }
  }

  private mutating func watch() {
    for file in self.watched {
      guard let text = self.text(file) else { continue }
      self.checkers[file]?.check(text, at: self.now.seconds)
      if let delta = self.text(file, "_HLS_skip=YES"), delta != text {
        self.checkers[file]?.check(delta: delta, equals: text)
        self.checkers[file]?.check(delta, at: self.now.seconds)
      }
      guard self.fetchesFiles else { continue }
      let playlist = MediaPlaylistText(text)
      let uris = playlist.segments.flatMap { $0.parts.map(\.uri) + [$0.uri, $0.map].compactMap { $0 } }
      for uri in uris {
        guard case .content(let content)? = self.ask(uri) else {
          self.checkers[file]?.checkFile(uri, [])
          continue
        }
        self.checkers[file]?.checkFile(uri, Array(buffer: content.body))
      }
    }
  }

  /// Time at which the last frame is repeated.
  private var repetition: MediaTime? {
    guard self.settings.repeatsFrames, self.isKeyframePending, let lastDelivered, let lastKeyframe,
      let frameRate = self.settings.frameRate
    else { return nil }
    return max(self.now, lastKeyframe + .milliseconds(500), lastDelivered + frameRate.frameInterval * 3 / 2)
  }

  private mutating func repeatFrame() {
    guard let frameRate = self.settings.frameRate else { return }
    self.isKeyframePending = true
    self.deliver(
      EncodedSample(
        kind: .video, payload: ByteBuffer(), presentationTime: self.now, duration: frameRate.frameInterval,
        isKeyframe: false))
  }

  private func offset(_ sample: EncodedSample) -> Int64 {
    (sample.decodeTime - Self.start).nanoseconds / 1_000_000
  }

  private mutating func deliver(_ sample: EncodedSample) {
    guard self.settings.videoTimes.contains(self.offset(sample)) else { return }
    var sample = sample
    let isLate = self.lastKeyframe.map { sample.decodeTime - $0 >= .milliseconds(500) } ?? true
    let isRequested = self.settings.heedsRequests && self.isKeyframePending && isLate
    sample.isKeyframe = isRequested || self.framesSinceKeyframe >= self.settings.keyframeInterval
    self.framesSinceKeyframe += 1
    if sample.isKeyframe {
      self.framesSinceKeyframe = 1
      self.isKeyframePending = false
      self.lastKeyframe = sample.decodeTime
    }
    sample.payload = Self.payload(sample.isKeyframe ? 900 : 300, first: sample.isKeyframe ? 0x65 : 0x41)
    self.lastDelivered = self.now
    self.perform(self.stream.consume(sample, at: self.now))
  }

  private mutating func makeVideoFrame() -> EncodedSample? {
    guard let frameRate = self.settings.frameRate else { return nil }
    let interval = self.settings.frameInterval ?? frameRate.frameInterval
    var time =
      self.settings.frameInterval.map { Self.start + $0 * self.frameIndex }
      ?? frameRate.time(ofFrame: self.frameIndex, from: Self.start)
    let jitter = self.settings.jitter.nanoseconds
    if jitter > 0 { time += MediaDuration(nanoseconds: Int64(self.next() % UInt64(2 * jitter)) - jitter) }
    if let lastFrame { time = max(time, lastFrame + .milliseconds(1)) }
    self.lastFrame = time
    self.frameIndex += 1
    return EncodedSample(
      kind: .video, payload: ByteBuffer(), presentationTime: time, duration: min(interval, frameRate.frameInterval),
      isKeyframe: false)
  }

  private mutating func makeFrame() -> EncodedSample {
    let time = Self.start + .ticks(self.frame * Self.samplesPerFrame, timescale: Self.sampleRate)
    self.frame += 1
    return EncodedSample(
      kind: .audio, payload: Self.payload(170, first: 0x21), presentationTime: time,
      duration: .ticks(Self.samplesPerFrame, timescale: Self.sampleRate), isKeyframe: true)
  }

  /// One NAL unit, or bytes that stand for audio.
  static func payload(_ count: Int, first: UInt8) -> ByteBuffer {
    var payload = ByteBuffer()
    payload.writeInteger(UInt32(count))
    payload.writeInteger(first)
    payload.writeRepeatingByte(0x5A, count: count - 1)
    return payload
  }

  /// xorshift64, Marsaglia 2003.
  private mutating func next() -> UInt64 {
    self.random ^= self.random << 13
    self.random ^= self.random >> 7
    self.random ^= self.random << 17
    return self.random
  }
}

extension Array where Element == UInt8 {
  init(buffer: ByteBuffer) {
    self = Array(buffer.readableBytesView)
  }
}
