package import Media
internal import NIOCore

/// Decides at which access unit the decoding of a live stream starts: at the first IDR picture.
///
/// Encoders with periodic intra refresh or open groups of pictures send none after their start. When none has come for
/// ``timeout``, decoding starts at a recovery point or at what the sender calls a keyframe; when neither comes, that is reported
/// once.
package struct H264DecodingStart: Sendable {
  /// Treatment of an access unit: dropped, dropped and reported, or decoded.
  package enum Decision: Hashable, Sendable {
    /// The access unit precedes the start.
    case drop
    /// The access unit precedes the start, which has not come for long; the number of access units that were dropped.
    case reportMissing(dropped: Int)
    /// The access unit is decoded.
    case take(isStart: Bool)
  }

  /// Time without an IDR picture after which decoding starts elsewhere.
  package static let timeout = MediaDuration.seconds(3)
  /// Time without any start after which that is reported.
  package static let reportTime = MediaDuration.seconds(6)

  private var isStarted = false
  private var startsElsewhere = false
  private var waitingSince: MediaTime?
  private var dropped = 0
  private var isReported = false

  /// Creates the state before the first access unit.
  package init() {}

  /// Whether decoding has started at an IDR picture, so that another one can be waited for after a loss.
  package var isAtKeyframe: Bool { self.isStarted && !self.startsElsewhere }

  /// Decides on an access unit of a stream whose parameter sets are known.
  ///
  /// - Parameter isMarked: Whether the sender calls it a keyframe.
  package mutating func handle(_ unit: H264AccessUnit, isMarked: Bool, at time: MediaTime) -> Decision {
    if unit.isKeyframe {
      self.isStarted = true
      return .take(isStart: true)
    }
    if self.isStarted, !self.startsElsewhere { return .take(isStart: false) }
    let isStart = isMarked || unit.hasRecoveryPoint
    if self.isStarted { return .take(isStart: isStart) }
    // Timestamps may run backwards.
    let start = min(self.waitingSince ?? time, time)
    self.waitingSince = start
    if isStart, time - start >= Self.timeout {
      (self.isStarted, self.startsElsewhere) = (true, true)
      return .take(isStart: true)
    }
    self.dropped += 1
    guard !self.isReported, time - start >= Self.reportTime else { return .drop }
    self.isReported = true
    return .reportMissing(dropped: self.dropped)
  }
}

extension H264AccessUnit {
  /// Whether supplemental enhancement information says that decoding can start here, ITU-T H.264 §D.1.8.
  package var hasRecoveryPoint: Bool {
    var rest = self.payload
    while let length = rest.readInteger(as: UInt32.self), var nalUnit = rest.readSlice(length: Int(length)) {
      guard let header = nalUnit.readInteger(as: UInt8.self), header & 0b0001_1111 == 6 else { continue }
      // Behind the last message is the stop bit.
      while nalUnit.readableBytes > 2, let type = Self.readSum(&nalUnit), let size = Self.readSum(&nalUnit) {
        if type == 6 { return true }
        guard nalUnit.readSlice(length: size) != nil else { break }
      }
    }
    return false
  }

  /// A number as the sum of bytes, of which the last one is not 255.
  private static func readSum(_ bytes: inout ByteBuffer) -> Int? {
    var sum = 0
    while let byte = bytes.readInteger(as: UInt8.self) {
      sum += Int(byte)
      if byte != 255 { return sum }
    }
    return nil
  }
}
