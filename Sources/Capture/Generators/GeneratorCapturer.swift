public import Media

/// Pictures that a closure draws, one for each frame interval.
///
/// ```swift
/// let sweep = GeneratorCapturer(VideoFormat(width: 640, height: 360, pixelFormat: .bgra)) { frame, time in
///   let bright = Int(time.seconds * 200) % frame.width
///   for y in 0..<frame.height {
///     frame.withRow(y) { row in
///       for x in 0..<frame.width * 4 { row[x] = x / 4 == bright ? 0xF0 : 0x30 }
///     }
///   }
/// }
/// ```
///
/// The closure fills the memory that the encoder reads: nothing is copied, and after the first few pictures nothing is
/// allocated. What takes longer to draw than the frame interval lets pictures out; their times and numbers tell.
public final class GeneratorCapturer: VideoCapturer {
  /// Fills a picture that is shown at a time on the streams' clock.
  public typealias Draw = @Sendable (_ frame: borrowing DrawnFrame, _ time: MediaTime) -> Void

  private let generator: FrameGenerator

  /// Pictures of a format.
  ///
  /// - Parameters:
  ///   - format: The size, pixel format and frame rate.
  ///   - draw: Called on the capture thread for each picture, with memory of undefined content.
  public init(_ format: VideoFormat, _ draw: @escaping Draw) {
    self.generator = FrameGenerator(name: "generator", format: format) {
      { buffer, index, time in draw(DrawnFrame(buffer, index: index), time) }
    }
  }

  /// Pictures that follow from one another: what they follow from is kept from each to the next.
  ///
  /// - Parameters:
  ///   - format: The size, pixel format and frame rate.
  ///   - state: Makes what the first picture after a start begins with.
  ///   - draw: Called on the capture thread, the only one that sees the state.
  public init<State>(
    _ format: VideoFormat, state: @escaping @Sendable () -> State,
    _ draw: @escaping @Sendable (_ state: inout State, _ frame: borrowing DrawnFrame, _ time: MediaTime) -> Void
  ) {
    self.generator = FrameGenerator(name: "generator", format: format) {
      var state = state()
      return { buffer, index, time in draw(&state, DrawnFrame(buffer, index: index), time) }
    }
  }

  /// The format that was asked for.
  public var format: VideoFormat {
    self.generator.format
  }

  /// Whether pictures are being drawn.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Begins to draw, on whole multiples of the frame interval from a whole second of the time of day on.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Ends it.
  public func stop() {
    self.generator.stop()
  }
}
