package import CLibav
package import Media

/// Converts frames of unsupported pixel formats through libswscale.
package final class SwscaleConverter {
  /// A frame in memory of another library.
  package struct Source {
    var planes: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
    var bytesPerRow: (Int32, Int32, Int32, Int32)
    var width: Int32
    var height: Int32
    var pixelFormat: AVPixelFormat
    var isFullRange: Bool
    /// Matrix of Y'CbCr pixels; nil for that of the output.
    var matrix: ColorMatrix?
    /// Order of the fields of an interlaced frame; nil for a progressive one.
    var fields: FieldOrder?

    package init(
      planes: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?),
      bytesPerRow: (Int32, Int32, Int32, Int32), width: Int32, height: Int32, pixelFormat: AVPixelFormat,
      isFullRange: Bool, matrix: ColorMatrix? = nil, fields: FieldOrder? = nil
    ) {
      self.planes = planes
      self.bytesPerRow = bytesPerRow
      self.width = width
      self.height = height
      self.pixelFormat = pixelFormat
      self.isFullRange = isFullRange
      self.matrix = matrix
      self.fields = fields
    }

    /// A decoder's frame, which was made progressive before.
    init(_ frame: UnsafeMutablePointer<AVFrame>) {
      let (data, rows) = (frame.pointee.data, frame.pointee.linesize)
      self.init(
        planes: (UnsafePointer(data.0), UnsafePointer(data.1), UnsafePointer(data.2), UnsafePointer(data.3)),
        bytesPerRow: (rows.0, rows.1, rows.2, rows.3), width: frame.pointee.width, height: frame.pointee.height,
        pixelFormat: AVPixelFormat(frame.pointee.format), isFullRange: frame.pointee.color_range == AVCOL_RANGE_JPEG,
        matrix: DecodedFrameConverter.statedMatrix(frame.pointee.colorspace))
    }
  }

  /// Input format of the current scaler.
  private struct Input: Hashable {
    var width: Int32
    var height: Int32
    var pixelFormat: Int32
    var isFullRange: Bool
    var matrix: ColorMatrix
    /// Size of the output.
    var targetWidth: Int
    var targetHeight: Int
  }

  private let pool: VideoFramePool
  private var scaler: OpaquePointer?
  private var input: Input?
  /// Nil until the first interlaced frame.
  private var deinterlacer: Deinterlacer?

  /// - Parameter format: Format of the output.
  package init(format: VideoFormat) {
    // For the frames that the pipeline holds and those that are decoded ahead.
    self.pool = VideoFramePool(format: format, capacity: 10)
  }

  deinit {
    sws_freeContext(self.scaler)
  }

  /// Converts, makes interlaced frames progressive, and scales where the size differs.
  ///
  /// - Parameter target: Rectangle of the output that the source fills, at even places, black around it; nil for all of it.
  /// - Returns: Nil when all pooled memory is in use, or libswscale does not support the source's format.
  package func convert(
    _ source: Source, into target: (x: Int, y: Int, width: Int, height: Int)? = nil, at time: MediaTime
  ) -> VideoFrame? {
    guard let fields = source.fields else {
      self.deinterlacer?.reset()
      return self.scale(source, into: target, at: time)
    }
    let deinterlacer = self.deinterlacer ?? Deinterlacer()
    self.deinterlacer = deinterlacer
    var copy = deinterlacer.progressiveCopy(of: source, fields)
    defer { av_frame_free(&copy) }
    return copy.flatMap { self.scale(Source($0), into: target, at: time) }
  }

  private func scale(
    _ source: Source, into target: (x: Int, y: Int, width: Int, height: Int)?, at time: MediaTime
  ) -> VideoFrame? {
    let format = self.pool.format
    let target = target ?? (0, 0, format.width, format.height)
    let isWhole = target.width == format.width && target.height == format.height
    let (pixelFormat, isFullRange) = Self.withoutRange(source.pixelFormat)
    let input = Input(
      width: source.width, height: source.height, pixelFormat: pixelFormat.rawValue,
      isFullRange: isFullRange || source.isFullRange, matrix: source.matrix ?? format.colorMatrix,
      targetWidth: target.width, targetHeight: target.height)
    if input != self.input {
      self.input = input
      sws_freeContext(self.scaler)
      self.scaler = Self.makeScaler(from: input, to: format)
    }
    guard let scaler = self.scaler else { return nil }
    var isDrawn = false
    let frame = self.pool.frame(at: time) { buffer in
      if !isWhole { buffer.blacken(format.pixelFormat) }
      let planes = (0..<format.pixelFormat.planeCount).map { plane in
        let offset = format.pixelFormat.offset(
          plane: plane, x: target.x, y: target.y, bytesPerRow: format.bytesPerRow[plane])
        return buffer.unsafePlane(plane).baseAddress.map { $0 + offset }
      }
      let targetPlanes = planes.map { $0?.assumingMemoryBound(to: UInt8.self) } + [nil, nil, nil]
      let targetRows = format.bytesPerRow.map { Int32(clamping: $0) } + [0, 0, 0]
      let sourcePlanes = [source.planes.0, source.planes.1, source.planes.2, source.planes.3]
      let sourceRows = [
        source.bytesPerRow.0, source.bytesPerRow.1, source.bytesPerRow.2, source.bytesPerRow.3,
      ]
      isDrawn = sws_scale(scaler, sourcePlanes, sourceRows, 0, source.height, targetPlanes, targetRows) > 0
    }
    return isDrawn ? frame : nil
  }

  private static func makeScaler(from input: Input, to format: VideoFormat) -> OpaquePointer? {
    guard let scaler = sws_alloc_context() else { return nil }
    // The ranges must be set before the initialization, which chooses a plain copy for equal ranges.
    for (name, value) in [
      ("srcw", Int64(input.width)), ("srch", Int64(input.height)), ("src_format", Int64(input.pixelFormat)),
      ("src_range", input.isFullRange ? 1 : 0), ("dstw", Int64(input.targetWidth)), ("dsth", Int64(input.targetHeight)),
      ("dst_format", Int64(format.pixelFormat.libav.rawValue)), ("dst_range", 0), ("sws_flags", Int64(SWS_BILINEAR)),
    ] {
      av_opt_set_int(UnsafeMutableRawPointer(scaler), name, value, 0)
    }
    guard sws_init_context(scaler, nil, nil) >= 0 else {
      sws_freeContext(scaler)
      return nil
    }
    let (from, to) = (Self.coefficients(of: input.matrix), Self.coefficients(of: format.colorMatrix))
    sws_setColorspaceDetails(scaler, from, input.isFullRange ? 1 : 0, to, 0, 0, 1 << 16, 1 << 16)
    return scaler
  }

  private static func coefficients(of matrix: ColorMatrix) -> UnsafePointer<Int32>? {
    sws_getCoefficients(matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601)
  }

  /// The pixel format without the range that deprecated names imply.
  private static func withoutRange(_ format: AVPixelFormat) -> (AVPixelFormat, isFullRange: Bool) {
    switch format {
    case AV_PIX_FMT_YUVJ420P: (AV_PIX_FMT_YUV420P, true)
    case AV_PIX_FMT_YUVJ422P: (AV_PIX_FMT_YUV422P, true)
    case AV_PIX_FMT_YUVJ444P: (AV_PIX_FMT_YUV444P, true)
    case AV_PIX_FMT_YUVJ440P: (AV_PIX_FMT_YUV440P, true)
    case AV_PIX_FMT_YUVJ411P: (AV_PIX_FMT_YUV411P, true)
    default: (format, false)
    }
  }
}

