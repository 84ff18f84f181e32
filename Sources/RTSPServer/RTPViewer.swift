internal import CDatagrams
internal import Media
internal import NIOCore
internal import RTSP
internal import Synchronization

/// One viewer of a stream, on its connection's event loop: its tracks and transports, and the packets that wait for the
/// connection. Performs what ``ViewerState`` decides.
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

  let transports: PerTrack<Transport>
  /// The connection; it references its viewer until it leaves the stream.
  private let connection: RTSPConnectionHandler
  private let counters: ViewerCounters
  private var state: ViewerState
  /// Interleaved packets that wait for the connection, in step with the queue of `state`.
  private var queue: [SharedPackets] = []

  init(
    transports: PerTrack<Transport>, connection: RTSPConnectionHandler, counters: ViewerCounters,
    limits: ViewerState.Limits
  ) {
    self.transports = transports
    self.connection = connection
    self.counters = counters
    self.state = ViewerState(
      limits: limits, startsAtKeyframe: transports.video != nil,
      skipsToKeyframe: transports.video?.interleavedChannel != nil)
  }

  /// Sends packets over the connection, or queues or drops them; starts the viewer at its first keyframe.
  ///
  /// - Returns: The destinations, when the packets are to be sent as datagrams.
  func deliver(_ packets: SharedPackets, at now: MediaTime) -> DatagramDestinations? {
    guard let transport = self.transports[packets.kind] else { return nil }
    if case .datagrams(let destinations) = transport {
      if !self.state.isStarted {
        guard self.state.handle(packets.delivery, at: now) == .start else { return nil }
        self.connection.start(self, at: packets.positions) {}
      }
      return destinations
    }
    switch self.state.handle(packets.delivery, at: now) {
    case .ignore: break
    case .start: self.connection.start(self, at: packets.positions) { self.write(packets) }
    case .send: self.connection.writing { self.write(packets) }
    case .sendAudio: break  // A delivery has one track.
    case .enqueue: self.queue.append(packets)
    case .skip(let frames): self.drop(frames: frames)
    }
    return nil
  }

  private func write(_ packets: SharedPackets) {
    guard let channel = self.transports[packets.kind]?.interleavedChannel else { return }
    let buffer = packets.interleaved(channel: channel)
    self.connection.write(buffer)
    self.counters.bytesSent.add(buffer.readableBytes, ordering: .relaxed)
  }

  /// Empties the queue, in which were this number of access units, with those that are not queued.
  private func drop(frames: Int) {
    self.queue.removeAll()
    if frames > 0 { self.counters.framesSkipped.add(frames, ordering: .relaxed) }
  }

  /// Sends RTCP packets; without effect before the viewer plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    guard self.state.isStarted else { return }
    let acceptsReports = self.state.acceptsReports
    self.connection.writing {
      for kind in MediaKind.allCases {
        guard let transport = self.transports[kind], let report = reports[kind] else { continue }
        switch transport {
        case .interleaved(_, let channel):
          if acceptsReports { self.connection.write(ByteBuffer(interleaving: report, channel: channel)) }
        case .datagrams(let destinations): self.connection.send(report, to: destinations)
        }
      }
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

// MARK: The connection's write buffer

extension RTPViewer {
  /// Whether the connection has unsent bytes, as far as the viewer was notified.
  var isBlocked: Bool { self.state.isBlocked }

  /// Time at which ``checkProgress(byteCount:at:)`` is due; nil while everything is sent.
  var nextDeadline: MediaTime? { self.state.nextDeadline }

  /// Records that the connection has unsent bytes.
  func connectionBlocked(byteCount: Int, at now: MediaTime) {
    self.state.handleBlocked(byteCount: byteCount, at: now)
  }

  /// Sends the queued packets while the connection takes them, or requests a keyframe to resume at, when the connection has
  /// sent everything.
  func connectionDrained(at now: MediaTime) {
    repeat {
      switch self.state.handleDrained(at: now) {
      case .none: return
      case .sendQueued:
        let packets = self.queue.removeFirst()
        self.connection.writing { self.write(packets) }
      case .resume(let frames, let requestsKeyframe):
        self.drop(frames: frames)
        if requestsKeyframe { self.connection.requestKeyframe() }
        return
      }
    } while !self.isBlocked
  }

  /// Whether the connection is to be closed, since it makes no progress; counts it then.
  func checkProgress(byteCount: Int, at now: MediaTime) -> Bool {
    guard self.state.handleTimer(byteCount: byteCount, at: now) == .close else { return false }
    self.counters.countSlowViewer()
    return true
  }
}

extension RTPViewer.Transport {
  /// The channel of RTP packets; nil for UDP.
  var interleavedChannel: UInt8? {
    switch self {
    case .interleaved(let rtp, _): rtp
    case .datagrams: nil
    }
  }
}

extension ByteBuffer {
  /// A packet within an RTSP connection, RFC 2326 §10.12.
  fileprivate init(interleaving packet: ByteBuffer, channel: UInt8) {
    self.init()
    self.reserveCapacity(4 + packet.readableBytes)
    self.writeInteger(UInt8(ascii: "$"))
    self.writeInteger(channel)
    self.writeInteger(UInt16(packet.readableBytes))
    self.writeImmutableBuffer(packet)
  }
}
