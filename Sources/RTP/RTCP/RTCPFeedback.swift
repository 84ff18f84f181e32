package import Media
public import NIOCore

/// A feedback message (RTPFB, PT 205; PSFB, PT 206), RFC 4585 §6.1.
///
/// ```
/// |V=2|P|   FMT   |      PT       |            length             |
/// |                  SSRC of packet sender                        |
/// |                  SSRC of media source                         |
/// |            feedback control information (FCI) …               |
/// ```
public struct RTCPFeedback: Hashable, Sendable {
  /// Request or report of the receiver.
  public enum Message: Hashable, Sendable {
    /// Generic NACK, RFC 4585 §6.2.1: packets that were lost.
    case nack([RTCPNackPair])
    /// Arrival times, draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1.
    case transportWide(RTCPTransportWideFeedback)
    /// PLI, RFC 4585 §6.3.1: a keyframe is needed to decode on.
    case pictureLossIndication
    /// FIR, RFC 5104 §4.3.1: a keyframe is needed, for each of some sources.
    case fullIntraRequest([RTCPFullIntraRequest])
    /// REMB, draft-alvestrand-rmcat-remb-03 §2.2: the bitrate that the path carries.
    case receiverEstimatedBitrate(RTCPReceiverEstimatedBitrate)
    /// Any other format, with its packet type, FMT and FCI.
    case other(type: UInt8, format: UInt8, body: ByteBuffer)
  }

  /// SSRC of the sender of the feedback.
  public var senderSSRC: UInt32
  /// SSRC of the source that the feedback is about; 0 when the message names sources itself.
  public var mediaSSRC: UInt32
  /// Feedback control information (FCI): the kind of feedback with its values.
  public var message: Message

  /// Creates a message; the media SSRC is 0 where the message names sources itself.
  public init(senderSSRC: UInt32, mediaSSRC: UInt32, message: Message) {
    self.senderSSRC = senderSSRC
    self.mediaSSRC = mediaSSRC
    self.message = message
  }

  static let transportType: UInt8 = 205
  static let payloadType: UInt8 = 206
  private static let nackFormat: UInt8 = 1
  static let transportWideFormat: UInt8 = 15
  private static let pictureLossFormat: UInt8 = 1
  private static let fullIntraFormat: UInt8 = 4
  private static let applicationFormat: UInt8 = 15

  var type: UInt8 {
    switch self.message {
    case .nack, .transportWide: Self.transportType
    case .pictureLossIndication, .fullIntraRequest, .receiverEstimatedBitrate: Self.payloadType
    case .other(let type, _, _): type
    }
  }

  /// FMT, 5 bits.
  var format: UInt8 {
    switch self.message {
    case .nack: Self.nackFormat
    case .transportWide: Self.transportWideFormat
    case .pictureLossIndication: Self.pictureLossFormat
    case .fullIntraRequest: Self.fullIntraFormat
    case .receiverEstimatedBitrate: Self.applicationFormat
    case .other(_, let format, _): format
    }
  }

  /// - Parameter body: The packet behind its 4-byte header.
  package init(type: UInt8, format: UInt8, parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard let (sender, media) = rest.readMultipleIntegers(as: (UInt32, UInt32).self) else {
      throw ParsingError(.truncated, field: "feedback")
    }
    self.init(senderSSRC: sender, mediaSSRC: media, message: .other(type: type, format: format, body: rest))
    switch (type, format) {
    case (Self.transportType, Self.nackFormat):
      var pairs: [RTCPNackPair] = []
      while let (first, mask) = rest.readMultipleIntegers(as: (UInt16, UInt16).self) {
        pairs.append(RTCPNackPair(packetID: first, followingMask: mask))
      }
      self.message = .nack(pairs)
    case (Self.transportType, Self.transportWideFormat):
      self.message = .transportWide(try RTCPTransportWideFeedback(parsing: rest))
    case (Self.payloadType, Self.pictureLossFormat):
      guard rest.readableBytes == 0 else { throw ParsingError(.invalid, field: "PLI") }
      self.message = .pictureLossIndication
    case (Self.payloadType, Self.fullIntraFormat):
      var requests: [RTCPFullIntraRequest] = []
      while let (ssrc, sequence, _, _) = rest.readMultipleIntegers(as: (UInt32, UInt8, UInt8, UInt16).self) {
        requests.append(RTCPFullIntraRequest(ssrc: ssrc, commandSequenceNumber: sequence))
      }
      guard rest.readableBytes == 0 else { throw ParsingError(.truncated, field: "FIR") }
      self.message = .fullIntraRequest(requests)
    case (Self.payloadType, Self.applicationFormat):
      // Other application layer feedback has another identifier.
      if let estimate = try RTCPReceiverEstimatedBitrate(parsing: rest) {
        self.message = .receiverEstimatedBitrate(estimate)
      }
    default: break
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    buffer.writeMultipleIntegers(self.senderSSRC, self.mediaSSRC)
    switch self.message {
    case .nack(let pairs):
      for pair in pairs { buffer.writeMultipleIntegers(pair.packetID, pair.followingMask) }
    case .transportWide(let feedback): feedback.serialize(into: &buffer)
    case .pictureLossIndication: break
    case .fullIntraRequest(let requests):
      for request in requests {
        buffer.writeMultipleIntegers(request.ssrc, request.commandSequenceNumber, UInt8(0), UInt16(0))
      }
    case .receiverEstimatedBitrate(let estimate): estimate.serialize(into: &buffer)
    case .other(_, _, let body): buffer.writeImmutableBuffer(body)
    }
  }
}

/// Up to 17 lost packets, RFC 4585 §6.2.1: a sequence of their numbers.
public struct RTCPNackPair: Hashable, Sendable, Sequence {
  /// Returns the numbers of the lost packets, in their order.
  public struct Iterator: IteratorProtocol {
    fileprivate let packetID: UInt16
    /// Bit n is set when packet `packetID + n` is still to be returned.
    fileprivate var mask: UInt32

