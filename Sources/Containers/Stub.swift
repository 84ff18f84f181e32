public import Media
public import NIOCore
public struct TransportStreamMuxer: Sendable {
  public init(_ descriptions: [CodecDescription]) {}
  public mutating func startSegment(into: inout ByteBuffer) { into.writeInteger(UInt8(0x47)) }
  public mutating func mux(_ sample: EncodedSample, into: inout ByteBuffer) { into.writeImmutableBuffer(sample.payload) }
  public mutating func flush(into: inout ByteBuffer) {}
  public mutating func change(to: [CodecDescription]) {}
}
public struct FragmentedMP4Muxer: Sendable {
  public init(_ descriptions: [CodecDescription]) {}
  public func initializationSegment() -> ByteBuffer { ByteBuffer(string: "init") }
  public mutating func fragment(_ samples: [EncodedSample]) -> ByteBuffer {
    var b = ByteBuffer(string: "moof")
    for s in samples { b.writeImmutableBuffer(s.payload) }
    return b
  }
}
