internal import Capture
internal import Codecs
internal import Effects
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// Last stage of the video pipeline: converter, effects, encoder with its bitrate, counters. Used on the pipeline's
/// thread. There is no encoder while a source is passed through.
///
/// ``VideoPipeline`` has one, and calls it for each action of the schedule.
final class EncoderStage {
  /// Format of the output.
  let format: VideoFormat
  /// Codec configuration of the last sample; nil before the first.
  private(set) var description: CodecDescription?

  private let settings: VideoSettings
  private let converter: FrameConverter
  private let effects: EffectStage
  private let renditions: RenditionScaler
  private var encoder: (any VideoEncoder)?
  private let shared: StreamState
  private let inputQueue: VideoInputQueue
  private let clock = StreamClock.system
  private var bitrate: Int
  /// ``generation`` of the last encoded frame, which may have been lost if it is over.
  private var encodedGeneration = 0

  /// - Parameters:
  ///   - inputQueue: Queue by which a keyframe is requested where a sample is not output.
  ///   - opensEncoder: Whether to open the encoder now, so that an error is reported at the start.
  init(
    format: VideoFormat, settings: VideoSettings, shared: StreamState, inputQueue: VideoInputQueue, opensEncoder: Bool
  ) throws(VidiconError) {
    self.format = format
    self.settings = settings
    self.effects = EffectStage(frameInterval: format.frameRate.frameInterval, shared: shared)
    self.converter = FrameConverter(format: format, scaling: settings.scaling)
    self.shared = shared
    self.inputQueue = inputQueue
    self.bitrate = shared.encoderBitrate
    self.renditions = RenditionScaler(shared.renditions, keyframeInterval: settings.keyframeInterval)
    shared.renditions.isMainPassedThrough = !opensEncoder
    if opensEncoder { _ = try self.openEncoder() }
  }

  deinit {
    self.shared.snapshots.forgetLatest()
    self.closeEncoder()
  }

  private func openEncoder() throws(VidiconError) -> any VideoEncoder {
    if let encoder { return encoder }
    self.bitrate = self.shared.encoderBitrate
    let encoder = try LibavH264Encoder(self.settings.encoderSettings(format: self.format, bitrate: self.bitrate))
    self.encoder = encoder
    self.shared.renditions.isMainPassedThrough = false
    self.shared.statistics.withLock { $0.videoEncoders += 1 }
    return encoder
  }

  private func closeEncoder() {
    guard self.encoder != nil else { return }
    self.encoder = nil
    self.shared.renditions.isMainPassedThrough = true
    self.shared.statistics.withLock { $0.videoEncoders -= 1 }
  }

  /// Outputs an access unit of the source as it is.
  ///
  /// - Parameters:
  ///   - permission: Of the stream's effects, which see nothing of it.
  ///   - generation: ``generation`` before the permission was given.
  func pass(_ source: SourceSample, permission: PassThroughPermission, generation: Int, now: MediaTime) {
    self.closeEncoder()
    let sample = source.sample
    self.shared.statistics.withLock {
      $0.framesPassedThrough += 1
      $0.keyframes += sample.isKeyframe ? 1 : 0
      $0.videoBytes += sample.payload.readableBytes
      $0.videoLatency = now - sample.presentationTime
    }
    self.output(sample, of: source.description, generation: generation)
  }

  /// Number of times that frames became private; read before a frame is released.
  var generation: Int { self.renditions.generation }

  /// Provides a decoded frame of a passed-through source for snapshots.
  func showDecoded(_ frame: VideoFrame, now: MediaTime) {
    let generation = self.generation
    guard let drawn = self.converter.draw(frame, matrix: frame.format.colorMatrix) else { return }
    self.shared.snapshots.show(self.shared.effects.release(drawn), generation: generation, at: now)
  }

  private func output(_ sample: EncodedSample, of description: CodecDescription, generation: Int) {
    self.description = description
    guard !self.shared.outputs.consumeVideo(sample, of: description, generation: generation) else { return }
    self.shared.statistics.withLock { $0.keyframeRequests += 1 }
    self.inputQueue.requestKeyframe()
  }

  /// Applies the effects to a frame and encodes it.
  ///
  /// - Parameter completes: Whether the frame is not to be held back by a privacy effect.
  /// - Returns: `dropped` where an effect drops the frame, or all memory of the converter is in use; `heldBack` where a
  ///   privacy effect holds it back, and no earlier one is encoded.
  func encode(
    _ source: SourceFrame, completes: Bool, forcesKeyframe: Bool, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    let frame = source.feed.adjustment.applied(to: source.frame)
    let generation = self.generation
    // Read once: effects must not draw on a frame that is not private.
    let hasEffects = self.shared.hasEffects
    guard let drawn = self.converter.draw(frame, matrix: source.colorMatrix, isPrivate: hasEffects) else {
      source.feed.drop(frame.timestamp, reason: .late)
      return .dropped
    }
    guard hasEffects else {
      self.effects.pass(drawn)
      return try self.encode(
        self.shared.effects.release(drawn), forcesKeyframe: forcesKeyframe, generation: generation, now: now)
    }
    let (frames, isHeldBack) = self.effects.process(drawn, from: frame, of: source.feed, completes: completes)
    var result = isHeldBack ? VideoSchedule.EncodingResult.heldBack : .dropped
    for frame in frames {
      let next = try self.encode(
        frame, forcesKeyframe: forcesKeyframe && result != .keyframe, generation: generation, now: now)
      if result != .keyframe { result = next }
    }
    return result
  }

  /// Encodes the slate, which has the encoder's format already.
  func encodeSlate(
    _ slate: ReleasedFrame, forcesKeyframe: Bool, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    self.effects.interrupt()
    return try self.encode(slate, forcesKeyframe: forcesKeyframe, generation: self.generation, now: now)
  }

  /// - Parameter generation: ``generation`` before the frame was released.
  private func encode(
    _ frame: ReleasedFrame, forcesKeyframe: Bool, generation: Int, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    let encoder = try self.openEncoder()
    let bitrate = self.shared.encoderBitrate
    if bitrate != self.bitrate {
      self.bitrate = bitrate
      encoder.setBitrate(bitrate)
    }
    self.shared.snapshots.show(frame, generation: generation, at: now)
    self.renditions.offerEarly(frame, generation: generation)
    var result = VideoSchedule.EncodingResult.frame
    let start = self.clock.now()
    let refersToLost = generation != self.encodedGeneration
    self.encodedGeneration = generation
    try encoder.encode(frame, forcesKeyframe: forcesKeyframe || refersToLost) { sample in
      let end = self.clock.now()
      if sample.isKeyframe { result = .keyframe }
      self.shared.statistics.withLock {
        $0.framesEncoded += 1
        $0.keyframes += sample.isKeyframe ? 1 : 0
        $0.videoBytes += sample.payload.readableBytes
        $0.videoEncodeTime = $0.videoEncodeTime + (end - start)
        $0.videoLatency = end - sample.presentationTime
      }
      // The description of an encoder is known with its first sample at the latest.
      if let description = encoder.description { self.output(sample, of: .h264(description), generation: generation) }
    }
    self.renditions.offer(frame, isKeyframe: result == .keyframe, generation: generation, at: now)
    return result
  }
}
