public import Media

/// A plasma: colours that flow, made of moving sines; RGB, 3 bytes a pixel.
public final class PlasmaCapturer: VideoCapturer {
  private let generator: FrameGenerator

  /// A plasma of any size.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .rgb24, frameRate: frameRate)
    self.generator = FrameGenerator(name: "plasma", format: format) {
      var plasma = Plasma(width: width, height: height)
      return { buffer, _, time in
        plasma.draw(
          at: time, into: buffer.unsafePlane(0), bytesPerRow: format.bytesPerRow[0])
      }
    }
  }

  /// RGB24 of the size and rate that was asked for.
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
