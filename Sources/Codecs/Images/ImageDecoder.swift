internal import CLibav

/// Decodes PNG and JPEG files with libavcodec.
package enum ImageDecoder {
  /// Decodes red, green, blue and alpha of each pixel, row by row; nil when the bytes do not decode to the size in the header.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - header: The file's header, whose size the caller has checked.
  ///   - maximumPixelCount: Limit of the decoder in pixels, whatever the file contains after its header.
  package static func decode(_ bytes: [UInt8], _ header: ImageHeader, maximumPixelCount: Int) -> [UInt8]? {
    LibavLog.silence()
    var context = avcodec_alloc_context3(
      avcodec_find_decoder(header.format == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG))
    var packet = av_packet_alloc()
    var frame = av_frame_alloc()
    defer {
      av_frame_free(&frame)
      av_packet_free(&packet)
      avcodec_free_context(&context)
    }
    guard let decoder = context, let data = packet, let decoded = frame else { return nil }
    decoder.pointee.thread_count = 1
    decoder.pointee.max_pixels = Int64(maximumPixelCount)
    decoder.pointee.err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE
    guard avcodec_open2(decoder, decoder.pointee.codec, nil) == 0, av_new_packet(data, Int32(bytes.count)) == 0 else {
      return nil
    }
    bytes.withUnsafeBytes {
      UnsafeMutableRawPointer(data.pointee.data).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
    }
    guard avcodec_send_packet(decoder, data) == 0, avcodec_send_packet(decoder, nil) == 0,
      avcodec_receive_frame(decoder, decoded) == 0, decoded.pointee.decode_error_flags == 0,
      Int(decoded.pointee.width) == header.width, Int(decoded.pointee.height) == header.height
    else { return nil }
    return Self.pixels(of: decoded)
  }

  private static func pixels(of frame: UnsafeMutablePointer<AVFrame>) -> [UInt8]? {
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    let scaler = sws_getContext(
      width, height, AVPixelFormat(frame.pointee.format), width, height, AV_PIX_FMT_RGBA, SWS_POINT, nil, nil, nil)
    // A buffer of its own, since the scaler writes beyond the end of a row.
    var converted = av_frame_alloc()
    defer {
      av_frame_free(&converted)
      sws_freeContext(scaler)
    }
    guard let scaler, let target = converted else { return nil }
    (target.pointee.width, target.pointee.height) = (width, height)
    target.pointee.format = AV_PIX_FMT_RGBA.rawValue
    guard av_frame_get_buffer(target, 0) == 0, sws_scale_frame(scaler, target, frame) >= 0,
      let rows = target.pointee.data.0
    else { return nil }
    let (rowLength, stride) = (4 * Int(width), Int(target.pointee.linesize.0))
    return [UInt8](unsafeUninitializedCapacity: rowLength * Int(height)) { pixels, count in
      for row in 0..<Int(height) {
        pixels.baseAddress?.advanced(by: row * rowLength).update(from: rows + row * stride, count: rowLength)
      }
      count = rowLength * Int(height)
    }
  }
}
