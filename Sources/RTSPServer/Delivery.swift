internal import Media
internal import NIOCore
internal import RTP
internal import Synchronization

/// One access unit or frame of sound on its way to all viewers: its packets, and the shapes they are sent in, each made
/// once however many viewers and event loops there are.
final class Delivery: Sendable {
  /// What is sent over UDP: packets back to back, and how to cut them.
  struct Datagrams: Sendable {
    var buffer: ByteBuffer
    var runs: [RTPPacketBatch.DatagramRun]
  }

  private struct Shapes {
    var interleaved: [(channel: UInt8, buffer: ByteBuffer)] = []
    var datagrams: Datagrams?
  }

  let kind: MediaKind
  /// Whether a viewer can start here.
  let isStart: Bool
  /// Where a viewer that starts here starts in each track.
  let positions: PerTrack<RTPPosition>
  private let batch: RTPPacketBatch
  private let shapes = Mutex(Shapes())

  init(kind: MediaKind, batch: RTPPacketBatch, positions: PerTrack<RTPPosition>) {
    self.kind = kind
    self.isStart = kind == .video && batch.isKeyframe
    self.positions = positions
    self.batch = batch
  }

  /// The packets as an RTSP connection carries them.
  func interleaved(channel: UInt8) -> ByteBuffer {
    self.shapes.withLock { shapes in
      for shape in shapes.interleaved where shape.channel == channel { return shape.buffer }
      let buffer = self.batch.interleaved(channel: channel)
      shapes.interleaved.append((channel, buffer))
      return buffer
    }
  }

  /// The packets as UDP carries them.
  func datagrams() -> Datagrams {
    self.shapes.withLock { shapes in
      if let datagrams = shapes.datagrams { return datagrams }
      let datagrams = Datagrams(buffer: self.batch.datagrams(), runs: self.batch.datagramRuns())
      shapes.datagrams = datagrams
      return datagrams
    }
  }
}
