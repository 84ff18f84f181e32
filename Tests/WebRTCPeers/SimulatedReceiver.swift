package import Media
package import NIOCore
internal import RTP
internal import TestSupport
package import WebRTC

/// A browser behind a ``SimulatedPath``, in virtual time: it orders packets, asks for those that are missing and for keyframes,
/// reports as Chromium does, and shows each frame when it and those before it are complete.
///
/// The caller passes what the server sends to ``receive(_:at:)``, and at ``nextDeadline`` delivers what
/// ``handleTimeout(at:)`` returns to the server.
package struct SimulatedReceiver {
  /// A frame that was shown.
  package struct Frame: Hashable, Sendable {
    /// Time at which the frame was shown.
    package var time: MediaTime
    /// RTP timestamp of the frame, in ticks of 90 kHz.
    package var timestamp: UInt32
    /// Whether it is a keyframe.
    package var isKeyframe: Bool
    /// Length of its packets in bytes.
    package var byteCount: Int
  }

  private struct Packet {
    var timestamp: UInt32
    var marker: Bool
    /// Whether it is the first packet of a keyframe.
    var startsKeyframe: Bool
    var byteCount: Int
  }

  private struct Missing {
    var since: MediaTime
    var asked: MediaTime?
    var count = 0
  }

  private struct Event {
    var time: MediaTime
    var datagram: ByteBuffer
  }

  /// Interval of requests and of looking at what is missing.
  private static let interval = MediaDuration.milliseconds(20)
  /// Time without a frame from which keyframes are requested, and between the requests.
  private static let frozenTime = MediaDuration.milliseconds(500)

  /// Client that seals its datagrams.
  package var client: SessionClient
  /// Source of its datagrams.
  package private(set) var address: TransportAddress
  /// Path from the server.
  package var path: SimulatedPath
  private var numbers: SplitMix
  private var arrivals: [Event] = []
  private var departures: [Event] = []
  let videoSSRC: UInt32
  private let retransmissionSSRC: UInt32
  private let transportWideID: UInt8?
  private var packets: [Int64: Packet] = [:]
  private var missing: [Int64: Missing] = [:]
  private var highest: Int64?
  /// Number of the next packet to show; nil before the first keyframe.
  private var next: Int64?
  private var nextTick: MediaTime
  private var nextReport: MediaTime
  private var nextCheck: MediaTime
  private var lastArrival: MediaTime
  private var lastRequest: MediaTime?
  private var reported: (highest: Int64, received: Int) = (-1, 0)
  private var lostSinceReport = 0
  private var senderReport: (middle: UInt32, arrival: MediaTime)?
  private var seenReports = 0
  private var isConnected = false
  /// Number of the newest packet of video that has arrived.
  package var lastVideoNumber: UInt16 { UInt16(truncatingIfNeeded: self.highest ?? 0) }
  private var rebinding: MediaTime?
  private var deadAddress: TransportAddress?

  /// Frames that were shown, in their order.
  package private(set) var shown: [Frame] = []
  /// Bytes of media that arrived, by tenth of a second.
  package private(set) var arrivedBytes: [Int] = []
  /// Keyframes that were requested.
  package private(set) var keyframeRequests = 0
  /// Packets that arrived on the source of retransmissions.
  package private(set) var retransmitted = 0
  /// Packets of video that were shown twice, or whose number went back: none.
  package private(set) var unorderedFrames = 0
  /// Whether it reports what it gets; false for one that is silent but for checks.
  package var sendsReports = true

  /// A browser that connects from a time on.
  package init(
    _ conditions: SimulatedPath.Conditions, seed: UInt64, client: SessionClient, answer: WebRTCAnswer,
    at now: MediaTime
  ) {
    self.path = SimulatedPath(conditions, seed: seed)
    self.numbers = SplitMix(seed: seed &* 31 &+ 7)
    self.client = client
    self.address = client.address
    self.videoSSRC = answer.video?.ssrc ?? 0
    self.retransmissionSSRC = answer.video?.retransmissionSSRC ?? 0
    self.transportWideID = answer.video?.extensionIDs[WebRTCAnswer.ExtensionURI.transportWideCC]
    self.nextTick = now
    self.nextReport = now + .milliseconds(700)
    self.nextCheck = now
    self.lastArrival = now
  }

  /// Changes the port that its datagrams come from at a time, as routers do; what is sent to the former one is lost.
  package mutating func rebind(at time: MediaTime) { self.rebinding = time }

  /// Time at which ``handleTimeout(at:)`` is due.
  package var nextDeadline: MediaTime {
    min(
      self.nextTick, self.arrivals.first?.time ?? self.nextTick, self.departures.first?.time ?? self.nextTick,
      max(self.path.nextFeedback, self.nextTick - Self.interval))
  }

  // MARK: From the server

  /// Sends a datagram of the server through the path, which may lose it.
  package mutating func receive(_ datagram: ByteBuffer, to address: TransportAddress, at now: MediaTime) {
    guard address == self.address else { return }
    var number: UInt16?
    if DatagramKind(datagram) == .rtp { number = self.transportWideNumber(of: datagram) }
    guard let arrival = self.path.send(number, byteCount: datagram.readableBytes, at: now) else { return }
    self.insert(Event(time: arrival, datagram: datagram), into: \.arrivals)
  }

  private mutating func insert(_ event: Event, into queue: WritableKeyPath<Self, [Event]>) {
    var index = self[keyPath: queue].count
    while index > 0, self[keyPath: queue][index - 1].time > event.time { index -= 1 }
    self[keyPath: queue].insert(event, at: index)
  }

  /// The transport-wide number: the first extension of packets of this server.
  private func transportWideNumber(of datagram: ByteBuffer) -> UInt16? {
    guard let id = self.transportWideID, let first: UInt8 = datagram.getInteger(at: datagram.readerIndex),
      first & 0x10 != 0, let element: UInt8 = datagram.getInteger(at: datagram.readerIndex + 16), element >> 4 == id
    else { return nil }
    return datagram.getInteger(at: datagram.readerIndex + 17)
  }

  /// Processes the datagrams that have arrived, and returns the datagrams that reach the server now.
  package mutating func handleTimeout(at now: MediaTime) throws -> [ByteBuffer] {
    if let rebinding, now >= rebinding {
      self.rebinding = nil
      self.address = TransportAddress(ip: self.address.ip, port: self.address.port + 1)
    }
    while let first = self.arrivals.first, first.time <= now {
      self.arrivals.removeFirst()
      try self.arrive(first.datagram, at: first.time)
    }
    if self.path.nextFeedback <= now, let feedback = self.path.makeFeedback(), self.sendsReports {
      self.send(self.client.feedback(.transportWide(feedback.feedback)), at: now)
    }
    if now >= self.nextTick { self.tick(at: now) }
    var datagrams: [ByteBuffer] = []
    while let first = self.departures.first, first.time <= now {
      datagrams.append(self.departures.removeFirst().datagram)
    }
    return datagrams
  }

  private mutating func send(_ datagram: ByteBuffer, at now: MediaTime) {
    let conditions = self.path.conditions
    if conditions.outage.contains(now.seconds) { return }
    if conditions.loss.times.contains(now.seconds),
      Double.random(in: 0..<1, using: &self.numbers) < conditions.loss.share
    {
      return
    }
    self.insert(Event(time: now + conditions.delay, datagram: datagram), into: \.departures)
  }

  private mutating func arrive(_ datagram: ByteBuffer, at now: MediaTime) throws {
    self.lastArrival = now
    guard DatagramKind(datagram) == .rtp else {
      let isFirst = self.client.responses.isEmpty
      // A reordered or duplicated report is refused as a replay.
      try? self.client.receive(datagram)
      for reply in self.client.takeReplies() { self.send(reply, at: now) }
      if isFirst, !self.client.responses.isEmpty, !self.isConnected { self.send(SessionClient.hello, at: now) }
      if self.client.reports.count > self.seenReports {
        self.seenReports = self.client.reports.count
        for case .senderReport(let report) in self.client.reports.last?.packets ?? []
        where report.ssrc == self.videoSSRC {
          self.senderReport = (report.ntpTimestamp.middle, now)
        }
      }
      return
    }
    self.isConnected = true
    let tenth = Int(now.seconds * 10)
    while self.arrivedBytes.count <= tenth { self.arrivedBytes.append(0) }
    guard let packet = try? RTPPacket(parsing: datagram) else { return }
    let payload = packet.payload.readableBytesView.dropLast(16)
    switch packet.header.ssrc {
    case self.videoSSRC:
      self.arrivedBytes[tenth] += datagram.readableBytes
      self.arriveVideo(packet.header, number: packet.header.sequenceNumber, payload, at: now)
    case self.retransmissionSSRC:
      guard payload.count > 2 else { return }
      self.retransmitted += 1
      let number = UInt16(payload[payload.startIndex]) << 8 | UInt16(payload[payload.startIndex + 1])
      self.arriveVideo(packet.header, number: number, payload.dropFirst(2), at: now)
    default: self.arrivedBytes[tenth] += datagram.readableBytes
    }
  }

  private mutating func arriveVideo(
    _ header: RTPHeader, number: UInt16, _ payload: ByteBufferView, at now: MediaTime
  ) {
    let highest = self.highest ?? Int64(number) - 1
    let extended = highest + Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highest)))
    if let next = self.next, extended < next { return }
    guard self.packets[extended] == nil else { return }
    let kind = payload.first.map { $0 & 0x1F } ?? 0
    let second = payload.dropFirst().first ?? 0
    let startsKeyframe = kind == 24 || kind == 5 || kind == 7 || (kind == 28 && second & 0x9F == 0x85)
    self.packets[extended] = Packet(
      timestamp: header.timestamp, marker: header.marker, startsKeyframe: startsKeyframe, byteCount: payload.count)
    self.missing[extended] = nil
    if extended > highest {
      if self.highest != nil {
        for number in highest + 1..<extended {
          self.missing[number] = Missing(since: now)
          self.lostSinceReport += 1
        }
      }
      self.highest = extended
    }
    if self.next == nil, startsKeyframe { self.next = extended }
    self.show(at: now)
  }

  // MARK: Frames

  /// Shows all frames that are complete in order, or from a complete keyframe on.
  private mutating func show(at now: MediaTime) {
    while self.showNext(at: now) {}
    guard let next = self.next, let highest = self.highest, next <= highest, self.missing.count > 0 else { return }
    // A keyframe that is complete needs nothing before it.
    for number in stride(from: highest, to: next, by: -1) where self.packets[number]?.startsKeyframe == true {
      guard self.end(of: number) != nil else { continue }
      self.packets = self.packets.filter { $0.key >= number }
      self.missing = self.missing.filter { $0.key >= number }
      self.next = number
      while self.showNext(at: now) {}
      return
    }
  }

  /// Number of the last packet of the frame that starts at a number; nil while it is incomplete.
  private func end(of number: Int64) -> Int64? {
    guard let timestamp = self.packets[number]?.timestamp else { return nil }
    var end = number
    while let packet = self.packets[end], packet.timestamp == timestamp {
      if packet.marker { return end }
      end += 1
    }
    return nil
  }

  private mutating func showNext(at now: MediaTime) -> Bool {
    guard let next = self.next, let first = self.packets[next], let end = self.end(of: next) else { return false }
    var byteCount = 0
    for number in next...end { byteCount += self.packets.removeValue(forKey: number)?.byteCount ?? 0 }
    if let last = self.shown.last, Int32(bitPattern: first.timestamp &- last.timestamp) <= 0 {
      self.unorderedFrames += 1
    }
    self.shown.append(
      Frame(time: now, timestamp: first.timestamp, isKeyframe: first.startsKeyframe, byteCount: byteCount))
    self.next = end + 1
    return true
  }

  // MARK: To the server

  private mutating func tick(at now: MediaTime) {
    self.nextTick = now + Self.interval
    // Consent, and often while nothing arrives.
    if now >= self.nextCheck || (now - self.lastArrival > .seconds(1) && self.nextCheck - now > .milliseconds(480)) {
      self.nextCheck =
        now + (now - self.lastArrival > .seconds(1) || !self.isConnected ? .milliseconds(480) : .milliseconds(2500))
      self.send(self.client.check(), at: now)
      // DTLS sends a flight again that was lost.
      if !self.isConnected, !self.client.responses.isEmpty { self.send(SessionClient.hello, at: now) }
    }
    guard self.sendsReports, self.isConnected else { return }
    self.askForMissing(at: now)
    if now >= self.nextReport { self.report(at: now) }
    let last = self.shown.last?.time ?? .zero
    let isFrozen = now - last > Self.frozenTime && now - self.lastArrival < Self.frozenTime
    if isFrozen, self.lastRequest.map({ now - $0 >= Self.frozenTime }) ?? true {
      self.lastRequest = now
      self.keyframeRequests += 1
      self.send(self.client.feedback(.pictureLossIndication), at: now)
    }
  }

  private mutating func askForMissing(at now: MediaTime) {
    guard !self.missing.isEmpty else { return }
    let roundTrip = self.path.conditions.delay * 2
    var numbers: [UInt16] = []
    for number in self.missing.keys.sorted() {
      guard var entry = self.missing[number] else { continue }
      // Reordered packets come by themselves.
      guard now - entry.since >= .milliseconds(10) else { continue }
      guard entry.count < 10, number >= self.next ?? 0 else {
        if number < self.next ?? 0 { self.missing[number] = nil }
        continue
      }
      if let asked = entry.asked, now - asked < max(roundTrip + .milliseconds(10), .milliseconds(40)) { continue }
      entry.asked = now
      entry.count += 1
      self.missing[number] = entry
      numbers.append(UInt16(truncatingIfNeeded: number))
    }
    if !numbers.isEmpty { self.send(self.client.feedback(.nack(RTCPNackPair.pairs(numbers))), at: now) }
  }

  private mutating func report(at now: MediaTime) {
    self.nextReport = now + .seconds(1)
    guard let highest = self.highest else { return }
    let expected = max(1, highest - max(self.reported.highest, 0))
    let fraction = min(255, Double(self.lostSinceReport) / Double(expected) * 256)
    self.reported.highest = highest
    self.reported.received += self.lostSinceReport
    self.lostSinceReport = 0
    let delay = self.senderReport.map { (now - $0.arrival).ticks(timescale: 65_536) } ?? 0
    let block = RTCPReportBlock(
      ssrc: self.videoSSRC, fractionLost: UInt8(fraction), cumulativeLost: Int32(clamping: self.reported.received),
      extendedHighestSequenceNumber: UInt32(truncatingIfNeeded: highest), jitter: 0,
      lastSenderReport: self.senderReport?.middle ?? 0, delaySinceLastSenderReport: UInt32(clamping: delay))
    self.send(self.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]), at: now)
  }

  // MARK: Measurements

  /// Mean bitrate of media that arrived between two times in seconds, without retransmissions.
  package func arrivedBitrate(_ times: ClosedRange<Double>) -> Double {
    let tenths = Int(times.lowerBound * 10)..<Int(times.upperBound * 10)
    let bytes = tenths.reduce(0) { $0 + ($1 < self.arrivedBytes.count ? self.arrivedBytes[$1] : 0) }
    return Double(bytes) * 8 / (Double(tenths.count) / 10)
  }

  /// Frames shown between two times in seconds.
  package func frames(_ times: ClosedRange<Double>) -> [Frame] {
    self.shown.filter { times.contains($0.time.seconds) }
  }

  /// Times at which the display froze for 183 ms and more, which is what browsers count at 30 frames a second, between two times:
  /// frames are shown 100 ms after the quickest one, the playout delay that the server allows.
  package func freezes(_ times: ClosedRange<Double>) -> [Double] {
    guard let first = self.shown.first else { return [] }
    func offset(_ frame: Frame) -> Double {
      frame.time.seconds - Double(Int32(bitPattern: frame.timestamp &- first.timestamp)) / 90_000
    }
    let minimum = self.shown.map(offset).min() ?? 0
    let playout = self.frames(times).map { $0.time.seconds + max(0, 0.1 - (offset($0) - minimum)) }
    return zip(playout, playout.dropFirst()).filter { $1 - $0 >= 0.183 }.map(\.1)
  }
}