    /// The next number; nil behind the last one.
    public mutating func next() -> UInt16? {
      guard self.mask != 0 else { return nil }
      let offset = self.mask.trailingZeroBitCount
      self.mask &= self.mask - 1
      return self.packetID &+ UInt16(offset)
    }
  }

  /// PID: sequence number of a lost packet.
  public var packetID: UInt16
  /// BLP: bit n is set when packet `packetID + 1 + n` is lost too.
  public var followingMask: UInt16

  /// Creates a pair from its fields.
  public init(packetID: UInt16, followingMask: UInt16) {
    self.packetID = packetID
    self.followingMask = followingMask
  }

  /// Number of lost packets, from 1 to 17.
  public var count: Int { 1 + self.followingMask.nonzeroBitCount }

  /// The numbers of the lost packets, in their order.
  public func makeIterator() -> Iterator {
    Iterator(packetID: self.packetID, mask: UInt32(self.followingMask) << 1 | 1)
  }

  /// The pairs for lost packets in their order, each as late in the list as its number is.
  public static func pairs(_ sequenceNumbers: some Sequence<UInt16>) -> [RTCPNackPair] {
    var pairs: [RTCPNackPair] = []
    for number in sequenceNumbers {
      if let last = pairs.last, (1...16).contains(number &- last.packetID) {
        pairs[pairs.count - 1].followingMask |= 1 << (number &- last.packetID - 1)
      } else {
        pairs.append(RTCPNackPair(packetID: number, followingMask: 0))
      }
    }
    return pairs
  }
}

/// A request for a keyframe of one source, RFC 5104 §4.3.1.
public struct RTCPFullIntraRequest: Hashable, Sendable {
  /// SSRC of the source that is to send the keyframe.
  public var ssrc: UInt32
  /// Increments with each new request, and stays the same in its repetitions.
  public var commandSequenceNumber: UInt8

  /// Creates a request; a repetition keeps the number of the request.
  public init(ssrc: UInt32, commandSequenceNumber: UInt8) {
    self.ssrc = ssrc
    self.commandSequenceNumber = commandSequenceNumber
  }
}

/// The bitrate that a receiver's path carries, draft-alvestrand-rmcat-remb-03 §2.2.
public struct RTCPReceiverEstimatedBitrate: Hashable, Sendable {
  /// Bits per second, for all of the sources together. 18 bits of it are sent, the others are rounded down to 0.
  public var bitrate: UInt64
  /// The sources, at most 255.
  public var ssrcs: [UInt32]

  /// Creates an estimate in bits per second, for at most 255 sources together.
  public init(bitrate: UInt64, ssrcs: [UInt32]) {
    self.bitrate = bitrate
    self.ssrcs = ssrcs
  }

  private static let identifier: UInt32 = 0x5245_4D42
  private static let mantissaLength = 18

  /// Parses the FCI; nil when it is of another application.
  init?(parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard rest.readInteger(as: UInt32.self) == Self.identifier else { return nil }
    guard let word = rest.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "REMB") }
    let exponent = Int(word >> 18 & 0x3F)
    let mantissa = UInt64(word & 0x3_FFFF)
    guard mantissa.leadingZeroBitCount >= exponent else { throw ParsingError(.invalid, field: "BR Exp") }
    guard rest.readableBytes == 4 * Int(word >> 24) else { throw ParsingError(.invalid, field: "Num SSRC") }
    self.init(bitrate: mantissa << UInt64(exponent), ssrcs: [])
    while let ssrc = rest.readInteger(as: UInt32.self) { self.ssrcs.append(ssrc) }
  }

  func serialize(into buffer: inout ByteBuffer) {
    precondition(self.ssrcs.count <= 255, "the count has 8 bits")
    let exponent = max(0, 64 - self.bitrate.leadingZeroBitCount - Self.mantissaLength)
    let mantissa = UInt32(truncatingIfNeeded: self.bitrate >> UInt64(exponent))
    buffer.writeMultipleIntegers(
      Self.identifier, UInt32(self.ssrcs.count) << 24 | UInt32(exponent) << 18 | mantissa)
    for ssrc in self.ssrcs { buffer.writeInteger(ssrc) }
  }
}
