internal import Bitstreams
internal import CLibav
internal import Media
internal import NIOCore

/// A packet of a network source, with timestamps on the source's clock and on the stream's clock.
final class NetworkPacket {
  let pointer: UnsafeMutablePointer<AVPacket>
  var kind = MediaKind.video
  /// Decode time on the source's clock, in nanoseconds; nil when unknown.
  var decodeTime: Int64?
  var presentationTime: Int64?
  var duration: MediaDuration?
  /// Timestamps on the stream's clock.
  var times = SourceTimeline.Times(decode: .zero, presentation: .zero)

  /// An empty packet; nil when memory is exhausted.
  init?() {
    guard let pointer = av_packet_alloc() else { return nil }
    self.pointer = pointer
  }

  /// A packet of zeros, for tests; nil when memory is exhausted.
  convenience init?(byteCount: Int, isKeyframe: Bool) {
    self.init()
    guard av_new_packet(self.pointer, Int32(clamping: byteCount)) == 0 else { return nil }
    if isKeyframe { self.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
  }

  /// A packet with the bytes and the times of a sample; nil when memory is exhausted.
  convenience init?(_ sample: EncodedSample) {
    self.init(byteCount: sample.payload.readableBytes, isKeyframe: sample.isKeyframe)
    self.kind = sample.kind
    self.decodeTime = sample.decodeTime.nanoseconds
    self.presentationTime = sample.presentationTime.nanoseconds
    self.duration = sample.duration > .zero ? sample.duration : nil
    guard let data = self.pointer.pointee.data else { return }
    sample.payload.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyMemory(from: bytes)
    }
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.pointer
    av_packet_free(&packet)
  }

  var byteCount: Int { Int(self.pointer.pointee.size) }

  /// Whether the demuxer marks the packet as a random access point.
  var isKeyframe: Bool { self.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }

  /// Whether the frame is decoded, since others refer to it, and not shown: it precedes the start of an edit list.
  var isHidden: Bool { self.pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }

  /// Whether a sample of H.264 has a recovery point; false for packets of a demuxer with start codes, which marks them.
  var hasRecoveryPoint: Bool { H264AccessUnit.hasRecoveryPoint(in: ByteBuffer(bytes: self.bytes)) }

  /// The compressed bytes.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self.pointer.pointee.data, count: self.byteCount)
  }

  /// The track's new codec parameters, where they change with this packet.
  var newExtradata: [UInt8]? {
    var size = 0
    guard let data = av_packet_get_side_data(self.pointer, AV_PKT_DATA_NEW_EXTRADATA, &size), size > 0 else {
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: data, count: size))
  }
}
