import Media
import NIOCore

@testable import Recording

/// A stream without codecs: numbered samples at even times, in the order in which a live stream delivers them.
struct StreamScript {
  static let start = MediaTime.zero + .seconds(1000)
  static let rate = FrameRate(30)
  static let audioRate: Int32 = 44_100

  /// Number of video frames from one keyframe to the next.
  var keyframeDistance: Int64 = 60
  /// Delay of audio samples, relative to video frames of the same time.
  var audioDelay = MediaDuration.milliseconds(60)
  var hasVideo = true
  var hasAudio = true
  /// Bytes of a video sample.
  var frameByteCount = 8
  /// Selects the samples that are omitted.
  var isMissing: (EncodedSample) -> Bool = { _ in false }

  var descriptions: [CodecDescription] {
    (self.hasVideo ? [Self.video] : []) + (self.hasAudio ? [Self.audio] : [])
  }

  static let video = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 320, height: 240,
      frameRate: rate))
  /// ``video`` with another size.
  static let otherVideo = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1F], pictureParameterSet: [0x68, 0xCE], width: 640, height: 480,
      frameRate: rate))
  /// ``audio`` with another channel count.
  static let otherAudio = CodecDescription.aac(
    AACDescription(
      audioSpecificConfig: [0x12, 0x10], format: AudioFormat(sampleRate: Int(audioRate), channelCount: 2)))
  static let audio = CodecDescription.aac(
    AACDescription(
      audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: Int(audioRate), channelCount: 1)))

  /// The video frame with number `index`.
  func videoFrame(_ index: Int64) -> EncodedSample {
    var payload = ByteBuffer(integer: index)
    payload.writeRepeatingByte(0, count: max(0, self.frameByteCount - 8))
    return EncodedSample(
      kind: .video, payload: payload, presentationTime: Self.rate.time(ofFrame: index, from: Self.start),
      duration: Self.rate.frameInterval, isKeyframe: index % self.keyframeDistance == 0)
  }

  /// The audio frame with number `index`; frame 0 is 7 ms before the first video frame.
  func audioFrame(_ index: Int64) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(integer: index),
      presentationTime: Self.start - .milliseconds(7) + .ticks(index * 1024, timescale: Self.audioRate),
      duration: .ticks(1024, timescale: Self.audioRate), isKeyframe: true)
  }

  /// The samples that arrive between two times, with their arrival times.
  func samples(from: MediaTime, to: MediaTime) -> [(time: MediaTime, sample: EncodedSample)] {
    var samples: [(time: MediaTime, sample: EncodedSample)] = []
    if self.hasVideo {
      for index in 0... {
        let sample = self.videoFrame(Int64(index))
        if sample.presentationTime >= to { break }
        if sample.presentationTime >= from { samples.append((sample.presentationTime, sample)) }
      }
    }
    if self.hasAudio {
      for index in 0... {
        let sample = self.audioFrame(Int64(index))
        let time = sample.presentationTime + self.audioDelay
        if time >= to { break }
        if time >= from { samples.append((time, sample)) }
      }
    }
    return samples.filter { !self.isMissing($0.sample) }.sorted { $0.time < $1.time }
  }
}

/// Feeds a script's samples to a timeline and collects the actions.
struct TimelineRun {
  enum Output: Equatable {
    /// Number, kind and recorded time of a sample.
    case sample(Int64, MediaKind, MediaTime)
    case fragmentEnd
    case keyframeRequest
    case nextPart
  }

  var timeline: RecordingTimeline
  let script: StreamScript
  var outputs: [Output] = []
  /// The formats of the second and later parts.
  var formats: [[CodecDescription]] = []
  var written: [PartFragment] = []
  var now = StreamScript.start

  var fragments: [[EncodedSample]] { self.written.map(\.samples) }

  init(_ script: StreamScript, limits: RecordingTimeline.Limits = .init()) {
    self.script = script
    self.timeline = RecordingTimeline(script.descriptions, limits: limits)
  }

  /// Time on the stream's clock, in seconds since its start.
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

  /// Feeds the samples up to a time.
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
      case .fragment(let fragment):
        self.written.append(fragment)
        for sample in fragment.samples {
          let number = sample.payload.getInteger(at: sample.payload.readerIndex, as: Int64.self) ?? -1
          self.outputs.append(.sample(number, sample.kind, sample.presentationTime))
        }
        self.outputs.append(.fragmentEnd)
      }
    }
  }

  /// The recorded samples of a kind, by part.
  func parts(_ kind: MediaKind) -> [[(number: Int64, place: MediaTime)]] {
    self.outputs.split(separator: .nextPart, omittingEmptySubsequences: false).map { part in
      part.compactMap { if case .sample(let number, kind, let place) = $0 { (number, place) } else { nil } }
    }
  }

  func numbers(_ kind: MediaKind) -> [Int64] {
    self.parts(kind).flatMap { $0.map(\.number) }
  }
}
