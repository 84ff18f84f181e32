internal import CLibav
internal import Media

/// A packet of a network source, with its times on the source's clock, then on the streams'.
final class NetworkPacket {
  let pointer: UnsafeMutablePointer<AVPacket>
  var kind = MediaKind.video
  /// On the source's clock, in nanoseconds.
  var decodeTime: Int64?
  var presentationTime: Int64?
  var duration: MediaDuration?
  /// On the streams' clock.
  var times = SourceTimeline.Times(decode: .zero, presentation: .zero)

  /// An empty one; nil when there is no memory left.
  init?() {
    guard let pointer = av_packet_alloc() else { return nil }
    self.pointer = pointer
  }

  /// One of zeros, for tests; nil when there is no memory left.
  convenience init?(byteCount: Int, isKeyframe: Bool) {
    self.init()
    guard av_new_packet(self.pointer, Int32(clamping: byteCount)) == 0 else { return nil }
    if isKeyframe { self.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.pointer
    av_packet_free(&packet)
  }

  var byteCount: Int { Int(self.pointer.pointee.size) }

  /// Whether the demuxer says that decoding can start here.
  var isKeyframe: Bool { self.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0 }

  /// The compressed bytes.
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self.pointer.pointee.data, count: self.byteCount)
  }

  /// What the track goes on with: its parameters, where they change with this packet.
  var newExtradata: [UInt8]? {
    var size = 0
    guard let data = av_packet_get_side_data(self.pointer, AV_PKT_DATA_NEW_EXTRADATA, &size), size > 0 else {
      return nil
    }
    return Array(UnsafeRawBufferPointer(start: data, count: size))
  }
}
