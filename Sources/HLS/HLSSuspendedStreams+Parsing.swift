package import Media
package import NIOCore

extension HLSSuspendedStreams {
  /// Limits of what is read; a stream of this program is far below them.
  static let maximumStreamCount = 256
  fileprivate static let maximumNameLength = 1024
  fileprivate static let maximumTokenLength = 64
  fileprivate static let maximumSegmentCount = 512
  fileprivate static let maximumPartCount = 4096
  fileprivate static let maximumTarget = 3600
  /// Numbers in names of files are at most 2⁵³, also later ones.
  fileprivate static let maximumNumber = 1 << 52

  /// Parses the bytes of ``serialize(into:)``. A stream of which a playlist would break a rule is left out, and one of ``problems``.
  ///
  /// - Throws: `ParsingError` for bytes that are not divided into streams.
  package init(parsing bytes: ByteBuffer) throws(ParsingError) {
    var reader = SuspendedStreamReader(bytes)
    guard try reader.integer("signature", as: UInt32.self) == Self.signature else {
      throw reader.error(.invalid, "signature")
    }
    guard try reader.integer("version", as: UInt8.self) == Self.version else {
      throw reader.error(.unsupported, "version")
    }
    let time = try reader.number("time", as: Int64.self, in: 0...Int.max)
    var (streams, problems) = ([Stream](), [ParsingError]())
    for _ in 0..<(try reader.number("stream count", as: UInt16.self, in: 0...Self.maximumStreamCount)) {
      var part = try reader.part("stream")
      do throws(ParsingError) {
        streams.append(try Stream(parsing: &part))
      } catch {
        problems.append(error)
      }
    }
    guard try reader.integer("signature at the end", as: UInt32.self) == Self.signature, reader.isAtEnd else {
      throw reader.error(.invalid, "signature at the end")
    }
    self.init(unixTime: MediaDuration(nanoseconds: Int64(time)), streams: streams)
    self.problems = problems
  }
}

extension HLSSuspendedStreams.Stream {
  fileprivate init(parsing reader: inout SuspendedStreamReader) throws(ParsingError) {
    let name = try reader.text("name", maximumLength: HLSSuspendedStreams.maximumNameLength)
    let token = try reader.text("token", maximumLength: HLSSuspendedStreams.maximumTokenLength)
    guard token.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isASCIILetterOrDigit }) else {
      throw reader.error(.invalid, "token")
    }
    let flags = try reader.number("flags", as: UInt8.self, in: 0...3)
    let maximum = HLSSuspendedStreams.maximumNumber
    let target = try reader.number("target duration", as: Int64.self, in: 1...HLSSuspendedStreams.maximumTarget)
    let partTarget = try reader.number("part target", as: Int64.self, in: 1...(target * 1_000_000_000))
    var state = HLSStreamState(
      token: token, targetSeconds: Int64(target), partTarget: MediaDuration(nanoseconds: Int64(partTarget)),
      hasIndependentSegments: flags & 2 != 0,
      nextNumber: try reader.number("media sequence number", as: Int64.self, in: 0...maximum),
      discontinuities: try reader.number("discontinuity sequence number", as: Int64.self, in: 0...maximum),
      initialization: try reader.number("initialization segment", as: Int64.self, in: 1...maximum),
      revision: try reader.number("revision", as: Int64.self, in: 0...maximum),
      reportRevision: try reader.number("revision", as: Int64.self, in: 0...maximum))
    let counts = 0...HLSSuspendedStreams.maximumSegmentCount
    for _ in 0..<(try reader.number("initialization segment count", as: UInt16.self, in: counts)) {
      let number = try reader.number("initialization segment", as: Int64.self, in: 1...state.initialization)
      state.initializations[number] = try reader.bytesOfOwn("initialization segment")
    }
    let count = try reader.number("segment count", as: UInt16.self, in: counts)
    guard count <= state.nextNumber else { throw reader.error(.invalid, "segment count") }
    state.retiredCount = try reader.number("retired segment count", as: UInt16.self, in: 0...count)
    for index in 0..<count {
      let number = state.nextNumber - count + index
      state.segments.append(try HLSSegment(parsing: &reader, number: number, of: state))
    }
    // Counted from the end: each segment has the discontinuities up to it.
    var discontinuities = state.discontinuities
    for index in state.segments.indices.reversed() {
      state.segments[index].discontinuities = discontinuities
      if state.segments[index].isDiscontinuous { discontinuities -= 1 }
    }
    guard discontinuities >= 0 else { throw reader.error(.invalid, "discontinuity sequence number") }
    guard reader.isAtEnd else { throw reader.error(.invalid, "stream") }
    self.init(name: name, isProtected: flags & 1 != 0, state: state)
  }
}

