public import Capture
internal import Libc
public import Media
internal import Synchronization
internal import Threading

/// Frames that another program writes into a pipe as YUV4MPEG2:
/// `ffmpeg … -f yuv4mpegpipe -pix_fmt yuv420p - | vidicon serve --source pipe:`.
///
/// 4:2:0 frames are read into pooled memory; 4:2:2, 4:4:4, 4:1:1, gray and full range are converted,
/// interlaced frames made progressive, and pixels that are not square made square. A program that writes faster than the frame
/// rate is slowed down by backpressure, and its frames get even timestamps; frames of a slower program are stamped at their arrival. Nothing is read while the capturer is stopped.
///
/// At the end of the input, ``VideoConsumer/captureEnded(_:)`` is called with nil; an incomplete last frame is discarded. A frame
/// that is followed neither by another frame nor by the end is an error; the first frame is delivered only after this check,
/// since a wrong header would produce noise.
public final class PipeCapturer: VideoCapturer {
  /// Reason why the format is presumed, and the header is waited for; nil where it had come.
  package let pendingFailure: VidiconError?
  private let descriptor: Int32
  private let source: String
  private let loop: PipeCaptureLoop
  private let thread = WorkerThread(name: "pipe")
  private let reader = Mutex<PipeReader?>(nil)

  /// Reads the header, which has the format. Blocks until the writing program has sent it.
  ///
  /// - Parameter fileDescriptor: The descriptor to read from, by default standard input. Not closed.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when it is a terminal or not open,
  ///   ``VidiconError/Code/invalidData`` when the header is not YUV4MPEG2, or has an unsupported format.
  public convenience init(fileDescriptor: Int32 = 0) throws(VidiconError) {
    try self.init(fileDescriptor: fileDescriptor, until: .presumed, within: nil)
  }

  /// Reads the header like the other initializer, or goes on waiting for it in the background where it does not come in time.
  ///
  /// - Parameters:
  ///   - format: Format until the header has come.
  ///   - timeout: Maximum time to wait for the first byte here; nil to wait without limit.
  package init(
    fileDescriptor: Int32 = 0, until format: VideoFormat, within timeout: MediaDuration?
  ) throws(VidiconError) {
    let source = fileDescriptor == 0 ? "pipe: (standard input)" : "pipe: (file descriptor \(fileDescriptor))"
    guard isatty(fileDescriptor) == 0, fcntl(fileDescriptor, F_GETFD) != -1 else {
      throw VidiconError(
        .notFound, subject: source, cause: "nothing is piped into it",
        nextStep: "start it as: ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p - | vidicon serve --source pipe:")
    }
    let reader = try PipeReader(descriptor: fileDescriptor, source: source)
    let isThere = timeout.map { reader.wait(until: StreamClock.system.now() + $0) } ?? true
    var stream: Y4MStream?
    if isThere {
      var head: [UInt8] = []
      stream = try Y4MStream(reader: reader, source: source, after: &head)
    }
    self.pendingFailure =
      isThere
      ? nil
      : VidiconError(
        .failed, subject: source, cause: "no program writes to it yet", nextStep: "start one that does")
    self.descriptor = fileDescriptor
    self.source = source
    self.loop = PipeCaptureLoop(stream, until: format, source: source)
  }

  deinit {
    self.stop()
  }

  /// I420 of the rate and the size in the header, which is enlarged where the header's pixels are not square. Changes where another stream
  /// follows, of another program that writes into the pipe.
  public var format: VideoFormat { self.loop.format }

  /// True from a successful ``start(consumer:)`` until ``stop()``, also after the end of the input.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// True: a pipe that is open is not lost, however long its writer pauses, and its end is reported.
  public var reportsLoss: Bool { true }

  /// Starts reading frames, on a thread of its own; does nothing while started.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the system has no thread or file descriptor
  ///   left.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    let reader = try PipeReader(descriptor: self.descriptor, source: self.source)
    self.reader.withLock { $0 = reader }
    let loop = self.loop
    do throws(VidiconError) {
      try self.thread.start { loop.run(to: consumer, reader: reader, signal: $0) }
    } catch {
      self.reader.withLock { $0 = nil }
      throw error
    }
  }

  /// Stops reading, also within a frame.
  public func stop() {
    self.reader.withLock { $0.take() }?.interrupt()
    self.thread.stop()
  }
}
