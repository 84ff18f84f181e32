internal import Media
internal import Threading

/// What waits between the thread that reads from the network and the one that plays, in order; each packet until the time
/// at which it is to be decoded.
///
/// Bounded in bytes and time. What comes in bursts makes its reader wait when it is full, and with it the server. What
/// comes live is dropped then, pictures up to the next keyframe, since the decoder is too slow for it.
final class PlayoutBuffer: Sendable {
  enum Item {
    /// Another connection: its packets follow.
    case tracks(NetworkTracks)
    case packet(NetworkPacket)
    /// The connection is lost.
    case lost(VidiconError)
  }

  private struct State {
    var items: [Item] = []
    var byteCount = 0
    var needsKeyframe = false
    var dropped = 0
    var isClosed = false
  }

  static let maximumByteCount = 32 << 20
  static let maximumPacketCount = 4_096
  /// What is kept of a source that comes in bursts.
  static let longestSpan = MediaDuration.seconds(2)
  private let state = Monitor(State())

  /// Packets that were dropped.
  var droppedCount: Int { self.state.withLock { $0.dropped } }

  /// Adds what is no packet; never dropped.
  func append(_ item: Item) {
    self.state.withLock { if !$0.isClosed { $0.items.append(item) } }
  }

  /// Adds a packet that comes live, or drops it.
  func appendLive(_ packet: NetworkPacket) {
    self.state.withLock { state in
      guard !state.isClosed else { return }
      let isFull = Self.isFull(state)
      if packet.kind == .video {
        if isFull {
          state.needsKeyframe = true
        } else if packet.isKeyframe {
          state.needsKeyframe = false
        }
      }
      guard !isFull, packet.kind == .audio || !state.needsKeyframe else {
        state.dropped += 1
        return
      }
      Self.add(packet, to: &state)
    }
  }

  /// Adds a packet as soon as there is room for it.
  ///
  /// - Returns: False when the buffer was closed.
  func appendWaiting(_ packet: NetworkPacket) -> Bool {
    return self.state.take { state -> Bool? in
      if state.isClosed { return false }
      guard !Self.isFull(state),
        packet.times.decode - StreamClock.system.now() < Self.longestSpan || state.items.isEmpty
      else { return nil }
      Self.add(packet, to: &state)
      return true
    } ?? false
  }

  private static func isFull(_ state: State) -> Bool {
    state.byteCount >= Self.maximumByteCount || state.items.count >= Self.maximumPacketCount
  }

  private static func add(_ packet: NetworkPacket, to state: inout State) {
    state.byteCount += packet.byteCount
    state.items.append(.packet(packet))
  }

  /// The next item, once its time has come; nil when the buffer was closed.
  func next() -> Item? {
    var wake: MediaTime?
    while true {
      let step = self.state.take(until: wake) { state -> Step? in
        if state.isClosed { return .end }
        guard let first = state.items.first else { return nil }
        if case .packet(let packet) = first, packet.times.decode > StreamClock.system.now() {
          return wake == packet.times.decode ? nil : .wait(packet.times.decode)
        }
        if case .packet(let packet) = first { state.byteCount -= packet.byteCount }
        return .item(state.items.removeFirst())
      }
      switch step {
      case .item(let item): return item
      case .wait(let time): wake = time
      case .end: return nil
      case nil: wake = nil
      }
    }
  }

  private enum Step {
    case item(Item)
    case wait(MediaTime)
    case end
  }

  /// Lets everything go, and everybody who waits.
  func close() {
    self.state.withLock { state in
      state.isClosed = true
      state.items = []
      state.byteCount = 0
    }
  }
}
