internal import Media
internal import NIOCore
internal import NIOPosix

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

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
    guard let socket, self.isWritable, !self.needsFlush, self.context?.channel.isActive == true else {
      return self.write(buffer)
    }
    let count = buffer.withUnsafeReadableBytes { transmit($0, over: socket) }
    guard count < buffer.readableBytes else { return }
    // The socket is full, or the write of the rest reports its error.
    var rest = buffer
    rest.moveReaderIndex(forwardBy: max(0, count))
    self.write(rest)
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
    guard self.isBlocked else { return }
    self.isBlocked = false
    if let viewer = self.playback?.viewer, viewer.isBlocked { viewer.connectionDrained(at: self.now) }
    self.resumeReading()
  }

  /// Number of bytes in the channel's write buffer.
  var unsentByteCount: Int {
    // Every socket channel has the option; a closed channel has no buffer.
    (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
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

/// Sends what a socket takes at once; negative on failure.
private func transmit(_ bytes: UnsafeRawBufferPointer, over socket: NIOBSDSocket.Handle) -> Int {
  #if canImport(Darwin)
  // NIO has set SO_NOSIGPIPE.
  let flags = Int32(MSG_DONTWAIT)
  #else
  let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
  #endif
  return send(socket, bytes.baseAddress, bytes.count, flags)
}
