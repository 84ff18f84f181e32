internal import CLibav
internal import Media

/// The pictures of a file: decoded a little ahead, in the announced format, with times on the playback's timeline.
final class VideoTrack {
  /// What every picture looks like; known from the first one on.
  private(set) var format: VideoFormat?
  let decoder: PacketDecoder
  /// Whether the file holds a single picture, which is then shown for good.
  var isStill = false
  private let frameRate: FrameRate
  private var orientation: Orientation
  private var isMirrored: Bool
  private var converter: PictureConverter?
  /// Decoded and not shown yet.
  private var frames: [VideoFrame] = []
  /// The picture that is shown, until the next one.
  private var shown: VideoFrame?
  private var lastTime: Int64?

  /// Pictures that are decoded ahead of the one that is due.
  private static let lookahead = 3

  init(stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, source: String) throws(CaptureError) {
    self.decoder = try PacketDecoder(stream: stream, source: source)
    self.frameRate = frameRate
    (self.orientation, self.isMirrored) = Self.orientation(vidicon_display_matrix(stream))
  }

  /// Whether more is to be decoded.
  var isHungry: Bool {
    self.frames.count < Self.lookahead
  }

  /// Whether there is nothing left to show or decode.
  var isDrained: Bool {
    self.frames.isEmpty && self.decoder.isEmpty
  }

  /// Decodes one packet; false when none waits.
  func decode() -> Bool {
    guard self.decoder.decodeNext({ self.take($0) }) else { return false }
    self.moveLatePictures()
    return true
  }

  /// Forgets all pictures.
  func reset() {
    self.decoder.reset()
    self.frames = []
    self.shown = nil
    self.lastTime = nil
  }

  /// When the next picture is due.
  ///
  /// - Parameter isGap: Whether the file has no picture for now, as far as it was read. Then, and when the next one is
  ///   more than half a second off, the one shown is shown again at the frame rate, so that nobody takes the source for
  ///   dead.
  func nextTime(isGap: Bool) -> Int64? {
    let next = self.frames.first?.timestamp.nanoseconds
    guard let shown = self.shown?.timestamp.nanoseconds else { return next }
    let interval = self.frameRate.frameInterval.nanoseconds
    if let next, next - shown <= max(500_000_000, 2 * interval) { return next }
    return next != nil || isGap ? shown + interval : nil
  }

  /// The picture that ``nextTime(isGap:)`` spoke of.
  func takeNext(isGap: Bool) -> VideoFrame? {
    guard let time = self.nextTime(isGap: isGap) else { return nil }
    if let next = self.frames.first, next.timestamp.nanoseconds == time {
      self.frames.removeFirst()
      self.shown = next
    } else {
      self.shown?.timestamp = MediaTime(nanoseconds: time)
    }
    return self.shown
  }

  /// A decoder that reorders pictures gives the last ones before a gap only after it, when the one before them has
  /// been repeated beyond their time: of those the last one is shown next.
  private func moveLatePictures() {
    guard let shown = self.shown?.timestamp else { return }
    while self.frames.count > 1, self.frames[1].timestamp <= shown { self.frames.removeFirst() }
    guard let first = self.frames.first, first.timestamp <= shown else { return }
    let next = shown + self.frameRate.frameInterval
    if self.frames.count > 1, self.frames[1].timestamp <= next {
      self.frames.removeFirst()
    } else {
      self.frames[0].timestamp = next
    }
  }

