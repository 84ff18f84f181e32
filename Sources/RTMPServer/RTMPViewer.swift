internal import Media
internal import NIOCore
internal import Serving
internal import Synchronization

/// One viewer of a stream, on its connection's event loop: the messages that wait for the connection. Performs what
/// ``ViewerState`` decides.
final class RTMPViewer: ConnectedViewer {
  /// The connection; it references its viewer until it leaves the stream.
  private let connection: RTMPConnectionHandler
  let counters: ViewerCounters
  private let hasVideo: Bool
  var state: ViewerState
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

  /// Closes a connection that has data to send: earlier frames, which must not be shown any more.
  func discardEarlier() {
    self.connection.discardEarlier()
  }
}

// MARK: The connection's write buffer

extension RTMPViewer {
  func sendQueued() {
    let delivery = self.queue.removeFirst()
    self.connection.writing {
      let byteCount = self.write(delivery.chunks)
      self.counters.bytesSent.add(byteCount, ordering: .relaxed)
    }
  }

  func removeQueued() {
    self.queue.removeAll()
  }

  func requestKeyframe() {
    self.connection.requestKeyframe()
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
}
