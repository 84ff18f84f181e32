internal import Codecs
public import Media
public import NIOCore
internal import Synchronization
internal import Threading

/// The pictures of a live stream one by one, as its viewers see them, in JPEG: snapshots, and motion JPEG.
///
/// Each file is made once for all who want the same, on a thread of its own that runs only while somebody looks, and at
/// most half of the time.
public final class StreamPictures: Sendable {
  /// The widths that can be asked for; a picture is never wider than the stream's.
  public static let widths = JPEGEncoder.widths
  /// The motion pictures a second that can be asked for.
  public static let frameRates = 1...30

  private let requests = Monitor(PictureRequests())
  private let isWanted = Atomic(false)

  init() {}

  /// The picture that viewers see, as a JPEG file: at most one frame interval old, or the last one where the source is
  /// slower than it says, or encoding is paused.
  ///
  /// - Parameter width: The width in pixels, brought into ``widths``, to an even number and to at most the stream's width;
  ///   nil for the stream's. The height follows the picture's shape.
  /// - Throws: A ``VidiconError``; ``VidiconError/Code/busy`` when snapshots of eight other widths are being computed,
  ///   ``VidiconError/Code/wrongState`` when the stream shows no frame.
  public func snapshot(width: Int? = nil) async throws(VidiconError) -> ByteBuffer {
    let answer = await withCheckedContinuation { (continuation: CheckedContinuation<PictureRequests.Answer, Never>) in
      let now = StreamClock.system.now()
      let answer = self.requests.withLock {
        $0.addSnapshot(width: width, at: now) { continuation.resume(returning: $0) }
      }
      if let answer {
        continuation.resume(returning: answer)
      } else {
        self.startThread()
      }
    }
    return try answer.get()
  }

  /// The pictures that viewers see from now on, each a JPEG file; ends with the stream, at once when it does not run.
  ///
  /// A viewer that is slow gets the newest picture when it comes back, and never a queue. There are at most eight pairs of
  /// width and frame rate at a time; who asks for a ninth gets the one that comes nearest.
  ///
  /// - Parameters:
  ///   - width: As for ``snapshot(width:)``.
  ///   - frameRate: The most pictures a second, brought into ``frameRates``; there are fewer where the stream has fewer.
  public func motionJPEG(width: Int? = nil, frameRate: Int = 10) -> AsyncStream<ByteBuffer> {
    let (pictures, viewer) = AsyncStream<ByteBuffer>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let now = StreamClock.system.now()
    let number = self.requests.withLock { $0.addViewer(width: width, frameRate: frameRate, at: now, viewer) }
    if let number {
      viewer.onTermination = { [weak self] _ in self?.requests.withLock { $0.removeViewer(number) } }
      self.startThread()
    } else {
      viewer.finish()
    }
    return pictures
  }

  /// What was made until now.
  public var statistics: PictureStatistics {
    self.requests.withLock { $0.statistics }
  }
}

// MARK: The stream's side

extension StreamPictures {
  /// Told when the pipeline has opened.
  ///
  /// - Parameter ask: Tells the pipeline that a picture after the one of a number is wanted; returns at once.
  func connect(format: VideoFormat, frameInterval: MediaDuration, ask: @escaping @Sendable (_ number: Int) -> Void) {
    self.requests.withLock {
      $0.connect(PictureRequests.Source(format: format, frameInterval: frameInterval, ask: ask))
    }
  }

  /// Whether the next picture is to be handed over.
  var isPictureWanted: Bool {
    self.isWanted.load(ordering: .relaxed)
  }

  /// Takes over a picture that is wanted; called on the pipeline's thread, and returns at once.
  func offer(_ picture: ShownPicture) {
    self.isWanted.store(false, ordering: .relaxed)
    self.requests.withLock { $0.offer(picture) }
  }

  /// Told when the stream is over.
  func streamEnded() {
    let (snapshots, viewers) = self.requests.withLock { $0.end() }
    for snapshot in snapshots { snapshot(.failure(VidiconError.streamHasNoFrame)) }
    for viewer in viewers { viewer.finish() }
  }
}

// MARK: The thread

extension StreamPictures {
  private func startThread() {
    guard self.requests.withLock({ $0.needsThread() }) else { return }
    guard !WorkerThread.startDetached(named: "pictures", { self.run() }) else { return }
    let (snapshots, viewers) = self.requests.withLock { $0.threadFailed() }
    for snapshot in snapshots { snapshot(.failure(.noThread("snapshots"))) }
    for viewer in viewers { viewer.finish() }
  }

  private func run() {
    var encoders: [JPEGEncoder] = []
    while true {
      switch self.nextStep() {
      case .end: return
      case .wait: continue
      case .ask(let number):
        self.isWanted.store(true, ordering: .relaxed)
        self.requests.withLock { $0.source }?.ask(number)
      case .encode(let picture, let jobs):
        let start = StreamClock.system.now()
        for job in jobs { self.perform(job, of: picture, with: &encoders) }
        let end = StreamClock.system.now()
        self.requests.withLock { $0.rest(from: start, to: end) }
      }
    }
  }

  /// Waits until there is something to do.
  private func nextStep() -> PictureRequests.Step {
    var deadline: MediaTime?
    while true {
      let step = self.requests.take(until: deadline) { requests -> PictureRequests.Step? in
        let step = requests.nextStep(at: StreamClock.system.now())
        if case .wait(let until) = step, until == deadline { return nil }
        return step
      }
      if let step {
        guard case .wait(let until) = step else { return step }
        deadline = until
      }
    }
  }

  private func perform(_ job: PictureRequests.Job, of picture: ShownPicture, with encoders: inout [JPEGEncoder]) {
    var answer: PictureRequests.Answer
    if let file = job.file {
      answer = .success(file)
    } else {
      do throws(VidiconError) {
        answer = .success(
          try Self.encoder(width: job.width, for: picture.frame.format, of: &encoders).encode(picture.frame))
      } catch {
        answer = .failure(error)
      }
    }
    let viewers = self.requests.withLock { $0.finish(job, of: picture, answer) }
    for snapshot in job.snapshots { snapshot(answer) }
    for viewer in viewers {
      switch answer {
      case .success(let file): viewer.yield(file)
      case .failure: viewer.finish()
      }
    }
  }

  /// The encoder of a width; the one that was not used for the longest time gives way to a new one.
  private static func encoder(
    width: Int, for format: VideoFormat, of encoders: inout [JPEGEncoder]
  ) throws(VidiconError) -> JPEGEncoder {
    let encoder: JPEGEncoder
    if let index = encoders.firstIndex(where: { $0.width == width }) {
      encoder = encoders.remove(at: index)
    } else {
      if encoders.count >= PictureRequests.maximumKept { encoders.removeFirst() }
      encoder = try JPEGEncoder(format: format, width: width)
    }
    encoders.append(encoder)
    return encoder
  }
}
