internal import Media
internal import NIOCore

/// The packets of one track that a viewer was sent, to send them again: bounded by time, not by keyframes.
///
/// It references the media that all viewers share, and costs a viewer a few bytes for each frame.
struct RetransmissionHistory {
  /// A frame that was sent.
  struct Frame {
    var media: WebRTCMedia
    /// Number of the first packet, extended beyond 16 bits.
    var firstNumber: Int64
    var sent: MediaTime
  }

  /// Treatment of a request for a packet.
  enum Answer {
    /// Send packet `index` of a frame again.
    case packet(WebRTCMedia, index: Int)
    /// The packet was sent again less than a round trip ago.
    case answered
    /// The packet is too old, or was never sent.
    case unknown
  }

  /// Minimum time for which packets are kept.
  static let minimumLifetime = MediaDuration.seconds(1)
  /// Maximum time for which packets are kept.
  static let maximumLifetime = MediaDuration.seconds(3)
  /// Maximum number of frames.
  static let maximumFrameCount = 512

  private var frames = CircularBuffer<Frame>()
  /// Times at which packets were sent again, by their extended numbers; those of a frame are removed with it.
  private(set) var answers: [Int64: MediaTime] = [:]
  /// Number behind the last packet that was sent.
  var endNumber: Int64 = 0
  /// Number of the packet that was padding last.
  private var paddingNumber: Int64 = 0

  /// Whether there is no packet.
  var isEmpty: Bool { self.frames.isEmpty }

  /// Appends a frame whose first packet has a number; the numbers continue behind the frame before.
  mutating func append(_ media: WebRTCMedia, firstNumber: Int64, roundTrip: MediaDuration?, at now: MediaTime) {
    let lifetime = min(max(Self.minimumLifetime, (roundTrip ?? .zero) * 3), Self.maximumLifetime)
    while let first = self.frames.first, self.frames.count >= Self.maximumFrameCount || now - first.sent > lifetime {
      self.frames.removeFirst()
      if !self.answers.isEmpty { self.removeAnswers(of: first, before: self.frames.first?.firstNumber ?? firstNumber) }
    }
    self.frames.append(Frame(media: media, firstNumber: firstNumber, sent: now))
  }

  /// Forgets when packets of a frame that has left were sent again; each packet once, however many others were requested.
  private mutating func removeAnswers(of frame: Frame, before next: Int64) {
    let end = min(next, frame.firstNumber + Int64(frame.media.packetCount))
    for number in frame.firstNumber..<max(frame.firstNumber, end) { self.answers[number] = nil }
  }

  /// Finds a packet by its 16-bit number, and notes that it is sent again.
  ///
  /// - Parameter roundTrip: A second request within this time asks for the packet that is on its way.
  mutating func answer(_ sequenceNumber: UInt16, roundTrip: MediaDuration, at now: MediaTime) -> Answer {
    let last = self.endNumber - 1
    let number = last + Int64(Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: last)))
    guard number < self.endNumber, let (frame, index) = Self.find(number, in: self.frames) else {
      return .unknown
    }
    if let previous = self.answers[number], now - previous < roundTrip { return .answered }
    self.answers[number] = now
    return .packet(frame.media, index: index)
  }

  /// Finds the frame of a packet, and the packet's place in it.
  ///
  /// A datagram may request thousands of packets: of 512 frames, at most eleven are looked at for each.
  static func find<Frames: RandomAccessCollection<Frame>>(
    _ number: Int64, in frames: Frames
  ) -> (Frame, index: Int)? {
    func position(_ offset: Int) -> Frames.Index { frames.index(frames.startIndex, offsetBy: offset) }
    // The first frame behind the packet, by halves.
    var (low, high) = (0, frames.count)
    while low < high {
      let middle = (low + high) / 2
      if frames[position(middle)].firstNumber <= number { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let found = frames[position(low - 1)]
    guard number < found.firstNumber + Int64(found.media.packetCount) else { return nil }
    return (found, Int(number - found.firstNumber))
  }

  /// The next packet that is worth sending again for nothing but its length: the newest first, in turn.
  mutating func nextPadding() -> (media: WebRTCMedia, index: Int, number: UInt16)? {
    guard let last = self.frames.last else { return nil }
    let first = min(last.firstNumber, self.endNumber - 1)
    self.paddingNumber = self.paddingNumber > first ? min(self.paddingNumber, self.endNumber) - 1 : self.endNumber - 1
    guard let (frame, index) = Self.find(self.paddingNumber, in: self.frames) else { return nil }
    return (frame.media, index, UInt16(truncatingIfNeeded: self.paddingNumber))
  }

  /// Forgets all packets: they must not be shown any more.
  mutating func removeAll() {
    self.frames.removeAll()
    self.answers.removeAll()
  }
}
