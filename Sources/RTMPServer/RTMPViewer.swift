internal import Connections
internal import Delivery
internal import Media
internal import NIOCore
internal import Synchronization

/// One viewer of a stream, on its connection's event loop: the messages that wait for the connection. Performs what
/// ``ViewerState`` decides.
final class RTMPViewer: ConnectedViewer {
  /// The connection; it references its viewer until it leaves the stream.
  private let connection: RTMPConnectionHandler
  private let counters: ViewerCounters
  private let hasVideo: Bool
  private var state: ViewerState
  /// Messages that wait for the connection, in step with the queue of `state`.
  private var queue: [RTMPDelivery] = []

  init(
    hasVideo: Bool, connection: RTMPConnectionHandler, counters: ViewerCounters, limits: ViewerState.Limits
  ) {
    self.hasVideo = hasVideo
    self.connection = connection
    self.counters = counters
    self.state = ViewerState(limits: limits, startsAtKeyframe: hasVideo, skipsToKeyframe: hasVideo)
  }

  /// Sends messages over the connection in one write, or queues or drops them; starts the viewer at its first keyframe.
  ///
  /// - Returns: Number of bytes written to the connection.
  func send(_ deliveries: [RTMPDelivery], at now: MediaTime) -> Int {
    var byteCount = 0
    self.connection.writing {
      for delivery in deliveries {
        switch self.state.handle(delivery.contents.limited(toVideo: self.hasVideo, audio: true), at: now) {
        case .ignore: break
        case .start: byteCount += self.start(with: delivery)
        case .send: byteCount += self.write(delivery.chunks)
        case .sendAudio: byteCount += self.write(delivery.audioChunks)
        case .enqueue: self.queue.append(delivery)
        case .skip(let frames): self.drop(frames: frames)
        }
      }
    }
    return byteCount
  }

  /// Writes metadata and configurations, then the keyframe, or the audio of a stream without video.
  private func start(with delivery: RTMPDelivery) -> Int {
    let first = self.hasVideo ? delivery.video : delivery.audio.first
    let preamble = first?.preamble.map { self.write($0) } ?? 0
    return preamble + self.write(self.hasVideo ? delivery.video?.buffer ?? ByteBuffer() : delivery.audioChunks)
  }

  private func write(_ buffer: ByteBuffer) -> Int {
    self.connection.writeMedia(buffer)
    return buffer.readableBytes
  }

  /// Empties the queue, in which were this number of access units, with those that are not queued.
  private func drop(frames: Int) {
    self.queue.removeAll()
    if frames > 0 { self.counters.framesSkipped.add(frames, ordering: .relaxed) }
  }

  /// Closes a connection that has data to send: earlier frames, which must not be shown any more.
  func discardEarlier() {
    self.connection.discardEarlier()
  }

  /// Closes the connection, at the end of the stream.
  func endStream() {
    self.connection.streamEnded()
  }
}

// MARK: The connection's write buffer

extension RTMPViewer {
  /// Whether the connection has unsent bytes, as far as the viewer was notified.
  var isBlocked: Bool { self.state.isBlocked }

  /// Time at which ``checkProgress(byteCount:at:)`` is due; nil while everything is sent.
  var nextDeadline: MediaTime? { self.state.nextDeadline }

  /// Records that the connection has unsent bytes.
  func connectionBlocked(byteCount: Int, at now: MediaTime) {
    self.state.handleBlocked(byteCount: byteCount, at: now)
  }

  /// Sends the queued messages while the connection takes them, or requests a keyframe to resume at, when the connection has
  /// sent everything.
  func connectionDrained(at now: MediaTime) {
    repeat {
      switch self.state.handleDrained(at: now) {
      case .none: return
      case .sendQueued:
        let delivery = self.queue.removeFirst()
        self.connection.writing {
          let byteCount = self.write(delivery.chunks)
          self.counters.bytesSent.add(byteCount, ordering: .relaxed)
        }
      case .resume(let frames, let requestsKeyframe):
        self.drop(frames: frames)
        if requestsKeyframe { self.connection.requestKeyframe() }
        return
      }
    } while !self.isBlocked
  }

  /// Whether the connection is to be closed, since it makes no progress; counts it then.
  func checkProgress(byteCount: Int, at now: MediaTime) -> Bool {
    guard self.state.handleTimer(byteCount: byteCount, at: now) == .close else { return false }
    self.counters.countSlowViewer()
    return true
  }
}

/// Sends chunks to the viewers of one stream on one event loop.
final class RTMPSender: DeliverySender {
  func send(_ deliveries: [RTMPDelivery], to viewers: [ArraySlice<RTMPViewer>], at now: MediaTime) -> Int {
    var byteCount = 0
    for part in viewers {
      for viewer in part { byteCount += viewer.send(deliveries, at: now) }
    }
    return byteCount
  }

  func viewerLeft(_ viewer: RTMPViewer) {}
}
