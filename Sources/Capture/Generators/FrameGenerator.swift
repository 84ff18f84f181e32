internal import Media
internal import Threading

/// Calls a drawing closure once per frame interval on a thread of its own, with pooled memory; the engine of all generated
/// video.
final class FrameGenerator: Sendable {
  /// Maximum number of missed frames drawn back to back after a late wake-up.
  private static let maximumBurst: Int64 = 3

  /// Fills the memory of a frame.
  ///
  /// - Parameters:
  ///   - buffer: Memory of undefined content.
  ///   - index: Number of the frame since the start; skipped frames leave gaps.
  ///   - time: Capture time of the frame.
  typealias Draw = (_ buffer: PixelBuffer, _ index: Int64, _ time: MediaTime) -> Void

  let format: VideoFormat
  private let thread: WorkerThread
  private let makeDraw: @Sendable () -> Draw

  /// - Parameters:
  ///   - name: Name of the thread, at most 15 bytes on Linux.
  ///   - makeDraw: Called on the capture thread at each start; the closure it returns is used on that thread only.
  init(name: String, format: VideoFormat, makeDraw: @escaping @Sendable () -> Draw) {
    self.format = format
    self.thread = WorkerThread(name: name)
    self.makeDraw = makeDraw
  }

  var isStarted: Bool {
    self.thread.isStarted
  }

  func start(consumer: any VideoConsumer) throws(VidiconError) {
    let format = self.format
    let makeDraw = self.makeDraw
    try self.thread.start { signal in
      let draw = makeDraw()
      let pool = VideoFramePool(format: format)
      var pacer = FramePacer(rate: format.frameRate, signal: signal, maximumBurst: Self.maximumBurst)
      var first: Int64?
      while let (index, time) = pacer.next() {
        first = first ?? index
        if let frame = pool.frame(at: time, draw: { draw($0, index - (first ?? index), time) }) {
          consumer.consume(frame)
        } else {
          consumer.captureSkipped(at: time)
        }
      }
    }
  }

  func stop() {
    self.thread.stop()
  }
}

/// A video capturer that forwards to its ``FrameGenerator``.
protocol GeneratedVideoCapturer: VideoCapturer {
  var generator: FrameGenerator { get }
}

extension GeneratedVideoCapturer {
  /// The size and frame rate passed to the initializer, in the pixel format that the generator draws.
  public var format: VideoFormat {
    self.generator.format
  }

  /// True from a successful `start(consumer:)` until `stop()`.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Starts generating frames, at whole multiples of the frame interval from a whole second of wall-clock time on.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the system can start no thread.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Stops generating and waits for the thread to end.
  public func stop() {
    self.generator.stop()
  }
}
