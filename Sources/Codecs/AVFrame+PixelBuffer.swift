internal import CLibav
internal import Media

extension UnsafeMutablePointer<AVFrame> {
  /// Makes this empty frame refer to an I420 buffer, which is retained until libavcodec releases it.
  func fill(borrowing buffer: PixelBuffer) {
    self.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    self.pointee.width = Int32(buffer.format.width)
    self.pointee.height = Int32(buffer.format.height)
    self.pointee.data.0 = buffer.unsafePlane(0).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.data.1 = buffer.unsafePlane(1).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.data.2 = buffer.unsafePlane(2).baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.pointee.linesize.0 = Int32(buffer.format.bytesPerRow[0])
    self.pointee.linesize.1 = Int32(buffer.format.bytesPerRow[1])
    self.pointee.linesize.2 = Int32(buffer.format.bytesPerRow[2])
    // A frame without a reference-counted buffer would be copied by avcodec_send_frame.
    self.pointee.buf.0 = av_buffer_create(
      self.pointee.data.0, buffer.unsafePlane(0).count,
      { opaque, _ in Unmanaged<PixelBuffer>.fromOpaque(opaque!).release() },
      Unmanaged.passRetained(buffer).toOpaque(), AV_BUFFER_FLAG_READONLY)
  }
}
