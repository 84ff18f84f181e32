internal import Media
internal import Streaming
internal import Synchronization

/// The bounded queue between the threads of a stream and the event loop of a push, with at most one wake-up at a time.
///
/// When it is full, its samples are dropped, and video is dropped until the next keyframe: the event loop has stood still for
/// seconds. Nothing is kept while the push is not connected.
final class PushInbox: Sendable {
  /// Encoding that a sample is from: 0 is the stream's own, other numbers are given to renditions in turn.
  typealias Source = Int

  /// Input of the push's event loop, handled in the order of its arrival.
  enum Item: Sendable {
    case sample(EncodedSample, from: Source)
    case description(CodecDescription, of: Source)
    /// Privacy was switched on: samples enqueued earlier are not sent.
    case discardEarlier
    case ended(Source)
  }

  private struct State {
    var items: [Item] = []
    var sampleCount = 0
    var isWakeUpPending = false
    /// Sources whose video is dropped until the next keyframe.
    var skipping: Set<Source> = []
    var droppedFrames = 0
  }

  /// Maximum number of samples: more than two seconds of 60 frames and their audio.
  static let capacity = 256

  private let state = Mutex(State())
  private let connected = Atomic(false)
  private let pendingDiscards = Atomic(0)
  /// Wakes the event loop up, which calls ``dequeueAll()``.
  private let wakeUp: @Sendable () -> Void

  init(wakeUp: @escaping @Sendable () -> Void) {
    self.wakeUp = wakeUp
  }

  /// Whether samples are kept.
  var isConnected: Bool {
    get { self.connected.load(ordering: .relaxed) }
    set { self.connected.store(newValue, ordering: .relaxed) }
  }

  /// Whether video that was taken before must not be sent any more.
  var isDiscardPending: Bool { self.pendingDiscards.load(ordering: .acquiring) > 0 }

  /// Video frames that were dropped because the event loop did not take them.
  var droppedFrames: Int { self.state.withLock { $0.droppedFrames } }

  /// Appends an item.
  func append(_ item: Item) {
    if case .sample = item, !self.isConnected { return }
    let needsWakeUp = self.state.withLock { state in
      switch item {
      case .sample(let sample, let source):
        guard Self.accepts(sample, from: source, &state) else { return false }
        state.sampleCount += 1
      case .discardEarlier:
        self.pendingDiscards.add(1, ordering: .releasing)
        Self.removeSamples(&state)
        state.skipping = []
      case .description, .ended: break
      }
      state.items.append(item)
      defer { state.isWakeUpPending = true }
      return !state.isWakeUpPending
    }
    if needsWakeUp { self.wakeUp() }
  }

  private static func accepts(_ sample: EncodedSample, from source: Source, _ state: inout State) -> Bool {
    if state.sampleCount >= Self.capacity {
      for case .sample(let dropped, let source) in state.items where dropped.kind == .video {
        state.droppedFrames += 1
        state.skipping.insert(source)
      }
      self.removeSamples(&state)
      if sample.kind == .video { state.skipping.insert(source) }
    }
    guard sample.kind == .video, state.skipping.contains(source) else { return true }
    guard sample.isKeyframe else {
      state.droppedFrames += 1
      return false
    }
    state.skipping.remove(source)
    return true
  }

  private static func removeSamples(_ state: inout State) {
    state.items.removeAll { if case .sample = $0 { true } else { false } }
    state.sampleCount = 0
  }

  /// Dequeues all items, on the event loop that was woken up.
  func dequeueAll() -> [Item] {
    self.state.withLock { state in
      state.isWakeUpPending = false
      state.sampleCount = 0
      defer { state.items = [] }
      return state.items
    }
  }

  /// Records that a ``Item/discardEarlier`` was dequeued and performed.
  func discarded() {
    self.pendingDiscards.subtract(1, ordering: .releasing)
  }
}

/// Output of a stream or a rendition, which appends to the inbox of a push.
final class PushTap: StreamOutput {
  let source: PushInbox.Source
  private let inbox: PushInbox
  private let takesAudio: Bool

  /// - Parameter takesAudio: Whether audio is appended too: renditions repeat that of the stream.
  init(_ inbox: PushInbox, source: PushInbox.Source, takesAudio: Bool) {
    self.inbox = inbox
    self.source = source
    self.takesAudio = takesAudio
  }

  func consume(_ sample: EncodedSample) {
    guard sample.kind == .video || self.takesAudio else { return }
    self.inbox.append(.sample(sample, from: self.source))
  }

  func descriptionChanged(to description: CodecDescription) {
    guard description.kind == .video || self.takesAudio else { return }
    self.inbox.append(.description(description, of: self.source))
  }

  func discardEarlier() {
    self.inbox.append(.discardEarlier)
  }

  func streamEnded() {
    self.inbox.append(.ended(self.source))
  }
}
