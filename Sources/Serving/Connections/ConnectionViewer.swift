internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// A viewer of a ``ConnectionOutput``, on its connection's event loop: the deliveries that wait for the connection. Performs what
/// ``ViewerState`` decides.
final class ConnectionViewer: ConnectedViewer {
  let rendition: Rendition
  let counters: ViewerCounters
  var state: ViewerState
  /// The connection, which has the viewer until it leaves.
  private let connection: MediaConnection
  private let group: ViewerGroup<ConnectionSender>
  private let hasVideo: Bool
  /// Deliveries that wait for the connection, in step with the queue of `state`.
  private var queue: [SharedDelivery<SharedBytes>] = []

  init(
    _ rendition: Rendition, hasVideo: Bool, connection: MediaConnection, group: ViewerGroup<ConnectionSender>,
    counters: ViewerCounters
  ) {
    self.rendition = rendition
    self.hasVideo = hasVideo
    self.connection = connection
    self.group = group
    self.counters = counters
    self.state = ViewerState(limits: connection.viewerLimits, startsAtKeyframe: hasVideo, skipsToKeyframe: hasVideo)
  }

  /// Begins to be sent media, at the next keyframe, which is requested, or without video at the next audio frame.
  func join() {
    if self.group.add(self) { self.rendition.beginUse() }
    self.rendition.requestKeyframe()
  }

  /// Ends to be sent media.
  func leave() {
    if self.group.remove(self) { self.rendition.endUse() }
  }

  /// Sends all deliveries of a turn at once, where the viewer is due for all of them and its connection has nothing unsent: the case of
  /// most viewers.
  ///
  /// - Parameters:
  ///   - bytes: The contents of `buffer`.
  ///   - buffer: The bytes of the deliveries.
  /// - Returns: Whether they are sent; otherwise ``send(_:at:)`` decides on each delivery.
  func sendTogether(_ bytes: UnsafeRawBufferPointer, of buffer: ByteBuffer, at now: MediaTime) -> Bool {
    self.state.handleTogether(at: now) && self.connection.sendMedia(bytes, of: buffer)
  }

  /// Sends deliveries over the connection in one write, or queues or drops them; starts the viewer at its first keyframe.
  ///
  /// - Returns: Number of bytes written to the connection.
  func send(_ deliveries: [SharedDelivery<SharedBytes>], at now: MediaTime) -> Int {
    var byteCount = 0
    self.connection.writing {
      for delivery in deliveries {
        switch self.state.handle(delivery.contents.limited(toVideo: self.hasVideo, audio: true), at: now) {
        case .ignore: break
        case .start: byteCount += self.start(with: delivery)
        case .send: byteCount += self.write(delivery.bytes)
        case .sendAudio: byteCount += self.write(delivery.audioBytes)
        case .enqueue: self.queue.append(delivery)
        case .skip(let frames): self.drop(frames: frames)
        }
      }
    }
    return byteCount
  }

  /// Writes what precedes a start, then the keyframe, or the audio of a stream without video.
  private func start(with delivery: SharedDelivery<SharedBytes>) -> Int {
    guard let first = self.hasVideo ? delivery.video : delivery.audio.first else { return 0 }
    let preamble = first.preamble.map { self.write($0) } ?? 0
    return preamble + self.write(self.hasVideo ? first.bytes : delivery.audioBytes)
  }

  private func write(_ bytes: ByteBuffer) -> Int {
    self.connection.writeMedia(bytes)
    return bytes.readableBytes
  }

  /// Closes a connection that has data to send: earlier frames, which must not be shown any more.
  func discardEarlier() {
    self.connection.discardEarlier()
  }

  func sendQueued() {
    let delivery = self.queue.removeFirst()
    self.connection.writing {
      let byteCount = self.write(delivery.bytes)
      self.counters.bytesSent.add(byteCount, ordering: .relaxed)
    }
  }

  func removeQueued() {
    self.queue.removeAll()
  }

  func requestKeyframe() {
    self.rendition.requestKeyframe()
  }
}

/// Sends deliveries to the viewers of one ``ConnectionOutput`` on one event loop.
final class ConnectionSender: DeliverySender {
  func send(
    _ deliveries: [SharedDelivery<SharedBytes>], to viewers: [ArraySlice<ConnectionViewer>], at now: MediaTime
  ) -> Int {
    // Joining them copies.
    guard viewers.contains(where: { !$0.isEmpty }) else { return 0 }
    let buffer = SharedDelivery.bytes(of: deliveries)
    return buffer.withUnsafeReadableBytes { bytes in
      var byteCount = 0
      for part in viewers {
        for viewer in part {
          let isSent = viewer.sendTogether(bytes, of: buffer, at: now)
          byteCount += isSent ? bytes.count : viewer.send(deliveries, at: now)
        }
      }
      return byteCount
    }
  }
}
