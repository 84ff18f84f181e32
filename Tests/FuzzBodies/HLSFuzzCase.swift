import HLS
import HLSRules
import Media
import NIOCore

/// Invariants of an HLS session for any order of samples and requests, and for any file name and query.
///
/// The first byte selects tracks and frame rate. Then each byte is a step: a video sample, an audio sample, elapsed
/// time, a request, a codec change, the end; the bytes after it are its parameters.
struct HLSFuzzCase {
  private var bytes: ByteBufferView
  private var stream: HLSStream
  private var now = MediaTime(nanoseconds: 1_000_000_000_000)
  private var times: [MediaKind: MediaTime] = [:]
  private var checkers: [String: HLSRuleChecker] = ["live.m3u8": HLSRuleChecker(), "playlist.m3u8": HLSRuleChecker()]
  private var waiting: [HLSRequest] = []
  /// Whether a segment ended without a keyframe, so that a preload hint was not fulfilled.
  private var isInterrupted = false

  private static let maximumBytes = 200_000

  init(_ input: ByteBuffer) {
    self.bytes = input.readableBytesView
    let options = self.bytes.popFirst() ?? 0
    self.stream = HLSStream(
      Self.descriptions(options),
      configuration: HLSConfiguration(
        token: "t0", unixTimeAtZero: .seconds(1_700_000_000), bitrate: 1_000_000, maximumBytes: Self.maximumBytes))
  }

