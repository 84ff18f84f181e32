internal import Libc
package import NIOCore
internal import NIOPosix

/// The socket of a channel without encryption, to which bytes are sent without the cost of the channel's pipeline. Used on the channel's
/// event loop.
package struct ChannelSocket {
  private let channel: any Channel
  /// The socket's descriptor, which sends.
  package let descriptor: Descriptor

  /// The descriptor of a channel's socket, without a reference to the channel.
  ///
  /// It is valid until the channel is inactive: then the number may become that of another connection. Its owner discards it in
  /// `channelInactive`, which the channel fires in the call that closes the socket.
  package struct Descriptor: Sendable {
    fileprivate let handle: NIOBSDSocket.Handle

    /// Sends as many bytes as the socket takes at once.
    ///
    /// - Returns: Number of bytes; -1 for none.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
      #if canImport(Darwin)
      // NIO has set SO_NOSIGPIPE.
      Darwin.send(self.handle, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
      #else
      Glibc.send(self.handle, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      #endif
    }

    /// Sends as many bytes as the socket takes at once.
    ///
    /// - Returns: The others, whose write by the channel reports an error; nil where all are sent.
    package func send(_ buffer: ByteBuffer) -> ByteBuffer? {
      let count = buffer.withUnsafeReadableBytes { self.send($0) }
      guard count < buffer.readableBytes else { return nil }
      var rest = buffer
      rest.moveReaderIndex(forwardBy: max(0, count))
      return rest
    }
  }

  /// nil for a channel without a socket.
  package init?(of channel: any Channel) {
    guard
      let handle = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self, { $0 })
    else { return nil }
    self.channel = channel
    self.descriptor = Descriptor(handle: handle)
  }

  /// Whether the system holds bytes that have not left yet.
  package var holdsBytes: Bool { self.channel.isActive && TCPSocket.notSentByteCount(of: self.descriptor.handle) > 0 }

  /// Makes the connection end when the peer cannot be reached any more, see ``TCPSocket/keepAlive(of:)``.
  package func keepAlive() {
    guard self.channel.isActive else { return }
    TCPSocket.keepAlive(of: self.descriptor.handle)
  }

  /// Closes the connection, and discards what the system holds: the peer gets a reset.
  package func discardAndClose() {
    guard self.channel.isActive else { return }
    TCPSocket.discardUnsent(of: self.descriptor.handle)
    self.channel.close(promise: nil)
  }
}
