internal import CLibav

/// Memory of frames that replace those of a decoder. Used by one thread at a time.
final class AVFramePool {
  private var pool: OpaquePointer?
  private var length: Int32 = 0
  private static let alignment: Int32 = 32

  deinit {
    av_buffer_pool_uninit(&self.pool)
  }

  /// A frame in a pixel format, with the size and the properties of another one; nil without memory. Freed by its owner.
  ///
  /// - Parameter height: Its height; nil for that of the other one.
  func frame(
    _ format: AVPixelFormat, like frame: UnsafeMutablePointer<AVFrame>, height: Int32? = nil
  ) -> UnsafeMutablePointer<AVFrame>? {
    let (width, height) = (frame.pointee.width, height ?? frame.pointee.height)
    let length = av_image_get_buffer_size(format, width, height, Self.alignment)
    guard length > 0 else { return nil }
    if length != self.length {
      av_buffer_pool_uninit(&self.pool)
      self.pool = av_buffer_pool_init(Int(length) + Int(Self.alignment), nil)
      self.length = length
    }
    var allocated = av_frame_alloc()
    guard let output = allocated else { return nil }
    output.pointee.buf.0 = av_buffer_pool_get(self.pool)
    guard let buffer = output.pointee.buf.0, av_frame_copy_props(output, frame) >= 0,
      withUnsafeMutablePointer(
        to: &output.pointee.data,
        { data in
          withUnsafeMutablePointer(to: &output.pointee.linesize) { lines in
            data.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { data in
              lines.withMemoryRebound(to: Int32.self, capacity: 8) { lines in
                av_image_fill_arrays(data, lines, buffer.pointee.data, format, width, height, Self.alignment)
              }
            }
          }
        }) >= 0
    else {
      av_frame_free(&allocated)
      return nil
    }
    (output.pointee.format, output.pointee.width, output.pointee.height) = (format.rawValue, width, height)
    return output
  }
}
