internal import Connections
internal import Media
internal import NIOCore

/// Writing to a connection, and the viewer's progress.
extension RTMPConnectionHandler {
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

  /// Writes responses; within ``writing(_:)``.
  func write(_ buffer: ByteBuffer) {
    self.needsFlush = true
    self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
  }

  /// Writes the chunks of a delivery; within ``writing(_:)``. Sends what the socket takes at once, where nothing is unsent.
  func writeMedia(_ buffer: ByteBuffer) {
    guard let descriptor, self.isWritable, !self.needsFlush else { return self.write(buffer) }
    if let rest = descriptor.send(buffer) { self.write(rest) }
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
    self.unsentResponses = 0
    if let viewer = self.playback?.viewer, viewer.isBlocked { viewer.connectionDrained(at: self.now) }
    self.resumeReading()
  }

  /// Number of bytes in the channel's write buffer.
  var unsentByteCount: Int { self.context?.unsentByteCount ?? 0 }

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