extension VideoFrame {
  /// A black frame; nil when there is no memory.
  package static func black(_ format: VideoFormat, at time: MediaTime) -> VideoFrame? {
    VideoFramePool(format: format, capacity: 1).frame(at: time) { $0.blacken(format.pixelFormat) }
  }
}

extension PixelBuffer {
  /// Makes all pixels black.
  fileprivate func blacken(_ format: PixelFormat) {
    for plane in 0..<format.planeCount {
      let bytes = self.unsafePlane(plane)
      switch format {
      case .i420, .nv12: bytes.initializeMemory(as: UInt8.self, repeating: plane == 0 ? 16 : 128)
      case .yuyv: for index in bytes.indices { bytes[index] = index % 2 == 0 ? 16 : 128 }
      case .bgra, .argb, .rgb24: bytes.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
  }
}

extension PixelFormat {
  /// Offset of a pixel at even places in a plane, in bytes.
  fileprivate func offset(plane: Int, x: Int, y: Int, bytesPerRow: Int) -> Int {
    switch self {
    case .i420: plane == 0 ? y * bytesPerRow + x : y / 2 * bytesPerRow + x / 2
    case .nv12: plane == 0 ? y * bytesPerRow + x : y / 2 * bytesPerRow + x
    case .bgra, .argb: y * bytesPerRow + 4 * x
    case .rgb24: y * bytesPerRow + 3 * x
    case .yuyv: y * bytesPerRow + 2 * x
    }
  }

  /// The same format in FFmpeg's terms.
  package var libav: AVPixelFormat {
    switch self {
    case .nv12: AV_PIX_FMT_NV12
    case .i420: AV_PIX_FMT_YUV420P
    case .bgra: AV_PIX_FMT_BGRA
    case .argb: AV_PIX_FMT_ARGB
    case .rgb24: AV_PIX_FMT_RGB24
    case .yuyv: AV_PIX_FMT_YUYV422
    }
  }

  /// Converts FFmpeg's pixel format; nil for one that ``PixelFormat`` lacks.
  package init?(libav format: AVPixelFormat) {
    switch format {
    case AV_PIX_FMT_NV12: self = .nv12
    case AV_PIX_FMT_YUV420P: self = .i420
    case AV_PIX_FMT_BGRA, AV_PIX_FMT_BGR0: self = .bgra
    case AV_PIX_FMT_ARGB, AV_PIX_FMT_0RGB: self = .argb
    case AV_PIX_FMT_RGB24: self = .rgb24
    case AV_PIX_FMT_YUYV422: self = .yuyv
    default: return nil
    }
  }
}
