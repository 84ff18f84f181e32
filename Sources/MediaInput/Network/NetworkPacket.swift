internal import Bitstreams
internal import CLibav
internal import Media
internal import NIOCore

/// A packet of a network source or publisher, with timestamps on its sender's clock and on the stream's clock.
struct NetworkPacket {
  private enum Content {
    /// Payload of a sample, which is not copied before a decoder takes it.
    case sample(ByteBuffer)
    case demuxed(LibavPacket)
  }

  private let content: Content
  let kind: MediaKind
  /// Whether the sender marks the packet as a random access point.
  let isKeyframe: Bool
  /// Decode time on the sender's clock, in nanoseconds; nil when unknown.
  var decodeTime: Int64?
  var presentationTime: Int64?
  var duration: MediaDuration?
  /// Timestamps on the stream's clock.
  var times: SourceTimeline.Times

  /// A packet with the payload and the times of a sample.
  ///
  /// - Parameter times: Timestamps on the stream's clock.
  init(_ sample: EncodedSample, times: SourceTimeline.Times = .init(decode: .zero, presentation: .zero)) {
    self.content = .sample(sample.payload)
    self.kind = sample.kind
    self.isKeyframe = sample.isKeyframe
    self.decodeTime = sample.decodeTime.nanoseconds
    self.presentationTime = sample.presentationTime.nanoseconds
    self.duration = sample.duration > .zero ? sample.duration : nil
    self.times = times
  }

  /// A packet that libavformat has read, without times.
  init(_ packet: LibavPacket, kind: MediaKind) {
    self.content = .demuxed(packet)
    self.kind = kind
    self.isKeyframe = packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0
    self.times = .init(decode: .zero, presentation: .zero)
  }

  /// Number of compressed bytes.
  var byteCount: Int {
    switch self.content {
    case .sample(let payload): payload.readableBytes
    case .demuxed(let packet): packet.bytes.count
    }
  }

  /// The compressed bytes; a copy of those that libavformat has read.
  var bytes: ByteBuffer {
    switch self.content {
    case .sample(let payload): payload
    case .demuxed(let packet): ByteBuffer(bytes: packet.bytes)
    }
  }

  /// Whether the frame is decoded, since others refer to it, and not shown: it precedes the start of an edit list.
  var isHidden: Bool {
    if case .demuxed(let packet) = self.content {
      packet.pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0
    } else {
      false
    }
  }

  /// Whether a sample of H.264 has a recovery point; false for packets of a demuxer, which marks them.
  var hasRecoveryPoint: Bool {
    if case .sample(let payload) = self.content { H264AccessUnit.hasRecoveryPoint(in: payload) } else { false }
  }

  /// The track's new codec parameters, where they change with this packet.
  var newExtradata: [UInt8]? {
    if case .demuxed(let packet) = self.content { packet.newExtradata } else { nil }
  }

  /// The packet for a decoder, which takes its content, with the times on the stream's clock in nanoseconds; nil when memory is
  /// exhausted. To be called once.
  func makeLibavPacket() -> LibavPacket? {
    let made: LibavPacket?
    switch self.content {
    case .sample(let payload): made = LibavPacket(payload, isKeyframe: self.isKeyframe)
    case .demuxed(let packet): made = packet
    }
    made?.pointer.pointee.dts = self.times.decode.nanoseconds
    // Frames are in the order of their presentation, and have the decode times of the packets after which they come.
    made?.pointer.pointee.pts =
      self.presentationTime == nil ? vidicon_av_nopts_value : self.times.presentation.nanoseconds
    return made
  }
}

/// A packet of libavformat and libavcodec.
final class LibavPacket {
  /// The packet, freed with this object.
  let pointer: UnsafeMutablePointer<AVPacket>

  /// An empty packet; nil when memory is exhausted.
  init?() {
    guard let pointer = av_packet_alloc() else { return nil }
    self.pointer = pointer
  }

  /// A packet with a copy of a payload; nil when memory is exhausted.
  convenience init?(_ payload: ByteBuffer, isKeyframe: Bool) {
    self.init()
    guard av_new_packet(self.pointer, Int32(clamping: payload.readableBytes)) == 0 else { return nil }
    if isKeyframe { self.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
    guard let data = self.pointer.pointee.data else { return }
    payload.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyMemory(from: bytes)
    }
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.pointer
    av_packet_free(&packet)
  }

  /// The compressed bytes.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self.pointer.pointee.data, count: Int(self.pointer.pointee.size))
  }

  /// New codec parameters of the stream, where they change with this packet.
  fileprivate var newExtradata: [UInt8]? {
    var size = 0
    guard let data = av_packet_get_side_data(self.pointer, AV_PKT_DATA_NEW_EXTRADATA, &size), size > 0 else {
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: data, count: size))
  }
}
