internal import Media
internal import Threading

/// What the capturers have in common that draw their pictures: the thread, its pace, the memory.
final class FrameGenerator: Sendable {
  /// Fills a picture's memory.
  ///
  /// - Parameters:
  ///   - buffer: Memory of undefined content.
  ///   - index: The number of the picture since the start; numbers are left out where pictures were missed.
  ///   - time: When the picture is captured.
  typealias Draw = (_ buffer: PixelBuffer, _ index: Int64, _ time: MediaTime) -> Void

  let format: VideoFormat
  private let thread: WorkerThread
  private let makeDraw: @Sendable () -> Draw

  /// - Parameters:
  ///   - name: The thread's name.
  ///   - makeDraw: Called on the capture thread at each start; what it returns is used on that thread only.
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
      var pacer = FramePacer(rate: format.frameRate, signal: signal, longestBurst: 3)
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
