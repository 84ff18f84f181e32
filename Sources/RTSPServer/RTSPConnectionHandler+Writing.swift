internal import Connections
internal import Media
internal import NIOCore

/// Writing to a connection, and the viewer's progress.
extension RTSPConnectionHandler {
  /// Flushes what `body` writes, in one system call, and notifies the viewer if some of it is unsent.
  func writing(_ body: () -> Void) {
    self.writeDepth += 1
    body()
    if self.writeDepth == 1, self.needsFlush {
      self.needsFlush = false
      self.context?.flush()
    }
    self.writeDepth -= 1
    if self.writeDepth == 0 { self.writeBufferChanged() }
  }

  /// Writes interleaved packets; within ``writing(_:)``.
  func write(_ buffer: ByteBuffer) {
    self.needsFlush = true
    self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
  }

  /// Writes the packets of a delivery; within ``writing(_:)``. Sends what the socket takes at once, where nothing is unsent.
  func writePackets(_ buffer: ByteBuffer) {
    guard let descriptor, self.isWritable, !self.needsFlush else { return self.write(buffer) }
    if let rest = descriptor.send(buffer) { self.write(rest) }
  }

  /// Sends packets at once, outside of ``writing(_:)``, where the socket may be used and nothing is unsent.
  ///
  /// - Parameters:
  ///   - bytes: The contents of `buffer`.
  ///   - buffer: The packets; what the socket does not take is written from it.
  /// - Returns: Whether the packets are sent or written; false where they are to be written within ``writing(_:)``.
  func sendPackets(_ bytes: UnsafeRawBufferPointer, of buffer: ByteBuffer) -> Bool {
    guard let descriptor, self.isWritable, !self.needsFlush, self.writeDepth == 0 else { return false }
    let count = max(0, descriptor.send(bytes))
    guard count < bytes.count else { return true }
    var rest = buffer
    rest.moveReaderIndex(forwardBy: count)
    self.writing { self.write(rest) }
    return true
  }

  /// Whether the client does not read its responses.
  var hasTooManyResponses: Bool {
    !self.isWritable && self.unsentResponses > Self.maximumUnsentResponses
  }

  /// Notifies the viewer that everything is sent, or that some bytes are not.
  func writeBufferChanged() {
    guard self.isWritable else {
      self.isBlocked = true
      if let viewer = self.playback?.viewer, !viewer.isBlocked {
        viewer.connectionBlocked(byteCount: self.unsentByteCount, at: self.now)
        self.scheduleProgressCheck()
      }
      return
    }
    // Most often nothing was unsent before.
    guard self.isBlocked || self.unsentResponses > 0 else { return }
    self.isBlocked = false
    if self.unsentResponses > 0 {
      let hadTooMany = self.unsentResponses > Self.maximumUnsentResponses
      self.unsentResponses = 0
      if hadTooMany { self.processMessages() }
    }
    if let viewer = self.playback?.viewer, viewer.isBlocked { viewer.connectionDrained(at: self.now) }
    self.resumeReading()
  }

  /// Number of bytes in the channel's write buffer.
  var unsentByteCount: Int { self.context?.unsentByteCount ?? 0 }

  /// Sends a viewer after a time what waits for it.
  func scheduleCatchUp(of viewer: RTPViewer, in time: MediaDuration) {
    self.context?.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(time.nanoseconds)) {
      guard self.playback?.viewer === viewer else { return }
      viewer.sendCatchUp(at: self.now)
    }
  }

  /// Schedules the check of the viewer's progress, unless it is scheduled.
  private func scheduleProgressCheck() {
    guard self.progressCheck == nil, let context, let deadline = self.playback?.viewer.nextDeadline else { return }
    let delay = max(0, (deadline - self.now).nanoseconds)
    self.progressCheck = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.progressCheck = nil
      self.checkProgress()
    }
  }

  private func checkProgress() {
    guard let viewer = self.playback?.viewer else { return }
    if viewer.checkProgress(byteCount: self.unsentByteCount, at: self.now) {
      // The client will not read the unsent bytes any more.
      self.context?.close(promise: nil)
    } else {
      self.scheduleProgressCheck()
    }
  }
}
