internal import CDatagrams
internal import Media
internal import NIOCore

/// One viewer of a stream, on its connection's event loop: which tracks it gets and how, and whether it keeps up.
///
/// Drop rule: while a viewer's connection is not writable, because more than the high-water mark waits in it, it gets
/// nothing; when it is writable again, it goes on with the next keyframe.
final class RTPViewer {
  /// How a track's packets reach the viewer.
  enum Transport {
    /// In the RTSP connection, on these channels.
    case interleaved(rtp: UInt8, rtcp: UInt8)
    /// To these ports.
    case datagrams(DatagramDestinations)
  }

  /// Where a track's datagrams go; by reference, since the addresses are large and looked at for every delivery.
  final class DatagramDestinations: Sendable {
    let rtp: vidicon_destination
    let rtcp: vidicon_destination

    init(rtp: vidicon_destination, rtcp: vidicon_destination) {
      self.rtp = rtp
      self.rtcp = rtcp
    }
  }

  /// What a viewer takes of a delivery.
  enum Acceptance {
    /// Nothing: it does not get this track, or has not started.
    case not
    /// Nothing, although it should: it is too slow.
    case skipped
    case interleaved(channel: UInt8)
    case datagrams(DatagramDestinations)
  }

  private enum Phase {
    case waitingForStart
    case playing
    /// Too slow: waits for the first keyframe that finds the connection writable.
    case skipping
  }

  let transports: PerTrack<Transport>
  /// The connection, which refers to its viewer until it leaves the stream.
  private let connection: RTSPConnectionHandler
  private var phase = Phase.waitingForStart

  init(transports: PerTrack<Transport>, connection: RTSPConnectionHandler) {
    self.transports = transports
    self.connection = connection
  }

  /// Whether it is behind, and waits for a keyframe.
  var isSkipping: Bool {
    self.phase == .skipping
  }

  /// Begins to play: the reply to PLAY goes out with these positions, and a report for each track.
  func start(at positions: PerTrack<RTPPosition>) {
    guard self.phase == .waitingForStart else { return }
    self.phase = .playing
    self.connection.viewerStarted(self, at: positions)
  }

  /// Decides what it gets of a delivery.
  func accept(_ delivery: Delivery) -> Acceptance {
    guard let transport = self.transports[delivery.kind] else { return .not }
    if self.phase == .waitingForStart {
      guard delivery.isStart || self.transports.video == nil else { return .not }
      self.start(at: delivery.positions)
    }
    switch transport {
    case .datagrams(let destinations): return .datagrams(destinations)
    case .interleaved(let channel, _):
      guard self.connection.isWritable else {
        self.fallBehind()
        return delivery.kind == .video ? .skipped : .not
      }
      if self.phase == .skipping {
        if delivery.isStart {
          self.phase = .playing
        } else if delivery.kind == .video {
          return .skipped
        }
      }
      return .interleaved(channel: channel)
    }
  }

  private func fallBehind() {
    guard self.phase == .playing else { return }
    // Without a picture there is no keyframe to wait for: sound goes on where it can.
    if self.transports.video != nil { self.phase = .skipping }
    self.connection.viewerFellBehind()
  }

  /// Writes packets, framed as the connection carries them.
  func write(_ buffer: ByteBuffer) {
    self.connection.write(buffer)
  }

  /// Sends RTCP, once it plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    guard self.phase != .waitingForStart else { return }
    for kind in MediaKind.allCases {
      guard let transport = self.transports[kind], let report = reports[kind] else { continue }
      self.connection.writeReport(report, over: transport)
    }
  }

  /// The stream has ended: RTCP's goodbye goes out and the connection is closed.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    self.send(goodbyes)
    self.connection.streamEnded()
  }
}
