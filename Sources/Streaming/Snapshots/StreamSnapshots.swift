internal import Codecs
internal import Effects
public import Media
public import NIOCore
internal import Threading

/// Snapshots and motion JPEG of a live stream, as its viewers see it.
///
/// Each image is encoded once for all requests of its size, on a thread that runs only while there are requests, and
/// at most half of the time.
public final class StreamSnapshots: Sendable {
  /// Widths that can be requested, in pixels; an image is never wider than the stream.
  public static let widths = JPEGEncoder.widths
  /// Frame rates that can be requested of motion JPEG, in frames per second.
  public static let frameRates = 1...30

  private let requests = Monitor(SnapshotRequests())

  init() {}

  /// The current frame as a JPEG file: at most one frame interval old, or the last one where the source is slower than
  /// announced or encoding is paused.
  ///
  /// - Parameter width: Width in pixels, clamped to ``widths`` and the stream's width, and made even; nil for the
  ///   stream's. The height follows the aspect ratio.
  /// - Throws: A ``VidiconError``; ``VidiconError/Code/busy`` when snapshots of eight other widths are being computed,
  ///   ``VidiconError/Code/wrongState`` when the stream shows no frame.
  public func snapshot(width: Int? = nil) async throws(VidiconError) -> ByteBuffer {
    try await self.snapshot(width: width, from: nil)
  }

  /// The current frame as by ``snapshot(width:)``, for a client of a network: clients of one have two sizes at a time,
  /// and the stream's own.
  ///
  /// - Parameter rendition: The rendition whose aspect ratio and maximum size the image has; nil for those of the stream.
  package func snapshot(
    width: Int?, of rendition: Rendition? = nil, from network: String?
  ) async throws(VidiconError) -> ByteBuffer {
    let answer = await withCheckedContinuation { (continuation: CheckedContinuation<SnapshotRequests.Answer, Never>) in
      let now = StreamClock.system.now()
      let answer = self.requests.withLock {
        $0.addSnapshot(width: width, shape: rendition?.format, from: network, at: now) {
          continuation.resume(returning: $0)
        }
      }
      if let answer {
        continuation.resume(returning: answer)
      } else {
        self.startThread()
      }
    }
    return try answer.get()
  }

  /// The frames from now on, each as a JPEG file; ends with the stream, at once when it does not run.
  ///
  /// A slow viewer skips to the newest image; none are queued. At most eight pairs of width and frame rate are served
  /// at a time; a ninth request gets the most similar one.
  ///
  /// - Parameters:
  ///   - width: As for ``snapshot(width:)``.
  ///   - frameRate: Maximum frame rate, clamped to ``frameRates``; lower where the stream is slower.
  public func motionJPEG(width: Int? = nil, frameRate: Int = 10) -> AsyncStream<ByteBuffer> {
    self.images(width: width, of: nil, frameRate: frameRate, from: nil, as: \.file)
  }

  /// The frames as by ``motionJPEG(width:frameRate:)``, for a client of a network: clients of one have two pairs of
  /// width and frame rate, and the stream's own width at 10 frames per second. An image may wait for its client longer
  /// than it may be shown: see ``isCurrent(_:)``.
  ///
  /// - Parameter rendition: The rendition whose aspect ratio and maximum size the images have; nil for those of the stream.
  package func motionJPEG(
    width: Int?, of rendition: Rendition? = nil, frameRate: Int, from network: String?
  ) -> AsyncStream<MotionJPEGImage> {
    self.images(width: width, of: rendition, frameRate: frameRate, from: network, as: \.self)
  }

  /// Whether an image was encoded since faces became private.
  package func isCurrent(_ image: MotionJPEGImage) -> Bool {
    self.requests.read { $0.generation == image.generation }
  }

  private func images<Image: Sendable>(
    width: Int?, of rendition: Rendition?, frameRate: Int, from network: String?,
    as image: @escaping @Sendable (MotionJPEGImage) -> Image
  ) -> AsyncStream<Image> {
    let (images, continuation) = AsyncStream<Image>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let now = StreamClock.system.now()
    let number = self.requests.withLock {
      $0.addViewer(
        width: width, shape: rendition?.format, frameRate: frameRate, from: network, at: now,
        SnapshotRequests.Viewer(continuation, as: image))
    }
    if let number {
      continuation.onTermination = { [weak self] _ in self?.requests.withLock { $0.removeViewer(number) } }
      self.startThread()
    } else {
      continuation.finish()
    }
    return images
  }

  /// Counters since the stream's start, and the current number of viewers.
  public var statistics: SnapshotStatistics {
    self.requests.read { $0.statistics }
  }
}

// MARK: Calls of the video pipeline

extension StreamSnapshots {
  /// Connects the opened pipeline.
  func connect(_ source: SnapshotRequests.Source) {
    self.requests.withLock { $0.connect(source) }
  }

  /// Whether the pipeline was asked for the current frame, and has not shown one since.
  var isFrameWanted: Bool { self.requests.read { $0.isAsked } }

