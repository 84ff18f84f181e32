internal import HummingbirdCore
package import NIOCore

/// Writes a ``StreamedBody`` to its connection. Each write waits until the client reads.
package struct BodyWriter {
  private var base: any ResponseBodyWriter
  private let channel: any Channel

  /// - Parameter channel: The channel of the request, which may be an HTTP/2 stream's.
  init(_ base: any ResponseBodyWriter, on channel: any Channel) {
    self.base = base
    self.channel = channel
  }

  /// Writes further bytes of the body.
  @concurrent package mutating func write(_ bytes: ByteBuffer) async throws {
    try await self.base.write(bytes)
  }

  /// Writes further bytes of the body that may be discarded until the client has them: then its connection is reset.
  ///
  /// - Returns: False, without effect, where they were discarded since the transfer was made.
  @concurrent package mutating func write(
    contentsOf parts: [ByteBuffer], in transfer: DiscardableTransfers.Transfer
  ) async throws -> Bool {
    guard (try? transfer.begin(on: self.channel)) != nil else { return false }
    defer { transfer.end(on: self.channel) }
    try await self.base.write(contentsOf: parts)
    return true
  }

  /// Ends the body.
  @concurrent mutating func finish() async throws {
    try await self.base.finish(nil)
  }
}

/// A response body that is made while the client reads it, such as events or images.
package protocol StreamedBody: AnyObject, Sendable {
  /// Writes the body to its end; throws when the client is gone. The head is written already.
  @concurrent func write(to writer: inout BodyWriter) async throws
}