  private static func descriptions(_ options: UInt8) -> [CodecDescription] {
    let rates: [FrameRate] = [30, 25, 60, 5, 1, 240, FrameRate(1, over: 60), FrameRate(30_000, over: 1001)]
    let video = CodecDescription.h264(
      H264Description(
        sequenceParameterSet: [0x67, 0x64, 0x00, 0x1F], pictureParameterSet: [0x68, 0xEE], width: 640, height: 360,
        frameRate: rates[Int(options >> 2 & 0b111)]))
    let audio = CodecDescription.aac(
      AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
    switch options & 0b11 {
    case 0: return [video]
    case 1: return [audio]
    default: return [video, audio]
    }
  }

  func run() {
    var copy = self
    copy.watch()
    while let step = copy.bytes.popFirst() { copy.take(step) }
    copy.perform(copy.stream.end())
    copy.watch()
    precondition(copy.waiting.allSatisfy { !copy.isWaiting($0) }, "a request waits for what never comes")
    for checker in copy.checkers.values {
      // Keyframes are arbitrary here: the target duration is raised to segments that turn out longer, and may then
      // exceed a third of the window.
      var ignored: Set<HLSRule> = [.targetDuration, .constantTargets, .windowLength]
      if copy.isInterrupted { ignored.insert(.preloadHint) }
      let violations = checker.violations.filter { !ignored.contains($0.rule) }
      precondition(violations.isEmpty, "\(violations)")
    }
  }

  /// Streams of another process are the same once they were written and read again. Of the playlists of each, every file is found, and
  /// numbers go on.
  static func checkSuspendedStreams(_ input: ByteBuffer) {
    guard let suspended = try? HLSSuspendedStreams(parsing: input) else { return }
    var bytes = ByteBuffer()
    suspended.serialize(into: &bytes)
    guard let again = try? HLSSuspendedStreams(parsing: bytes) else { preconditionFailure("it cannot be read again") }
    var copy = ByteBuffer()
    again.serialize(into: &copy)
    precondition(bytes == copy, "it differs after it was read again")
    for stream in suspended.streams {
      // The first track of 30 frames a second has the part target of the seed.
      var resumed = HLSFuzzCase(ByteBuffer(bytes: [2]))
      resumed.stream = HLSStream(
        Self.descriptions(2),
        configuration: HLSConfiguration(token: "t0", unixTimeAtZero: .seconds(1_700_000_000), bitrate: 1_000_000),
        resuming: stream.state, at: resumed.now)
      resumed.watch()
      _ = resumed.stream.consume(
        EncodedSample(
          kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 1, 0x65]), presentationTime: resumed.now,
          duration: .milliseconds(33), isKeyframe: true), at: resumed.now)
      _ = resumed.stream.end()
      resumed.watch()
      // Durations and dates are those of the other process.
      let rules: Set<HLSRule> = [.mediaSequence, .discontinuitySequence]
      let violations = resumed.checkers.values.flatMap(\.violations).filter { rules.contains($0.rule) }
      precondition(violations.isEmpty, "\(violations)")
    }
  }

  private mutating func take(_ step: UInt8) {
    let argument = self.bytes.popFirst() ?? 0
    switch step & 0b111 {
    case 0, 1, 2: self.feed(.video, after: argument, isKeyframe: step & 0b1000 != 0)
    case 3, 4: self.feed(.audio, after: argument, isKeyframe: true)
    case 5: self.request(argument)
    case 6:
      // Up to 255 ms, or up to 17 minutes.
      self.now += .milliseconds(step & 0b1000 == 0 ? Int64(argument) : Int64(argument) * 4000)
      self.perform(self.stream.advance(to: self.now))
    default:
      guard step & 0b1111_1000 == 0b1111_1000 else { return self.watch() }
      self.isInterrupted = true
      self.perform(self.stream.change(to: Self.descriptions(argument)))
    }
  }

  /// A sample some milliseconds after the last one of its kind; 255 jumps to the current time, 254 into the past.
  private mutating func feed(_ kind: MediaKind, after argument: UInt8, isKeyframe: Bool) {
    var time = (self.times[kind] ?? self.now) + .milliseconds(Int64(argument))
    if argument == 255 { time = self.now }
    if argument == 254 { time = time - .seconds(100) }
    if let other = self.times.values.max(), time - other > .seconds(2) { self.isInterrupted = true }
    self.times[kind] = max(time, self.times[kind] ?? time)
    self.now = max(self.now, time)
    let duration = MediaDuration.milliseconds(kind == .video ? Int64(argument % 64) : 21)
    var payload = ByteBuffer(bytes: [0, 0, 0, 5, isKeyframe ? 0x65 : 0x41])
    payload.writeRepeatingByte(argument, count: 4)
    self.perform(
      self.stream.consume(
        EncodedSample(
          kind: kind, payload: payload, presentationTime: time, duration: duration, isKeyframe: isKeyframe),
        at: self.now))
  }

  /// A request whose file and query are the next bytes, up to a zero byte.
  private mutating func request(_ argument: UInt8) {
    let files = ["live.m3u8", "playlist.m3u8", "index.m3u8", "t0-", "t0-init1.mp4", ""]
    var text = files[Int(argument) % files.count]
    let rest = self.bytes.prefix(40).prefix { $0 != 0 }
    self.bytes = self.bytes.dropFirst(rest.count + 1)
    text += String(decoding: rest, as: UTF8.self)
    let pieces = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard
      let request = HLSRequest(
        file: pieces[0], query: pieces.count == 2 ? pieces[1] : "", arrival: self.now)
    else { return }
    if self.isWaiting(request) { self.waiting = self.waiting.suffix(10) + [request] }
  }

  private mutating func isWaiting(_ request: HLSRequest) -> Bool {
    let (response, effects) = self.stream.respond(to: request, at: self.now)
    precondition(!effects.wakesRequests, "a response wakes others")
    guard case .wait(let deadline) = response else { return false }
    precondition(deadline > self.now && deadline - self.now <= .seconds(60), "an absurd wait")
    return true
  }

  private mutating func perform(_ effects: HLSEffects) {
    let limit = Self.maximumBytes + 2_000_000
    precondition(self.stream.statistics.windowBytes <= limit, "memory grows")
    guard effects.wakesRequests else { return }
    self.waiting = self.waiting.filter { self.isWaiting($0) }
    if self.stream.isActive { self.watch() }
  }

  /// Requests both playlists, and every file in them.
  private mutating func watch() {
    for file in ["live.m3u8", "playlist.m3u8"] {
      guard let text = self.text(file) else { continue }
      self.checkers[file]?.check(text, at: 0)
      if let delta = self.text(file, "_HLS_skip=YES"), delta != text {
        self.checkers[file]?.check(delta: delta, equals: text)
      }
      for segment in MediaPlaylistText(text).segments {
        for uri in segment.parts.map(\.uri) + [segment.uri, segment.map].compactMap({ $0 }) {
          guard let body = self.body(uri) else { preconditionFailure("\(uri) is listed and not found") }
          precondition(body.readableBytes > 0, "\(uri) is empty")
        }
      }
    }
  }

  private mutating func text(_ file: String, _ query: String = "") -> String? {
    self.body(file, query).map { String(buffer: $0) }
  }

  private mutating func body(_ file: String, _ query: String = "") -> ByteBuffer? {
    guard let request = HLSRequest(file: file, query: query, arrival: self.now) else {
      preconditionFailure("\(file) is no name")
    }
    guard case .content(let content) = self.stream.respond(to: request, at: self.now).response else { return nil }
    return content.body
  }
}
