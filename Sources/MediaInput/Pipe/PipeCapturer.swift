public import Capture
public import Media
internal import Synchronization
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Pictures that another program writes into a pipe as YUV4MPEG2:
/// `ffmpeg … -f yuv4mpegpipe -pix_fmt yuv420p - | vidicon serve --source pipe:`.
///
/// Frames of 4:2:0 are read to where they stay; 4:2:2, 4:4:4, 4:1:1, grey and full range are converted. A program that
/// writes faster than the frame rate is held back through the pipe, and its frames get even timestamps; frames of a
/// slower one get the time at which they began to arrive. While the capturer is stopped nothing is read.
///
/// The end of the input is ``VideoConsumer/captureEnded(_:)`` with nil, also in the middle of a frame, which is then
/// left out. A frame that is not followed by another one or by the end is an error; the first one is not shown before
/// that is sure, since a header that lies makes pictures of noise.
public final class PipeCapturer: VideoCapturer {
  /// I420 of the size and rate in the header.
  public let format: VideoFormat
  private let descriptor: Int32
  private let source: String
  private let playback: PipePlayback
  private let thread = WorkerThread(name: "pipe")
  private let reader = Mutex<PipeReader?>(nil)

  /// Waits for the header to come and reads it, since a stream must know what it will show.
  ///
  /// This takes as long as the writing program lets it wait.
  ///
  /// - Parameter fileDescriptor: What to read from, by default standard input. It is not closed.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when it is a terminal or not open,
  ///   ``VidiconError/Code/invalidData`` when the header is not one of YUV4MPEG2, or says what cannot be shown.
  public init(fileDescriptor: Int32 = 0) throws(VidiconError) {
    let source = fileDescriptor == 0 ? "pipe: (standard input)" : "pipe: (file descriptor \(fileDescriptor))"
    guard isatty(fileDescriptor) == 0, fcntl(fileDescriptor, F_GETFD) != -1 else {
      throw VidiconError(
        .notFound, subject: source, cause: "nothing is piped into it",
        nextStep: "start it as: ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p - | vidicon serve --source pipe:")
    }
    let stream = try Y4MStream(reader: PipeReader(descriptor: fileDescriptor, source: source), source: source)
    self.format = stream.format
    self.descriptor = fileDescriptor
    self.source = source
    self.playback = PipePlayback(stream)
  }

  deinit {
    self.stop()
  }

  /// Whether frames are being read.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Begins to read frames.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    let reader = try PipeReader(descriptor: self.descriptor, source: self.source)
    self.reader.withLock { $0 = reader }
    let playback = self.playback
    do throws(VidiconError) {
      try self.thread.start { playback.play(to: consumer, reader: reader, signal: $0) }
    } catch {
      self.reader.withLock { $0 = nil }
      throw error
    }
  }

  /// Ends it, also in the middle of a frame.
  public func stop() {
    self.reader.withLock { $0.take() }?.interrupt()
    self.thread.stop()
  }
}
