package import NIOCore

/// Datagrams of any number of sessions, back to back, and the messages in which they leave.
///
/// Consecutive datagrams of equal length to one address are one message for segmentation offload; the last may be shorter.
package struct DatagramBatch: Sendable {
  /// Consecutive datagrams to one address, sent by one system call.
  package struct Message: Hashable, Sendable {
    /// Address and port to which all of them are sent.
    package var address: TransportAddress
    /// Offset of the first byte in ``DatagramBatch/bytes``.
    package var offset: Int
    /// Length of all datagrams, in bytes.
    package var length: Int
    /// Length of each datagram except the last, in bytes.
    package var segmentLength: Int
    /// Number of datagrams, 1 to ``DatagramBatch/maximumDatagramCount``.
    package var datagramCount: Int
  }

  /// Maximum number of datagrams in a message: 19 kB, less than short queues of network interfaces hold.
  package static let maximumDatagramCount = 16

  /// The datagrams; the reader index is 0.
  package private(set) var bytes = ByteBuffer()
  /// The messages, in their order.
  package private(set) var messages: [Message] = []

  /// Creates a batch without datagrams.
  package init() {}

  /// Whether there is nothing to send.
  package var isEmpty: Bool { self.messages.isEmpty }

  /// Removes all datagrams, and keeps the memory.
  package mutating func removeAll() {
    self.bytes.clear()
    self.messages.removeAll(keepingCapacity: true)
  }

  /// Appends a copy of a datagram, to the last message where address and length allow it.
  package mutating func append(_ datagram: ByteBuffer, to address: TransportAddress) {
    self.note(offset: self.bytes.writerIndex, length: datagram.readableBytes, to: address)
    self.bytes.writeImmutableBuffer(datagram)
  }

  /// Appends a datagram that `body` writes; nothing when it throws.
  package mutating func append<Failure: Error>(
    length: Int, to address: TransportAddress, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var failure: Failure?
    let offset = self.bytes.writerIndex
    self.bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
      do throws(Failure) {
        try body(UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]))
        return length
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    self.note(offset: offset, length: length, to: address)
  }

  /// Whether there are datagrams over TCP, and others.
  package var kinds: (hasTCP: Bool, hasUDP: Bool) {
    let count = self.messages.count { $0.address.isTCP }
    return (count > 0, count < self.messages.count)
  }

  /// The messages over UDP, or those over TCP; the bytes are shared.
  package func messages(overTCP isTCP: Bool) -> DatagramBatch {
    var batch = self
    batch.messages.removeAll { $0.address.isTCP != isTCP }
    return batch
  }

  /// The datagrams one by one, for tests and for systems without segmentation offload.
  package var datagrams: [(address: TransportAddress, datagram: ByteBuffer)] {
    self.messages.flatMap { message in
      stride(from: 0, to: message.length, by: message.segmentLength).compactMap { offset in
        self.bytes.getSlice(
          at: message.offset + offset, length: min(message.segmentLength, message.length - offset)
        ).map { (message.address, $0) }
      }
    }
  }

  private mutating func note(offset: Int, length: Int, to address: TransportAddress) {
    if let last = self.messages.last, last.address == address, length <= last.segmentLength,
      last.length == last.segmentLength * last.datagramCount, last.datagramCount < Self.maximumDatagramCount
    {
      self.messages[self.messages.count - 1].length += length
      self.messages[self.messages.count - 1].datagramCount += 1
      return
    }
    self.messages.append(
      Message(address: address, offset: offset, length: length, segmentLength: length, datagramCount: 1))
  }
}
