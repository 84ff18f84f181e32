internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// The last part of the pictures' way: the canvas, the effects, the encoder with its bitrate and keyframes, the counters. It is used by
/// the pipeline, on its thread. While a source that compresses itself is passed through there is no encoder.
final class EncoderStage {
  /// What viewers get.
  let format: VideoFormat
  /// For those who look at single pictures.
  private(set) var pictures: PictureFeed

  /// What a decoder must know of what went out last; nil before anything did.
  private(set) var description: CodecDescription?

  private let settings: VideoSettings
  private let canvas: FrameConverter
  private let effects: EffectStage
  private var encoder: (any VideoEncoder)?
  private let shared: StreamState
  private let emit: (EncodedSample) -> Void
  private let announce: (CodecDescription) -> Void
  private let clock = StreamClock.system
  private var bitrate: Int

  /// - Parameters:
  ///   - opensEncoder: Whether the encoder is opened at once, so that one that cannot be is told at the start.
  ///   - announce: Told before a sample that needs another description than the one before it.
  ///   - tell: Told before the sample of a picture what effects have found out about it.
  init(
    format: VideoFormat, settings: VideoSettings, shared: StreamState, opensEncoder: Bool = true,
    announce: @escaping (CodecDescription) -> Void, tell: @escaping (PictureMetadata) -> Void,
    emit: @escaping (EncodedSample) -> Void
  ) throws(VidiconError) {
    self.format = format
    self.settings = settings
    self.effects = EffectStage(frameInterval: format.frameRate.frameInterval, shared: shared, tell: tell)
    self.canvas = FrameConverter(format: format, scaling: settings.scaling)
    self.shared = shared
    self.announce = announce
    self.emit = emit
    self.bitrate = shared.videoBitrate
    self.pictures = PictureFeed(frameInterval: format.frameRate.frameInterval)
    if opensEncoder { _ = try self.openEncoder() }
  }

  deinit {
    self.closeEncoder()
  }

  private func openEncoder() throws(VidiconError) -> any VideoEncoder {
    if let encoder { return encoder }
    self.bitrate = self.shared.videoBitrate
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: self.format.width,
        height: self.format.height,
        frameRate: self.format.frameRate,
        colorMatrix: self.format.colorMatrix,
        bitrate: self.bitrate,
        keyframeInterval: self.settings.keyframeInterval,
        encoder: self.settings.encoder))
    self.encoder = encoder
    self.shared.statistics.withLock { $0.videoEncoders += 1 }
    return encoder
  }

  private func closeEncoder() {
    guard self.encoder != nil else { return }
    self.encoder = nil
    self.shared.statistics.withLock { $0.videoEncoders -= 1 }
  }

  /// Outputs an access unit of the source as it is.
  func pass(_ picture: SourceSample, now: MediaTime) {
    self.closeEncoder()
    let sample = picture.sample
    self.shared.statistics.withLock {
      $0.framesPassedThrough += 1
      $0.keyframes += sample.isKeyframe ? 1 : 0
      $0.videoBytes += sample.payload.readableBytes
      $0.videoDelay = now - sample.presentationTime
    }
    self.letOut(sample, of: picture.description)
  }

  /// Shows a picture that is passed through to those who look at single ones.
  func showDecoded(_ frame: VideoFrame, now: MediaTime) {
    guard let drawn = self.canvas.draw(frame, matrix: frame.format.colorMatrix) else { return }
    self.handOver(self.pictures.show(drawn, at: now, isWanted: self.shared.pictures.isPictureWanted))
  }

  private func letOut(_ sample: EncodedSample, of description: CodecDescription) {
    if description != self.description {
      self.description = description
      self.announce(description)
    }
    self.emit(sample)
  }

  /// Applies the effects to a frame and encodes it.
  ///
  /// - Returns: `dropped` where an effect drops the frame, or all memory of the converter is in use.
  func encode(
    _ picture: SourcePicture, forcesKeyframe: Bool, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    let frame = picture.feed.adjustment.applied(to: picture.frame)
    // Looked up once: no effect draws on what is not private.
    let hasEffects = self.shared.hasEffects
    guard var drawn = self.canvas.draw(frame, matrix: picture.colorMatrix, isPrivate: hasEffects) else {
      picture.feed.drop(frame.timestamp, reason: .late)
      return .dropped
    }
    if hasEffects {
      guard let changed = self.effects.process(drawn, from: frame, of: picture.feed) else { return .dropped }
      drawn = changed
    } else {
      self.effects.pass(drawn)
    }
    return try self.encode(drawn, forcesKeyframe: forcesKeyframe, now: now)
  }

  /// Encodes the slate, which has the encoder's format already.
  func encodeSlate(
    _ slate: VideoFrame, forcesKeyframe: Bool, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    self.effects.interrupt()
    return try self.encode(slate, forcesKeyframe: forcesKeyframe, now: now)
  }

  private func encode(
    _ frame: VideoFrame, forcesKeyframe: Bool, now: MediaTime
  ) throws(VidiconError) -> VideoSchedule.EncodingResult {
    let encoder = try self.openEncoder()
    let bitrate = self.shared.videoBitrate
    if bitrate != self.bitrate {
      self.bitrate = bitrate
      encoder.setBitrate(bitrate)
    }
    self.handOver(self.pictures.show(frame, at: now, isWanted: self.shared.pictures.isPictureWanted))
    var result = VideoSchedule.EncodingResult.frame
    let start = self.clock.now()
    try encoder.encode(frame, forcesKeyframe: forcesKeyframe) { sample in
      let end = self.clock.now()
      if sample.isKeyframe { result = .keyframe }
      self.shared.statistics.withLock {
        $0.framesEncoded += 1
        $0.keyframes += sample.isKeyframe ? 1 : 0
        $0.videoBytes += sample.payload.readableBytes
        $0.videoEncodeTime = $0.videoEncodeTime + (end - start)
        $0.videoDelay = end - sample.presentationTime
      }
      // It is known with the first sample.
      if let description = encoder.description { self.letOut(sample, of: .h264(description)) }
    }
    return result
  }
}

// MARK: Single pictures

extension EncoderStage {
  /// Hands the shown picture, or the next one, to those who look at single ones.
  func requestPicture(after number: Int, now: MediaTime) {
    self.handOver(self.pictures.request(after: number, at: now, isStill: self.shared.isPaused))
  }

  /// Hands over a picture that was asked for when the next one is overdue.
  func handlePictureDeadline(now: MediaTime) {
    self.handOver(self.pictures.handleDeadline(at: now))
  }

  /// Gives the source the memory of the shown picture back, where that is the picture's own.
  func giveMemoryBack() {
    self.pictures.copyShown()
  }

  private func handOver(_ picture: ShownPicture?) {
    if let picture { self.shared.pictures.offer(picture) }
  }
}
