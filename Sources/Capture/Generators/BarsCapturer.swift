public import Media
internal import Threading

/// A test picture: colour bars with the time of day, a white flash each second, and a ``TimecodeStrip``.
///
/// The flash covers the lower third. It begins with the picture that is taken on the whole second of the time of day
/// (at fractional rates the one nearest to it) and lasts as many pictures as begin within 60 ms; the beep of a
/// ``ToneCapturer`` begins at the same instant.
public final class BarsCapturer: VideoCapturer {
  private let generator: FrameGenerator

  /// Bars of any size; the time is readable from some 160 pixels of width on, the strip exists from 160 on.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .i420, frameRate: frameRate)
    self.generator = FrameGenerator(name: "bars", format: format) {
      let bars = Bars(format: format)
      return { buffer, index, time in
        bars.draw(frame: index, unixTime: StreamClock.system.unixTime(at: time), into: buffer)
      }
    }
  }

  /// I420 in BT.601 of the size and rate that was asked for.
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