  private func take(_ frame: UnsafeMutablePointer<AVFrame>) {
    if let data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX), data.pointee.size >= 36 {
      (self.orientation, self.isMirrored) = data.pointee.data.withMemoryRebound(to: Int32.self, capacity: 9) {
        Self.orientation($0)
      }
    }
    let interval = self.frameRate.frameInterval.nanoseconds
    var time = frame.pointee.best_effort_timestamp
    if let lastTime = self.lastTime, time == vidicon_av_nopts_value || time <= lastTime {
      time = lastTime + interval
    } else if time == vidicon_av_nopts_value {
      time = 0
    }
    guard var picture = self.picture(frame, at: MediaTime(nanoseconds: time)) else { return }
    self.lastTime = time
    picture.orientation = self.orientation
    picture.isMirrored = self.isMirrored
    self.frames.append(picture)
  }

  /// The picture without a copy, where it has the announced format; converted otherwise.
  private func picture(_ frame: UnsafeMutablePointer<AVFrame>, at time: MediaTime) -> VideoFrame? {
    guard frame.pointee.width > 0, frame.pointee.height > 0 else { return nil }
    let direct = self.directFormat(frame)
    if self.format == nil {
      self.format =
        direct
        ?? VideoFormat(
          width: Int(frame.pointee.width), height: Int(frame.pointee.height), frameRate: self.frameRate,
          colorMatrix: Self.colorMatrix(frame))
    }
    guard let format = self.format else { return nil }
    if let direct, direct.hasSameLayout(as: format), let buffer = Self.borrow(frame, format: format) {
      return VideoFrame(buffer: buffer, timestamp: time)
    }
    let converter = self.converter ?? PictureConverter(format: format)
    self.converter = converter
    let data = frame.pointee.data
    let rows = frame.pointee.linesize
    return converter.convert(
      .init(
        planes: (UnsafePointer(data.0), UnsafePointer(data.1), UnsafePointer(data.2), UnsafePointer(data.3)),
        bytesPerRow: (rows.0, rows.1, rows.2, rows.3), width: frame.pointee.width, height: frame.pointee.height,
        pixelFormat: AVPixelFormat(frame.pointee.format), isFullRange: frame.pointee.color_range == AVCOL_RANGE_JPEG),
      at: time)
  }

  /// The format as which a decoder's picture can be used where it lies.
  private func directFormat(_ frame: UnsafeMutablePointer<AVFrame>) -> VideoFormat? {
    guard let pixelFormat = PixelFormat(libav: AVPixelFormat(frame.pointee.format)),
      !pixelFormat.isYCbCr || frame.pointee.color_range != AVCOL_RANGE_JPEG
    else { return nil }
    let width = Int(frame.pointee.width)
    let linesize = frame.pointee.linesize
    let rows = [linesize.0, linesize.1, linesize.2].prefix(pixelFormat.planeCount).map(Int.init)
    // Rows may run upwards, with a negative distance.
    for (plane, row) in rows.enumerated() where row < pixelFormat.minimumBytesPerRow(plane: plane, width: width) {
      return nil
    }
    return VideoFormat(
      width: width, height: Int(frame.pointee.height), pixelFormat: pixelFormat, bytesPerRow: rows,
      frameRate: self.frameRate, colorMatrix: Self.colorMatrix(frame))
  }

  /// Moves a decoder's picture into a buffer that gives it back with the last reference.
  private static func borrow(_ frame: UnsafeMutablePointer<AVFrame>, format: VideoFormat) -> PixelBuffer? {
    let data = frame.pointee.data
    let planes = [data.0, data.1, data.2].prefix(format.pixelFormat.planeCount).compactMap { $0 }
    guard planes.count == format.pixelFormat.planeCount, let owned = av_frame_alloc() else { return nil }
    av_frame_move_ref(owned, frame)
    nonisolated(unsafe) let kept = owned  // Safe because the closure runs once, after the last use.
    return PixelBuffer(borrowing: planes.map { UnsafeMutableRawPointer($0) }, format: format) {
      var freed: UnsafeMutablePointer<AVFrame>? = kept
      av_frame_free(&freed)
    }
  }

  /// The matrix that a file names, or the one that players assume.
  private static func colorMatrix(_ frame: UnsafeMutablePointer<AVFrame>) -> ColorMatrix {
    switch frame.pointee.colorspace {
    case AVCOL_SPC_BT709, AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: .bt709
    case AVCOL_SPC_UNSPECIFIED: frame.pointee.height >= 720 ? .bt709 : .bt601
    default: .bt601
    }
  }

  /// How a display matrix (libavutil/display.h) asks the picture to be turned, and exchanged left with right after that.
  static func orientation(_ matrix: UnsafePointer<Int32>?) -> (Orientation, isMirrored: Bool) {
    guard let matrix else { return (.up, false) }
    var values = (0..<9).map { matrix[$0] }
    let determinant = Double(values[0]) * Double(values[4]) - Double(values[1]) * Double(values[3])
    if determinant < 0 {
      values[0] = 0 &- values[0]
      values[3] = 0 &- values[3]
    }
    // Anticlockwise; not a number when the matrix is none.
    let angle = av_display_rotation_get(values)
    guard angle.isFinite else { return (.up, false) }
    let quarters = (4 - Int((angle / 90).rounded()) % 4) % 4
    return (Orientation(rawValue: quarters * 90) ?? .up, determinant < 0)
  }
}
