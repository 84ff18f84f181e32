internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization

/// The last part of the pictures' way: the canvas, the encoder with its bitrate and keyframes, the counters. It is used by
/// the pipeline, on its thread.
final class EncoderStage {
  /// What viewers get.
  let format: VideoFormat
  /// The timestamp of the last picture encoded.
  private(set) var lastTime: MediaTime?
  /// When it was encoded.
  private(set) var lastEncoding: MediaTime?
  private(set) var requests: KeyframeRequests
  /// For those who look at single pictures.
  private(set) var pictures: PictureFeed

  private let canvas: Canvas
  private let encoder: any VideoEncoder
  private let shared: StreamState
  private let emit: (EncodedSample) -> Void
  private let clock = StreamClock.system
  private var bitrate: Int
  /// The source of the last picture encoded; nil for the slate's.
  private var lastFeed: VideoFeed?

  init(
    format: VideoFormat, settings: VideoSettings, shared: StreamState, emit: @escaping (EncodedSample) -> Void
  ) throws(CodecError) {
    self.format = format
    self.canvas = Canvas(format: format, scaling: settings.scaling)
    self.shared = shared
    self.emit = emit
    self.bitrate = shared.videoBitrate
    self.requests = KeyframeRequests(longestInterval: settings.keyframeInterval)
    self.pictures = PictureFeed(frameInterval: format.frameRate.frameInterval)
    self.encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: format.width,
        height: format.height,
        frameRate: format.frameRate,
        colorMatrix: format.colorMatrix,
        bitrate: self.bitrate,
        keyframeInterval: settings.keyframeInterval,
        encoder: settings.encoder))
    shared.statistics.withLock { $0.videoEncoders += 1 }
  }

  deinit {
    self.shared.statistics.withLock { $0.videoEncoders -= 1 }
  }

  /// What a decoder must know; nil until the encoder has said so.
  var description: CodecDescription? {
    self.lastTime == nil ? nil : self.encoder.description.map(CodecDescription.h264)
  }

  /// Asks for a keyframe.
  func requestKeyframe() {
    self.requests.request()
  }

  /// Encodes a picture of a source; drops it when the canvas has no memory left.
  func encode(_ picture: SourcePicture, now: MediaTime) throws(StreamError) {
    let frame = picture.feed.adjustment.applied(to: picture.frame)
    guard let drawn = self.canvas.draw(frame, matrix: picture.colorMatrix) else {
      return picture.feed.drop(frame.timestamp, reason: .late)
    }
    let isCut = self.lastTime != nil && picture.feed !== self.lastFeed
    self.lastFeed = picture.feed
    try self.encode(drawn, isCut: isCut, now: now)
  }

  /// Encodes the slate, which has the encoder's format already.
  func encodeSlate(_ slate: VideoFrame, now: MediaTime) throws(StreamError) {
    let isCut = self.lastFeed != nil
    self.lastFeed = nil
    try self.encode(slate, isCut: isCut, now: now)
  }

  /// - Parameter isCut: Whether the picture has nothing in common with the one before it.
  private func encode(_ picture: VideoFrame, isCut: Bool, now: MediaTime) throws(StreamError) {
    let bitrate = self.shared.videoBitrate
    if bitrate != self.bitrate {
      self.bitrate = bitrate
      self.encoder.setBitrate(bitrate)
    }
    self.lastTime = picture.timestamp
    self.lastEncoding = now
    self.handOver(self.pictures.show(picture, at: now, isWanted: self.shared.pictures.isPictureWanted))
    let forcesKeyframe = self.requests.forcesKeyframe(at: now) || isCut && self.requests.allowsKeyframe(at: now)
    let start = self.clock.now()
    do throws(CodecError) {
      try self.encoder.encode(picture, forcesKeyframe: forcesKeyframe) { sample in
        let end = self.clock.now()
        if sample.isKeyframe { self.requests.keyframeEncoded(at: now) }
        self.shared.statistics.withLock {
          $0.framesEncoded += 1
          $0.keyframes += sample.isKeyframe ? 1 : 0
          $0.videoBytes += sample.payload.readableBytes
          $0.videoEncodeTime = $0.videoEncodeTime + (end - start)
          $0.videoDelay = end - sample.presentationTime
        }
        self.emit(sample)
      }
    } catch {
      throw .codec(error)
    }
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

  private func handOver(_ picture: ShownPicture?) {
    if let picture { self.shared.pictures.offer(picture) }
  }
}
