internal import Media
internal import NIOCore
internal import Threading

/// Bounded queue of samples between the stream and the writer thread; the limit is in bytes.
///
/// The queue is full when the disk is too slow: all samples are dropped until half of it is free again, then video
/// frames up to the next keyframe, at which the recording resumes as after a pause. The stream never waits.
final class RecordingQueue: Sendable {
  enum Item: Sendable {
    case sample(EncodedSample)
    /// The following samples of a track have another format.
    case change(CodecDescription)
    case pause(MediaTime)
    case resume(MediaTime)
    case stop(MediaTime)
    /// Samples were dropped at this position.
    case gap
    /// The stream has ended.
    case end
  }

  struct Counts: Sendable {
    var byteCount = 0
    var videoSamplesDropped = 0
    var audioSamplesDropped = 0
  }

  private struct State {
    var items: [Item] = []
    var counts = Counts()
    var isClosed = false
    var dropping = Dropping.none
  }

  private enum Dropping {
    case none, everything, untilKeyframe
  }

  private let limit: Int
  private let hasVideo: Bool
  private let state = Monitor(State())
  /// Bytes counted per sample in addition to its payload, so that small samples are bounded too.
  private static let overhead = 256

  init(limit: Int, hasVideo: Bool) {
    self.limit = limit
    self.hasVideo = hasVideo
  }

  var counts: Counts { self.state.read { $0.counts } }

  /// Enqueues a sample, or drops it.
  func append(_ sample: EncodedSample) {
    self.state.withLock { state in
      guard !state.isClosed else { return }
      let size = sample.payload.readableBytes + Self.overhead
      if state.dropping == .everything, state.counts.byteCount <= self.limit / 2 { state.dropping = .untilKeyframe }
      if state.dropping == .untilKeyframe, sample.isKeyframe, (sample.kind == .video) == self.hasVideo {
        state.dropping = .none
      }
      if state.dropping != .everything, state.counts.byteCount + size > self.limit {
        state.dropping = .everything
        state.items.append(.gap)
      }
      let isTaken = state.dropping == .none || state.dropping == .untilKeyframe && sample.kind == .audio
      switch (isTaken, sample.kind) {
      case (true, _):
        state.counts.byteCount += size
        state.items.append(.sample(sample))
      case (false, .video): state.counts.videoSamplesDropped += 1
      case (false, .audio): state.counts.audioSamplesDropped += 1
      }
    }
  }

  /// Enqueues an item other than a sample; never dropped.
  func append(_ item: Item) {
    self.state.withLock { if !$0.isClosed { $0.items.append(item) } }
  }

  /// Dequeues all items; waits for at least one, and returns none when the deadline has passed.
  func take(until deadline: MediaTime?) -> [Item] {
    self.state.take(until: deadline) { state in
      guard !state.items.isEmpty else { return nil }
      defer { state.items = [] }
      return state.items
    } ?? []
  }

  /// Subtracts dequeued samples from the queue's size, once they are written or discarded.
  func release(_ items: [Item]) {
    self.state.withLock { state in
      guard !state.isClosed else { return }
      for case .sample(let sample) in items { state.counts.byteCount -= sample.payload.readableBytes + Self.overhead }
    }
  }

  /// Rejects further items.
  func close() {
    self.state.withLock { state in
      state.isClosed = true
      state.items = []
      state.counts.byteCount = 0
    }
  }
}
