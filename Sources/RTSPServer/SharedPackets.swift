internal import Media
internal import NIOCore
internal import RTP
internal import Serving
internal import Synchronization

/// The RTP packets of one access unit or audio frame, shared by all viewers and event loops.
///
/// Each wire format (interleaved frames of a channel, datagrams) is built once, when the first viewer needs it.
final class SharedPackets: SharedMedia {
  /// Packets back to back, and the runs of equal length for segmentation offload.
  struct Datagrams: Sendable {
    var buffer: ByteBuffer
    var runs: [RTPPacketBatch.DatagramRun]
  }

  private struct WireFormats {
    var interleaved: [(channel: UInt8, buffer: ByteBuffer)] = []
    var datagrams: Datagrams?
    var bursts: [RTPPacketBatch.DatagramRun]?
  }

  /// Maximum number of datagrams that leave in one message: 23 kB, less than short queues of network interfaces hold.
  static let maximumRunCount = 16
  /// Maximum number of datagrams in a burst of a keyframe that is spread, see ``PacedKeyframe``.
  static let maximumBurstCount = 4
  /// Maximum number of channels whose wire format is kept; that of others is built for each viewer.
  static let maximumChannelCount = 4

  /// The interleaved bytes of a delivery, by channels.
  static var emptyCache: [InterleavedPackets] { [] }

  let kind: MediaKind
  /// Whether these are the packets of a video keyframe, at which a viewer can start.
  let isKeyframe: Bool
  /// The next packet of each track, for a viewer that starts with these packets. That of the other track is not packetized yet: its
  /// time is the one of these.
  let positions: PerTrack<RTPPosition>
  /// The last audio before a keyframe, with which a viewer of both tracks starts; nil where there was none just before.
  let leadingAudio: SharedPackets?
  private let batch: RTPPacketBatch
  private let formats = Mutex(WireFormats())

  /// Number of bytes of all packets.
  var byteCount: Int { self.batch.byteCount }

  init(
    kind: MediaKind, batch: RTPPacketBatch, positions: PerTrack<RTPPosition>, leadingAudio: SharedPackets? = nil
  ) {
    self.kind = kind
    self.isKeyframe = kind == .video && batch.isKeyframe
    self.positions = positions
    self.leadingAudio = leadingAudio
    self.batch = batch
  }

  /// The first of these packets.
  var position: RTPPosition {
    RTPPosition(sequenceNumber: self.batch.firstSequenceNumber, timestamp: self.batch.timestamp)
  }

  /// The packets framed for an RTSP connection, RFC 2326 §10.12.
  func interleaved(channel: UInt8) -> ByteBuffer {
    self.formats.withLock { formats in
      for format in formats.interleaved where format.channel == channel { return format.buffer }
      let buffer = self.batch.interleaved(channel: channel)
      if formats.interleaved.count < Self.maximumChannelCount { formats.interleaved.append((channel, buffer)) }
      return buffer
    }
  }

  /// The packets as UDP datagrams.
  func datagrams() -> Datagrams {
    self.formats.withLock { formats in
      if let datagrams = formats.datagrams { return datagrams }
      let runs = self.batch.datagramRuns(maximumPackets: Self.maximumRunCount)
      let datagrams = Datagrams(buffer: self.batch.datagrams(), runs: runs)
      formats.datagrams = datagrams
      return datagrams
    }
  }

  /// The runs of ``datagrams()`` in bursts of a few packets.
  func bursts() -> [RTPPacketBatch.DatagramRun] {
    self.formats.withLock { formats in
      if let bursts = formats.bursts { return bursts }
      let bursts = self.batch.datagramRuns(maximumPackets: Self.maximumBurstCount)
      formats.bursts = bursts
      return bursts
    }
  }
}
