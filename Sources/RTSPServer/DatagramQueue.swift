internal import CDatagrams
internal import Media
internal import RTP

/// The datagrams that a socket's full send buffer keeps waiting, in order. Pure: `now` is an argument.
///
/// When the oldest are ``maximumAge`` old, the network cannot carry the stream to all viewers: everything is dropped, and video
/// up to the next keyframe.
struct DatagramQueue {
  /// The datagrams of an access unit or audio frame for a number of viewers.
  struct Send {
    let packets: SharedPackets
    /// The datagrams of the packets that are sent, in runs.
    let runs: [RTPPacketBatch.DatagramRun]
    var destinations: [vidicon_destination]
    /// The first datagram that is not sent.
    var position = vidicon_datagram_position()
    /// Time at which the datagrams were appended.
    let time: MediaTime

    /// Whether every datagram is sent.
    var isComplete: Bool { self.position.destination >= self.destinations.count }

    /// Number of datagrams that are not sent.
    var remainingCount: Int {
      guard !self.isComplete else { return 0 }
      let lengths = self.runs.map { ($0.packetCount, $0.segmentLength) }
      let perDestination = lengths.reduce(0) { $0 + $1.0 }
      let sent =
        lengths.prefix(self.position.run).reduce(0) { $0 + $1.0 }
        + self.position.offset / max(1, lengths[self.position.run].1)
      return (self.destinations.count - self.position.destination) * perDestination - sent
    }
  }

  /// Drops that appended datagrams have caused.
  struct Outcome: Hashable {
    /// Number of dropped datagrams.
    var dropped = 0
    /// Whether everything was dropped, so that a keyframe is needed.
    var needsKeyframe = false
  }

  /// Age of the oldest datagram from which everything is dropped.
  static let maximumAge = MediaDuration.seconds(1)

  private var sends: [Send] = []
  private var isDroppingToKeyframe = false

  /// Whether nothing waits.
  var isEmpty: Bool { self.sends.isEmpty }

  /// Appends datagrams behind those that wait.
  ///
  /// - Parameter runs: The datagrams; nil for all of the packets.
  mutating func append(
    _ packets: SharedPackets, runs: [RTPPacketBatch.DatagramRun]? = nil, to destinations: [vidicon_destination],
    at now: MediaTime
  ) -> Outcome {
    var outcome = Outcome()
    let send = Send(
      packets: packets, runs: runs ?? packets.datagrams().runs, destinations: destinations, time: now)
    if let oldest = self.sends.first, now - oldest.time >= Self.maximumAge {
      outcome.dropped = self.sends.reduce(0) { $0 + $1.remainingCount }
      outcome.needsKeyframe = true
      self.sends.removeAll()
      self.isDroppingToKeyframe = true
    }
    if self.isDroppingToKeyframe, packets.kind == .video {
      guard packets.isKeyframe else {
        outcome.dropped += send.remainingCount
        return outcome
      }
      self.isDroppingToKeyframe = false
    }
    self.sends.append(send)
    return outcome
  }

  /// Sends what waits, in order, until the socket's send buffer is full.
  ///
  /// - Parameter transmit: Sends datagrams from their position on, and advances it.
  /// - Returns: Whether everything is sent.
  mutating func drain(_ transmit: (inout Send) -> Void) -> Bool {
    var count = 0
    defer { self.sends.removeFirst(count) }
    while count < self.sends.count {
      transmit(&self.sends[count])
      guard self.sends[count].isComplete else { return false }
      count += 1
    }
    return true
  }

  /// Drops the video that waits, which must not be shown any more.
  mutating func discardVideo() {
    self.sends.removeAll { $0.packets.kind == .video }
  }

  /// Drops what waits for a viewer that has left.
  mutating func remove(_ destination: vidicon_destination) {
    for send in self.sends.indices {
      for index in self.sends[send].destinations.indices
      where self.sends[send].destinations[index].hasAddress(of: destination) {
        // A destination without a length is skipped.
        self.sends[send].destinations[index].length = 0
      }
    }
  }
}

extension vidicon_destination {
  /// Whether both have the same address and port.
  func hasAddress(of other: vidicon_destination) -> Bool {
    guard self.length == other.length else { return false }
    return withUnsafeBytes(of: self.address) { mine in
      withUnsafeBytes(of: other.address) { theirs in
        mine.prefix(Int(self.length)).elementsEqual(theirs.prefix(Int(self.length)))
      }
    }
  }
}