  /// Keeps a frame before it is encoded, in place of the last one; called on the pipeline thread, returns at once. Without requests
  /// it costs a lock that no other thread uses.
  ///
  /// - Parameter generation: `RenditionSet.generation` before the frame was released.
  func show(_ frame: ReleasedFrame, generation: Int, at now: MediaTime) {
    self.changeLatest { $0.show(frame, generation: generation, at: now) }
  }

  /// Records that an access unit was passed through.
  ///
  /// - Returns: Whether it is to be decoded and shown.
  func passThrough() -> Bool {
    self.changeLatest { $0.passThrough() }
  }

  /// Copies the last frame, so that the source can reuse its buffer; called on the pipeline thread, which alone replaces it.
  func releaseSourceMemory() {
    guard let latest = self.requests.read({ $0.latest }) else { return }
    let copy = latest.released.copy
    self.changeLatest { $0.replace(latest.number, with: copy) }
  }

  /// Forgets the last frame, since the pipeline has ended.
  func forgetLatest() {
    self.changeLatest { $0.forgetLatest() }
  }

  /// Discards kept frames and images of earlier generations, and those that are being encoded.
  func discardEarlier(to generation: Int) {
    self.changeLatest { $0.discardEarlier(to: generation) }
  }

  /// Ends all requests with the stream.
  func streamEnded() {
    let (snapshots, viewers) = self.changeLatest { $0.end() }
    for snapshot in snapshots { snapshot(.failure(VidiconError.streamHasNoFrame)) }
    for viewer in viewers { viewer.finish() }
  }

  /// Changes what may be the last reference of a frame. Its memory is released without the lock: a source gets its own back by a
  /// closure.
  private func changeLatest<Result>(_ body: (inout SnapshotRequests) -> Result) -> Result {
    let (result, previous) = self.requests.withLock { requests in
      let previous = requests.latest
      return (body(&requests), previous)
    }
    withExtendedLifetime(previous) {}
    return result
  }
}

// MARK: The thread

extension StreamSnapshots {
  private func startThread() {
    guard self.requests.withLock({ $0.needsThread() }) else { return }
    guard !WorkerThread.startDetached(named: "snapshots", { self.run() }) else { return }
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
      case .ask: self.requests.read { $0.source }?.ask()
      case .encode(let output, let jobs):
        let start = StreamClock.system.now()
        for job in jobs { self.perform(job, of: output, with: &encoders) }
        let end = StreamClock.system.now()
        self.requests.withLock { $0.rest(from: start, to: end) }
      }
    }
  }

  /// Blocks until there is work.
  private func nextStep() -> SnapshotRequests.Step {
    var deadline: MediaTime?
    while true {
      let step = self.requests.take(until: deadline) { requests -> SnapshotRequests.Step? in
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

  private func perform(_ job: SnapshotRequests.Job, of output: OutputFrame, with encoders: inout [JPEGEncoder]) {
    var answer: SnapshotRequests.Answer
    if let file = job.file {
      answer = .success(file)
    } else {
      do throws(VidiconError) {
        answer = .success(
          try Self.encoder(size: job.size, for: output.frame.format, of: &encoders).encode(output.released))
      } catch {
        answer = .failure(error)
      }
    }
    guard let (viewers, generation) = self.requests.withLock({ $0.finish(job, of: output, &answer) }) else { return }
    for snapshot in job.snapshots { snapshot(answer) }
    for viewer in viewers {
      switch answer {
      case .success(let file): viewer.show(MotionJPEGImage(file: file, generation: generation))
      case .failure: viewer.finish()
      }
    }
  }

  /// The encoder of a size; the least recently used one is replaced.
  private static func encoder(
    size: SnapshotRequests.ImageSize, for format: VideoFormat, of encoders: inout [JPEGEncoder]
  ) throws(VidiconError) -> JPEGEncoder {
    let encoder: JPEGEncoder
    if let index = encoders.firstIndex(where: { $0.width == size.width && $0.height == size.height }) {
      encoder = encoders.remove(at: index)
    } else {
      if encoders.count >= SnapshotRequests.maximumKept { encoders.removeFirst() }
      encoder = try JPEGEncoder(format: format, width: size.width, height: size.height)
    }
    encoders.append(encoder)
    return encoder
  }
}

/// An image of motion JPEG.
package struct MotionJPEGImage: Sendable {
  /// Bytes of the whole JPEG file.
  package var file: ByteBuffer
  /// Number of times that frames had become private before it was encoded.
  let generation: Int
}

/// Counters of a stream's snapshots since its start.
public struct SnapshotStatistics: Hashable, Sendable {
  /// Motion JPEG viewers that are connected now; snapshot requests are not counted.
  public var viewers = 0
  /// JPEG images encoded; each may have been sent to many viewers.
  public var imagesEncoded = 0
  /// Time that the snapshot thread spent on encoding images and delivering them.
  public var encodeTime = MediaDuration.zero
}
