import Media
import NIOCore

@testable import Recording

/// A stream without codecs: samples that tell their number, at even times, in the order in which a live stream has them.
struct StreamScript {
  static let start = MediaTime.zero + .seconds(1000)
  static let rate = FrameRate(30)
  static let soundRate: Int32 = 44_100

  /// Video frames from one keyframe to the next.
  var keyframeDistance: Int64 = 60
  /// How much later than video frames audio comes out of its encoder.
  var soundDelay = MediaDuration.milliseconds(60)
  var hasVideo = true
  var hasAudio = true
  /// Bytes of a sample.
  var pictureLength = 8
  /// What is left out.
  var isMissing: (EncodedSample) -> Bool = { _ in false }

  var descriptions: [CodecDescription] {
    (self.hasVideo ? [Self.video] : []) + (self.hasAudio ? [Self.audio] : [])
  }

  static let video = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 320, height: 240,
      frameRate: rate))
  /// The same of another size.
  static let otherVideo = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1F], pictureParameterSet: [0x68, 0xCE], width: 640, height: 480,
      frameRate: rate))
  /// The same of another profile.
  static let otherAudio = CodecDescription.aac(
    AACDescription(
      audioSpecificConfig: [0x12, 0x10], format: AudioFormat(sampleRate: Int(soundRate), channelCount: 2)))
  static let audio = CodecDescription.aac(
    AACDescription(
      audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: Int(soundRate), channelCount: 1)))

  /// Picture `index`.
  func picture(_ index: Int64) -> EncodedSample {
    var payload = ByteBuffer(integer: index)
    payload.writeRepeatingByte(0, count: max(0, self.pictureLength - 8))
    return EncodedSample(
      kind: .video, payload: payload, presentationTime: Self.rate.time(ofFrame: index, from: Self.start),
      duration: Self.rate.frameInterval, isKeyframe: index % self.keyframeDistance == 0)
  }

  /// Frame `index` of audio, the first of which is 7 ms before the first video frame.
  func sound(_ index: Int64) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(integer: index),
      presentationTime: Self.start - .milliseconds(7) + .ticks(index * 1024, timescale: Self.soundRate),
      duration: .ticks(1024, timescale: Self.soundRate), isKeyframe: true)
  }

  /// The samples that come between two times, each with the time at which it comes.
  func samples(from: MediaTime, to: MediaTime) -> [(time: MediaTime, sample: EncodedSample)] {
    var samples: [(time: MediaTime, sample: EncodedSample)] = []
    if self.hasVideo {
      for index in 0... {
        let sample = self.picture(Int64(index))
        if sample.presentationTime >= to { break }
        if sample.presentationTime >= from { samples.append((sample.presentationTime, sample)) }
      }
    }
    if self.hasAudio {
      for index in 0... {
        let sample = self.sound(Int64(index))
        let time = sample.presentationTime + self.soundDelay
        if time >= to { break }
        if time >= from { samples.append((time, sample)) }
      }
    }
    return samples.filter { !self.isMissing($0.sample) }.sorted { $0.time < $1.time }
  }
}

/// A timeline that is fed by a script, and what came out.
struct TimelineRun {
  enum Output: Equatable {
    /// Number, kind and place of a sample.
    case sample(Int64, MediaKind, MediaTime)
    case fragmentEnd
    case keyframeRequest
    case nextPart
  }

  var timeline: RecordingTimeline
  let script: StreamScript
  var outputs: [Output] = []
  /// The formats of the parts after the first.
  var formats: [[CodecDescription]] = []
  var fragments: [[EncodedSample]] = []
  var now = StreamScript.start

  init(_ script: StreamScript, limits: RecordingTimeline.Limits = .init()) {
    self.script = script
    self.timeline = RecordingTimeline(script.descriptions, limits: limits)
  }

  /// The stream's time in seconds since its start.
  static func time(_ seconds: Double) -> MediaTime {
    StreamScript.start + MediaDuration(nanoseconds: Int64(seconds * 1e9))
  }

  mutating func resume(at seconds: Double? = nil) {
    self.timeline.resume(at: seconds.map(Self.time) ?? self.now)
    self.collect()
  }

  mutating func pause() {
    self.timeline.pause(at: self.now, now: self.now)
    self.collect()
  }

  mutating func change(to description: CodecDescription) {
    self.timeline.change(to: description)
    self.collect()
  }

  mutating func interrupt() {
    self.timeline.interrupt()
    self.collect()
  }

  /// Lets the stream run up to a time.
  mutating func run(to seconds: Double) {
    for (time, sample) in self.script.samples(from: self.now, to: Self.time(seconds)) {
      self.timeline.handleDeadline(at: time)
      self.timeline.handle(sample, now: time)
      self.collect()
    }
    self.now = Self.time(seconds)
    self.timeline.handleDeadline(at: self.now)
    self.collect()
  }

  private mutating func collect() {
    for action in self.timeline.takeActions() {
      switch action {
      case .requestKeyframe: self.outputs.append(.keyframeRequest)
      case .nextPart(let descriptions):
        self.outputs.append(.nextPart)
        self.formats.append(descriptions)
      case .fragment(let samples, _):
        self.fragments.append(samples)
        for sample in samples {
          let number = sample.payload.getInteger(at: sample.payload.readerIndex, as: Int64.self) ?? -1
          self.outputs.append(.sample(number, sample.kind, sample.presentationTime))
        }
        self.outputs.append(.fragmentEnd)
      }
    }
  }

  /// The samples of a kind that came out, part by part.
  func parts(_ kind: MediaKind) -> [[(number: Int64, place: MediaTime)]] {
    self.outputs.split(separator: .nextPart, omittingEmptySubsequences: false).map { part in
      part.compactMap { if case .sample(let number, kind, let place) = $0 { (number, place) } else { nil } }
    }
  }

  func numbers(_ kind: MediaKind) -> [Int64] {
    self.parts(kind).flatMap { $0.map(\.number) }
  }
}
