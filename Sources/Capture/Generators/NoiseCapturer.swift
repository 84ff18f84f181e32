internal import CCapture
public import Media

/// White noise: ARGB pixels of random bytes, alpha included. The hardest picture that an encoder can be given.
public final class NoiseCapturer: VideoCapturer {
  private let generator: FrameGenerator

  /// Noise of any size.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .argb, frameRate: frameRate)
    self.generator = FrameGenerator(name: "noise", format: format) {
      var random = SystemRandomNumberGenerator()
      var state = vidicon_noise_state()
      // A generator whose state is zero stays there.
      state.words = (random.next() | 1, random.next() | 1, random.next() | 1, random.next() | 1)
      return { buffer, _, _ in
        let bytes = buffer.unsafePlane(0)
        vidicon_noise_fill(bytes.baseAddress, bytes.count, &state)
      }
    }
  }

  /// ARGB of the size and rate that was asked for.
  public var format: VideoFormat {
    self.generator.format
  }

  /// Whether pictures are being made.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Begins to make pictures, on whole multiples of the frame interval from a whole second of the time of day on.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Ends it.
  public func stop() {
    self.generator.stop()
  }
}
