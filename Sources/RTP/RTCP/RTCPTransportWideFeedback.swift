package import Media
package import NIOCore

/// Arrival times of packets by their transport-wide sequence numbers,
/// draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1.
///
/// ```
/// |      base sequence number     |      packet status count      |
/// |                 reference time                | fb pkt. count |
/// |          packet chunk         |         packet chunk …        |
/// |  recv delta   |  recv delta … (1 or 2 bytes), padding         |
/// ```
public struct RTCPTransportWideFeedback: Hashable, Sendable {
  /// Number and time of a packet that arrived.
  public struct Arrival: Hashable, Sendable {
    /// Transport-wide sequence number of the packet, modulo 65,536.
    public var sequenceNumber: UInt16
    /// Time since the previous arrival, or since the reference time, in 250 µs; negative when packets were reordered.
    public var delta: Int16

    /// Creates an arrival; the delta to the previous one is in 250 µs.
    public init(sequenceNumber: UInt16, delta: Int16) {
      self.sequenceNumber = sequenceNumber
      self.delta = delta
    }
  }

  /// Number of the first packet that the feedback covers.
  public var baseSequenceNumber: UInt16
  /// Number of packets that the feedback covers; those without an arrival were lost.
  public var statusCount: UInt16
  /// Reference time in 64 ms, 24 bits with a sign, since any zero.
  public var referenceTime: Int32
  /// Number of this feedback, which wraps; shows lost feedback.
  public var feedbackCount: UInt8
  /// The packets that arrived, in the order of their numbers.
  public var arrivals: [Arrival]

  /// Creates feedback.
  ///
  /// - Parameter arrivals: In the order of their numbers, all of them within the covered range.
  public init(
    baseSequenceNumber: UInt16, statusCount: UInt16, referenceTime: Int32, feedbackCount: UInt8, arrivals: [Arrival]
  ) {
    self.baseSequenceNumber = baseSequenceNumber
    self.statusCount = statusCount
    self.referenceTime = referenceTime
    self.feedbackCount = feedbackCount
    self.arrivals = arrivals
  }

  /// Status of a packet, 2 bits.
  private enum Symbol: UInt16 {
    case lost = 0
    case smallDelta = 1
    case largeDelta = 2
  }

  /// - Parameter body: The feedback control information.
  package init(parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard let (base, count, time) = rest.readMultipleIntegers(as: (UInt16, UInt16, UInt32).self) else {
      throw ParsingError(.truncated, field: "transport-cc")
    }
    self.init(
      baseSequenceNumber: base, statusCount: count,
      // The shifts carry the sign of 24 bits into 32.
      referenceTime: Int32(bitPattern: time) >> 8, feedbackCount: UInt8(truncatingIfNeeded: time), arrivals: [])
    var isLarge: [Bool] = []
    var position = 0
    func arrive(_ symbol: UInt16, _ number: Int) throws(ParsingError) {
      guard let symbol = Symbol(rawValue: symbol) else { throw ParsingError(.invalid, field: "packet chunk") }
      guard symbol != .lost else { return }
      self.arrivals.append(Arrival(sequenceNumber: base &+ UInt16(truncatingIfNeeded: number), delta: 0))
      isLarge.append(symbol == .largeDelta)
    }
    while position < Int(count) {
      guard let chunk = rest.readInteger(as: UInt16.self) else { throw ParsingError(.truncated, field: "packet chunk") }
      let remaining = Int(count) - position
      if chunk >> 15 == 0 {
        // Run length chunk: 2 bits of symbol, 13 of length.
        let length = min(Int(chunk & 0x1FFF), remaining)
        guard length > 0 else { throw ParsingError(.invalid, field: "packet chunk") }
        let symbol = chunk >> 13 & 0b11
        // Each arrival has at least one byte of delta: without them the run is not worth its memory.
        guard symbol == Symbol.lost.rawValue || self.arrivals.count + length <= body.readableBytes else {
          throw ParsingError(.truncated, field: "recv delta")
        }
        if symbol != Symbol.lost.rawValue { for offset in 0..<length { try arrive(symbol, position + offset) } }
        position += length
      } else {
        // Status vector chunk: 14 symbols of 1 bit, or 7 of 2 bits.
        let width = chunk & 0x4000 == 0 ? 1 : 2
        let length = min(14 / width, remaining)
        for offset in 0..<length {
          try arrive(chunk >> UInt16(14 - width * (offset + 1)) & (width == 1 ? 0b1 : 0b11), position + offset)
        }
        position += length
      }
    }
    for index in self.arrivals.indices {
      guard
        let delta = isLarge[index] ? rest.readInteger(as: Int16.self) : rest.readInteger(as: UInt8.self).map(Int16.init)
      else { throw ParsingError(.truncated, field: "recv delta") }
      self.arrivals[index].delta = delta
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    let start = buffer.writerIndex
    buffer.writeMultipleIntegers(
      self.baseSequenceNumber, self.statusCount,
      UInt32(bitPattern: self.referenceTime << 8) | UInt32(self.feedbackCount))
    var symbols = [Symbol](repeating: .lost, count: Int(self.statusCount))
    for arrival in self.arrivals {
      let position = Int(arrival.sequenceNumber &- self.baseSequenceNumber)
      precondition(position < symbols.count, "an arrival is within the covered range")
      symbols[position] = (0...255).contains(arrival.delta) ? .smallDelta : .largeDelta
    }
    var rest = symbols[...]
    while let first = rest.first {
      let run = rest.prefix(0x1FFF).prefix { $0 == first }.count
      if run >= 7 || run == rest.count {
        buffer.writeInteger(first.rawValue << 13 | UInt16(run))
        rest = rest.dropFirst(run)
      } else {
        var chunk: UInt16 = 0b11 << 14
        for (offset, symbol) in rest.prefix(7).enumerated() { chunk |= symbol.rawValue << UInt16(12 - 2 * offset) }
        buffer.writeInteger(chunk)
        rest = rest.dropFirst(7)
      }
    }
    for arrival in self.arrivals {
      if (0...255).contains(arrival.delta) {
        buffer.writeInteger(UInt8(arrival.delta))
      } else {
        buffer.writeInteger(arrival.delta)
      }
    }
    buffer.writeRepeatingByte(0, count: -(buffer.writerIndex - start) & 3)
  }
}
