public import Delivery

/// Counters of a stream over RTSP: viewers, bytes and drops since its publication.
public struct RTSPStreamStatistics: Hashable, Sendable {
  /// Viewers, and what was sent to them and skipped.
  public var delivery = DeliveryStatistics()
  /// Datagrams dropped because the network could not carry them within a second, or the destination cannot be reached.
  public var datagramsDropped = 0
  /// Length of the send buffer that the system has granted for UDP, in bytes of its own accounting; nil without UDP. 16 KiB are
  /// requested, of which Linux grants twice as much; datagrams beyond that wait in the server, where they can be dropped.
  public var udpSendBufferLength: Int?

  /// Adds the counters of another rendition of the stream.
  mutating func add(_ other: RTSPStreamStatistics) {
    self.delivery.add(other.delivery)
    self.datagramsDropped += other.datagramsDropped
  }
}