extension HLSSegment {
  fileprivate init(parsing reader: inout SuspendedStreamReader, number: Int, of state: HLSStreamState)
    throws(ParsingError)
  {
    let time = try reader.number("date", as: Int64.self, in: 0...Int.max)
    let flags = try reader.number("flags", as: UInt8.self, in: 0...1)
    let initialization = try reader.number("initialization segment", as: Int64.self, in: 1...state.initialization)
    guard state.initializations[initialization] != nil else { throw reader.error(.missing, "initialization segment") }
    // The times of the other process's clock are not needed: playlists have durations and dates.
    self.init(
      number: number, start: .zero, end: .zero, unixTime: MediaDuration(nanoseconds: Int64(time)),
      isDiscontinuous: flags & 1 != 0, discontinuities: 0, initialization: initialization,
      transportStream: ByteBuffer())
    for _ in 0..<(try reader.number("part count", as: UInt16.self, in: 1...HLSSuspendedStreams.maximumPartCount)) {
      let duration = try reader.number("part duration", as: Int64.self, in: 1...Int(state.partTarget.nanoseconds))
      let isIndependent = try reader.number("flags", as: UInt8.self, in: 0...1) == 1
      let body = try reader.bytes("part")
      self.parts.append(
        HLSPart(duration: MediaDuration(nanoseconds: Int64(duration)), isIndependent: isIndependent, body: body))
      self.end += MediaDuration(nanoseconds: Int64(duration))
    }
    // No `EXTINF` rounds to more than the target duration, RFC 8216 §4.3.3.1.
    guard self.duration < .seconds(state.targetSeconds) + .milliseconds(500) else {
      throw reader.error(.tooLarge, "segment duration")
    }
    self.transportStream = try reader.bytesOfOwn("segment")
    self.join()
  }
}

extension Character {
  fileprivate var isASCIILetterOrDigit: Bool { self.isASCII && (self.isLetter || self.isNumber) }
}

/// Reads fields with their limits.
private struct SuspendedStreamReader {
  private var rest: ByteBuffer
  /// Position of the first byte of the buffer.
  private let start: Int

  init(_ bytes: ByteBuffer) { self.init(bytes, at: 0) }

  private init(_ bytes: ByteBuffer, at position: Int) {
    self.rest = bytes
    self.start = position - bytes.readerIndex
  }

  var isAtEnd: Bool { self.rest.readableBytes == 0 }

  func error(_ code: ParsingError.Code, _ field: String) -> ParsingError {
    ParsingError(code, field: field, offset: self.start + self.rest.readerIndex)
  }

  mutating func integer<Value: FixedWidthInteger>(
    _ field: String, as type: Value.Type
  ) throws(ParsingError) -> Value {
    guard let value = self.rest.readInteger(as: type) else { throw self.error(.truncated, field) }
    return value
  }

  /// An integer within a range.
  mutating func number(
    _ field: String, as type: (some FixedWidthInteger).Type, in range: ClosedRange<Int>
  ) throws(ParsingError) -> Int {
    guard let value = Int(exactly: try self.integer(field, as: type)), range.contains(value) else {
      throw self.error(.invalid, field)
    }
    return value
  }

  /// Bytes, at least one, behind their length.
  mutating func bytes(_ field: String) throws(ParsingError) -> ByteBuffer {
    let length = try self.number(field, as: UInt32.self, in: 1...Int(UInt32.max))
    guard let bytes = self.rest.readSlice(length: length) else { throw self.error(.truncated, field) }
    return bytes
  }

  /// Likewise in memory of their own: the bytes of all streams are freed when they are read.
  mutating func bytesOfOwn(_ field: String) throws(ParsingError) -> ByteBuffer {
    ByteBuffer(bytes: try self.bytes(field).readableBytesView)
  }

  /// A reader of bytes behind their length.
  mutating func part(_ field: String) throws(ParsingError) -> SuspendedStreamReader {
    let bytes = try self.bytes(field)
    return SuspendedStreamReader(bytes, at: self.start + self.rest.readerIndex - bytes.readableBytes)
  }

  /// Text of at least one character behind its length in bytes.
  mutating func text(_ field: String, maximumLength: Int) throws(ParsingError) -> String {
    let length = try self.number(field, as: UInt16.self, in: 1...maximumLength)
    guard let bytes = self.rest.readSlice(length: length) else { throw self.error(.truncated, field) }
    guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
      throw self.error(.invalid, field)
    }
    return text
  }
}
