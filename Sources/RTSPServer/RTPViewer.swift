internal import CDatagrams
internal import Media
internal import NIOCore

/// One viewer of a stream, on its connection's event loop: its tracks and transports, and its drop policy.
///
/// Drop policy: while the connection is not writable, because more than the high-water mark is buffered, the viewer is sent
/// nothing. When the connection is writable again, the viewer resumes at the next keyframe.
final class RTPViewer {
  /// The transport of a track's packets.
  enum Transport {
    /// These channels of the RTSP connection.
    case interleaved(rtp: UInt8, rtcp: UInt8)
    /// UDP to these addresses.
    case datagrams(DatagramDestinations)
  }

  /// UDP destinations of a track; a class, since the addresses are large and read for every access unit.
  final class DatagramDestinations: Sendable {
    let rtp: vidicon_destination
    let rtcp: vidicon_destination

    init(rtp: vidicon_destination, rtcp: vidicon_destination) {
      self.rtp = rtp
      self.rtcp = rtcp
    }
  }

  /// Decision about the packets of one sample for a viewer.
  enum SendAction {
    /// Not sent: the track is not set up, or the viewer waits for its first keyframe.
    case none
    /// Not sent, since the viewer is too slow; counted as a skipped frame.
    case skip
    case interleaved(channel: UInt8)
    case datagrams(DatagramDestinations)
  }

  private enum Phase {
    case waitingForKeyframe
    case playing
    /// Too slow: waits for a keyframe while the connection is writable.
    case skipping
  }

  let transports: PerTrack<Transport>
  /// The connection; it references its viewer until it leaves the stream.
  private let connection: RTSPConnectionHandler
  private var phase = Phase.waitingForKeyframe

  init(transports: PerTrack<Transport>, connection: RTSPConnectionHandler) {
    self.transports = transports
    self.connection = connection
  }

  /// Whether the viewer was too slow and waits for a keyframe.
  var isSkipping: Bool {
    self.phase == .skipping
  }

  /// Starts to play: sends the response to PLAY with these positions, then a sender report for each track.
  func start(at positions: PerTrack<RTPPosition>) {
    guard self.phase == .waitingForKeyframe else { return }
    self.phase = .playing
    self.connection.viewerStarted(self, at: positions)
  }

  /// Decides how packets are sent, and starts or resumes the viewer at a keyframe.
  func prepare(_ packets: SharedPackets) -> SendAction {
    guard let transport = self.transports[packets.kind] else { return .none }
    if self.phase == .waitingForKeyframe {
      guard packets.isKeyframe || self.transports.video == nil else { return .none }
      self.start(at: packets.positions)
    }
    switch transport {
    case .datagrams(let destinations): return .datagrams(destinations)
    case .interleaved(let channel, _):
      guard self.connection.isWritable else {
        self.fallBehind()
        return packets.kind == .video ? .skip : .none
      }
      if self.phase == .skipping {
        if packets.isKeyframe {
          self.phase = .playing
        } else if packets.kind == .video {
          return .skip
        }
      }
      return .interleaved(channel: channel)
    }
  }

  private func fallBehind() {
    guard self.phase == .playing else { return }
    // Without video there is no keyframe to wait for: audio resumes as soon as the connection is writable.
    if self.transports.video != nil { self.phase = .skipping }
    self.connection.viewerFellBehind()
  }

  /// Writes interleaved packets.
  func write(_ buffer: ByteBuffer) {
    self.connection.write(buffer)
  }

  /// Sends RTCP packets; without effect before the viewer plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    guard self.phase != .waitingForKeyframe else { return }
    for kind in MediaKind.allCases {
      guard let transport = self.transports[kind], let report = reports[kind] else { continue }
      self.connection.writeReport(report, over: transport)
    }
  }

  /// Closes a connection that has data to send: earlier frames, which must not be shown any more.
  func discardEarlier() {
    guard let video = self.transports.video, case .interleaved = video else { return }
    self.connection.discardEarlier()
  }

  /// Sends RTCP goodbyes and closes the connection, at the end of the stream.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    self.send(goodbyes)
    self.connection.streamEnded()
  }
}
