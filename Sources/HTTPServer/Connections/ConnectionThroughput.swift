internal import CSystemCalls
internal import NIOCore

/// Throughput of a client's connection, as the system measures it.
package struct ConnectionThroughput: Hashable, Sendable {
  /// Bits per second that the client acknowledged while the network was filled.
  package var bitrate: Int

  init(bitrate: Int) {
    self.bitrate = bitrate
  }

  /// Measures the connection of a channel, which is the parent of an HTTP/2 stream's; on its event loop.
  ///
  /// - Returns: Nil where the system does not measure it, and while the sender did not fill the network. What was acknowledged
  ///   then is no bound either: a small response passes through a network's token bucket at any rate.
  init?(_ channel: any Channel) {
    let connection = channel.parent?.parent == nil ? channel : channel.parent ?? channel
    var throughput = vidicon_throughput()
    let isMeasured = try? connection.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { vidicon_tcp_throughput($0, &throughput) }
    guard isMeasured == true, !throughput.is_limited_by_sender else { return nil }
    self.init(bitrate: Int(clamping: throughput.bits_per_second))
  }
}
