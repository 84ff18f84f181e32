public import Media

/// Video that a closure draws, one call per frame interval.
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
/// The closure fills the memory that the encoder reads: nothing is copied, and after the first few frames nothing is
/// allocated. When drawing takes longer than the frame interval, frames are skipped; times and indices show the gap.
public final class GeneratorCapturer: GeneratedVideoCapturer {
  /// Draws the frame of a time on the ``StreamClock``.
  public typealias Draw = @Sendable (_ frame: borrowing DrawnFrame, _ time: MediaTime) -> Void

  let generator: FrameGenerator

  /// Creates a capturer whose frames depend on the time alone.
  ///
  /// - Parameters:
  ///   - format: Size, pixel format and frame rate.
  ///   - draw: Called on the capture thread for each frame, with memory of undefined content.
  public init(_ format: VideoFormat, _ draw: @escaping Draw) {
    self.generator = FrameGenerator(name: "generator", format: format) {
      { buffer, index, time in draw(DrawnFrame(buffer, index: index), time) }
    }
  }

  /// Creates a capturer that keeps state from frame to frame.
  ///
  /// - Parameters:
  ///   - format: Size, pixel format and frame rate.
  ///   - state: Creates the initial state, at each start.
  ///   - draw: Called on the capture thread for each frame; no other thread accesses the state.
  public init<State>(
    _ format: VideoFormat, state: @escaping @Sendable () -> State,
    _ draw: @escaping @Sendable (_ state: inout State, _ frame: borrowing DrawnFrame, _ time: MediaTime) -> Void
  ) {
    self.generator = FrameGenerator(name: "generator", format: format) {
      var state = state()
      return { buffer, index, time in draw(&state, DrawnFrame(buffer, index: index), time) }
    }
  }
}
