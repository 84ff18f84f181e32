internal import Capture
internal import Codecs
internal import Effects
package import Media
internal import Threading

/// Speed at which this machine encodes the video of a stream, measured before viewers come.
///
/// Moving colors are converted and encoded as frames of the stream are, one after the other without a pause. Cameras with much noise take
/// longer; effects are not part of it.
package enum EncodingSpeed {
  /// Number of generated frames, which are encoded forward and backward until the time is over; fewer than a generator has memory for.
  private static let sourceFrameCount = 6
  /// Maximum time until they are generated.
  private static let sourceTimeout = MediaDuration.seconds(1)

  /// Encodes video for a while; blocks meanwhile.
  ///
  /// - Parameters:
  ///   - settings: Of the stream; 1280 by 720 pixels and 30 frames per second where it has no size and rate of its own.
  ///   - duration: Duration of the video.
  ///   - limit: Time after which no further frame is encoded.
  /// - Returns: Duration of the encoded video divided by the time that it took: below 1 frames of a live source are dropped.
  /// - Throws: The error of an encoder that cannot be opened, or fails.
  package static func realTimeFactor(
    of settings: VideoSettings, duration: MediaDuration = .seconds(2), limit: MediaDuration = .seconds(2)
  ) throws(VidiconError) -> Double {
    let rate = settings.frameRate ?? 30
    let format = VideoFormat(
      width: settings.width ?? 1280, height: settings.height ?? 720, pixelFormat: .i420, frameRate: rate)
    let encoder = try LibavH264Encoder(settings.encoderSettings(format: format, bitrate: settings.bitrate))
    let frames = try self.sourceFrames(width: format.width, height: format.height)
    let converter = FrameConverter(format: format, scaling: settings.scaling)
    // Without effects: no camera has seen these frames.
    let effects = EffectChain()
    let clock = StreamClock.system
    let start = clock.now()
    let total = max(1, Int64((duration.seconds * rate.framesPerSecond).rounded()))
    var count: Int64 = 0
    var elapsed = MediaDuration.zero
    repeat {
      var frame = frames[self.index(of: count, among: frames.count)]
      frame.timestamp = rate.time(ofFrame: count, from: .zero)
      if let drawn = converter.draw(frame, matrix: format.colorMatrix) {
        try encoder.encode(effects.release(drawn), forcesKeyframe: count == 0) { _ in }
        count += 1
      }
      elapsed = clock.now() - start
    } while count < total && elapsed < limit
    return Double(count) / rate.framesPerSecond / max(elapsed.seconds, 1e-9)
  }

  /// Index of a frame that goes forward and backward through some frames, so that none differs much from the one before.
  static func index(of number: Int64, among count: Int) -> Int {
    let period = max(1, 2 * (count - 1))
    let position = Int(number % Int64(period))
    return position < count ? position : period - position
  }

  private static func sourceFrames(width: Int, height: Int) throws(VidiconError) -> [VideoFrame] {
    let collector = FrameCollector(maximumCount: self.sourceFrameCount)
    let capturer = PlasmaCapturer(width: width, height: height, frameRate: 30)
    try capturer.start(consumer: collector)
    let frames = collector.wait(until: StreamClock.system.now() + self.sourceTimeout)
    capturer.stop()
    guard !frames.isEmpty else {
      throw VidiconError(
        .timedOut, subject: "encoder", cause: "this machine is too busy to generate a frame",
        nextStep: "end other programs")
    }
    return frames
  }
}

/// Consumer that keeps the first frames of a capturer.
private final class FrameCollector: VideoConsumer {
  private let frames = Monitor<[VideoFrame]>([])
  private let maximumCount: Int

  init(maximumCount: Int) { self.maximumCount = maximumCount }

  func consume(_ frame: VideoFrame) {
    self.frames.withLock { if $0.count < self.maximumCount { $0.append(frame) } }
  }

  func captureEnded(_ error: VidiconError?) {}

  /// The frames once there are enough, or those of the deadline.
  func wait(until deadline: MediaTime) -> [VideoFrame] {
    self.frames.wait(until: deadline) { $0.count == self.maximumCount ? $0 : nil } ?? self.frames.read { $0 }
  }
}
