internal import Libc
package import NIOCore

extension ChannelHandlerContext {
  /// Minimum of the limit of unsent bytes, in bytes.
  private static let minimumUnsentLimit = 16 * 1024
  /// Maximum time to send the last bytes before a connection is closed.
  private static let closeTimeout = TimeAmount.seconds(1)

  /// Number of bytes in the channel's write buffer.
  package var unsentByteCount: Int {
    // Every socket channel has the option; a closed channel has no buffer.
    (try? self.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }

  /// Limits what the system keeps unsent to a quarter of a second of the stream: it cannot be dropped when it grows old.
  ///
  /// - Parameter bitrate: Bitrate of the stream's video, in bits per second.
  package func limitUnsentBytes(bitrate: Int) {
    let limit = max(Self.minimumUnsentLimit, bitrate / 8 / 4)
    // A system without the option keeps more: frames that are older reach a viewer after a stall.
    try? self.channel.syncOptions?.setOption(
      .tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)), value: .init(clamping: min(limit, Int(Int32.max))))
  }

  /// Closes the connection when all data is written, or after a second.
  ///
  /// - Parameter empty: A write without bytes, behind all others.
  package func closeAfterWrites(_ empty: NIOAny) {
    let channel = self.channel
    self.writeAndFlush(empty).whenComplete { _ in channel.close(promise: nil) }
    self.eventLoop.scheduleTask(in: Self.closeTimeout) { channel.close(promise: nil) }
  }
}
