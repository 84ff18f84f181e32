package import Media
package import NIOCore

/// Streams of HLS that a process leaves to the next one, and their bytes, in a format of this program and network byte order:
///
/// | bytes | field |
/// |------:|-------|
/// | 4 | signature, "VHLS" |
/// | 1 | version, 1 |
/// | 8 | Unix time in nanoseconds |
/// | 2 | number of streams |
/// | … | for each stream: name, token, flags, durations, numbers, initialization segments, segments with their parts |
/// | 4 | signature |
///
/// Streams, bytes and texts have their length in front. The numbers and discontinuities of segments are not written: they end with
/// those of the stream.
package struct HLSSuspendedStreams: Sendable {
  /// Signature at both ends.
  static let signature: UInt32 = 0x5648_4C53
  /// Version of the format; another one is refused.
  static let version: UInt8 = 1
  /// Time after which players do not wait any more, and start again.
  package static let lifetime = MediaDuration.seconds(60)
  /// Maximum number of bytes of all streams.
  package static let maximumByteCount = 128 << 20

  /// A stream.
  package struct Stream: Sendable {
    /// Name of the stream.
    package var name: String
    /// Whether viewers had to have a password or a token: its segments are for no others.
    package var isProtected: Bool
    /// State of its main rendition.
    package var state: HLSStreamState

    /// Creates a stream with the name under which it is served.
    package init(name: String, isProtected: Bool, state: HLSStreamState) {
      self.name = name
      self.isProtected = isProtected
      self.state = state
    }
  }

  /// Unix time at which the streams have stopped.
  package var unixTime: MediaDuration
  /// The streams that had viewers.
  package var streams: [Stream]
  /// Errors of streams that cannot be continued.
  package internal(set) var problems: [ParsingError] = []

  /// Creates a list of streams that have stopped.
  package init(unixTime: MediaDuration, streams: [Stream]) {
    self.unixTime = unixTime
    self.streams = streams
  }

  /// Whether players may still wait at a Unix time.
  package func isRecent(at unixTime: MediaDuration) -> Bool {
    unixTime >= self.unixTime && unixTime - self.unixTime < Self.lifetime
  }

  /// Writes the streams, but for those with which there would be more than the maximum number of bytes, or of streams.
  package func serialize(into buffer: inout ByteBuffer) {
    let end = buffer.writerIndex + Self.maximumByteCount - MemoryLayout.size(ofValue: Self.signature)
    buffer.writeInteger(Self.signature)
    buffer.writeInteger(Self.version)
    buffer.writeInteger(self.unixTime.nanoseconds)
    let countIndex = buffer.writerIndex
    buffer.writeInteger(UInt16(0))
    var count: UInt16 = 0
    for stream in self.streams.prefix(Self.maximumStreamCount) {
      let index = buffer.writerIndex
      buffer.writeInteger(UInt32(0))
      let start = buffer.writerIndex
      stream.serialize(into: &buffer)
      guard buffer.writerIndex <= end else {
        buffer.moveWriterIndex(to: index)
        continue
      }
      buffer.setInteger(UInt32(buffer.writerIndex - start), at: index)
      count += 1
    }
    buffer.setInteger(count, at: countIndex)
    buffer.writeInteger(Self.signature)
  }
}

extension HLSSuspendedStreams.Stream {
  fileprivate func serialize(into buffer: inout ByteBuffer) {
    let state = self.state
    buffer.writeText(self.name)
    buffer.writeText(state.token)
    buffer.writeInteger(HLSSuspendedStreams.flags(self.isProtected, state.hasIndependentSegments))
    buffer.writeInteger(state.targetSeconds)
    buffer.writeInteger(state.partTarget.nanoseconds)
    for number in [
      state.nextNumber, state.discontinuities, state.initialization, state.revision, state.reportRevision,
    ] { buffer.writeInteger(Int64(number)) }
    buffer.writeInteger(UInt16(clamping: state.initializations.count))
    for (number, bytes) in state.initializations.sorted(by: { $0.key < $1.key }) {
      buffer.writeInteger(Int64(number))
      buffer.writeBytesWithLength(bytes)
    }
    buffer.writeInteger(UInt16(clamping: state.segments.count))
    buffer.writeInteger(UInt16(clamping: state.retiredCount))
    for segment in state.segments {
      buffer.writeInteger(segment.unixTime.nanoseconds)
      buffer.writeInteger(HLSSuspendedStreams.flags(segment.isDiscontinuous))
      buffer.writeInteger(Int64(segment.initialization))
      buffer.writeInteger(UInt16(clamping: segment.parts.count))
      for part in segment.parts {
        buffer.writeInteger(part.duration.nanoseconds)
        buffer.writeInteger(HLSSuspendedStreams.flags(part.isIndependent))
        buffer.writeBytesWithLength(part.body)
      }
      buffer.writeBytesWithLength(segment.transportStream)
    }
  }
}

extension HLSSuspendedStreams {
  /// A byte of flags, the first in the lowest bit.
  fileprivate static func flags(_ flags: Bool...) -> UInt8 {
    flags.reversed().reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
  }
}

extension ByteBuffer {
  fileprivate mutating func writeText(_ text: String) {
    self.writeInteger(UInt16(clamping: text.utf8.count))
    self.writeString(text)
  }

  fileprivate mutating func writeBytesWithLength(_ bytes: ByteBuffer) {
    self.writeInteger(UInt32(clamping: bytes.readableBytes))
    self.writeImmutableBuffer(bytes)
  }
}
