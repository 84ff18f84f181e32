internal import CLibav

/// Weaves the fields of field-coded HEVC, such as 1080i of DVB, to interlaced frames. libavcodec returns each field as a frame of half the
/// height: `pic_struct` 1, 2 and 9 to 12 of the picture timing SEI message, ITU-T H.265 §D.3.3.
///
/// Two fields are a frame where the second one has the other parity and comes within the time of a frame. A field whose partner was lost,
/// or is not decoded, is shown alone, each of its lines twice.
final class FieldWeaver {
  /// Whether the video is coded in fields, so that frames come at half the rate of its packets.
  private(set) var isFieldCoded = false
  /// A frame that lacks its second field.
  private var half: (frame: UnsafeMutablePointer<AVFrame>, isTop: Bool)?
  /// Whether frames begin with the top field; nil before the first field.
  private var beginsWithTop: Bool?
  /// Number of consecutive keyframes of the other parity: a keyframe begins a frame.
  private var contradictionCount = 0
  private var followsKeyframe = false
  private let pool = AVFramePool()

  deinit { self.reset() }

  /// Forgets the fields before: the next one does not follow them.
  func reset() {
    if let half { Self.free(half.frame) }
    (self.half, self.beginsWithTop, self.contradictionCount, self.followsKeyframe) = (nil, nil, 0, false)
  }

  /// Replaces a field by a frame in its full height.
  ///
  /// - Parameter rate: Fields per second; 0 where it is not known.
  /// - Returns: False where its frame lacks another field, so that there is none yet.
  func process(_ field: UnsafeMutablePointer<AVFrame>, rate: AVRational) -> Bool {
    // Fields of odd heights have no whole lines of color.
    guard vidicon_is_interlaced(field), field.pointee.height % 2 == 0 else {
      self.reset()
      self.isFieldCoded = false
      return true
    }
    self.isFieldCoded = true
    let isTop = vidicon_is_top_field_first(field)
    let isFirst = self.isFirst(isTop, isKeyframe: vidicon_is_keyframe(field))
    if let half = self.half.take() {
      let isPair = !isFirst && Self.isPair(half.frame, field, rate: rate)
      if isPair {
        Lines(field).copy(to: Lines(half.frame, ofTop: !half.isTop))
        vidicon_set_interlaced(half.frame, half.isTop)
      } else {
        Lines(half.frame, ofTop: half.isTop).copy(to: Lines(half.frame, ofTop: !half.isTop))
        vidicon_set_progressive(half.frame)
        if isFirst { self.half = self.frame(with: field, isTop: isTop).map { ($0, isTop) } }
      }
      Self.replace(field, by: half.frame)
      return true
    }
    guard let frame = self.frame(with: field, isTop: isTop) else { return false }
    guard !isFirst else {
      self.half = (frame, isTop)
      return false
    }
    Lines(field).copy(to: Lines(frame, ofTop: !isTop))
    vidicon_set_progressive(frame)
    Self.replace(field, by: frame)
    return true
  }

  /// Whether a field is the first one of its frame: of the parity of the very first, unless two keyframes in a row contradict.
  private func isFirst(_ isTop: Bool, isKeyframe: Bool) -> Bool {
    var beginsWithTop = self.beginsWithTop ?? isTop
    // Each second keyframe is the second field of a frame where all fields are keyframes.
    if isKeyframe, !self.followsKeyframe {
      self.contradictionCount = isTop == beginsWithTop ? 0 : self.contradictionCount + 1
      if self.contradictionCount == 2 { (beginsWithTop, self.contradictionCount) = (isTop, 0) }
    }
    (self.beginsWithTop, self.followsKeyframe) = (beginsWithTop, isKeyframe)
    return isTop == beginsWithTop
  }

  /// Whether a second field is of the size of a frame that lacks one, and within its time. The frames between them may be lost.
  private static func isPair(
    _ half: UnsafeMutablePointer<AVFrame>, _ field: UnsafeMutablePointer<AVFrame>, rate: AVRational
  ) -> Bool {
    guard half.pointee.width == field.pointee.width, half.pointee.height == 2 * field.pointee.height,
      half.pointee.format == field.pointee.format
    else { return false }
    let (first, second) = (half.pointee.best_effort_timestamp, field.pointee.best_effort_timestamp)
    guard rate.num > 0, rate.den > 0, first != vidicon_av_nopts_value, second != vidicon_av_nopts_value else {
      return true
    }
    let frameDuration = av_rescale(2_000_000_000, Int64(rate.den), Int64(rate.num))
    return (0...frameDuration).contains(second &- first)
  }

  /// A frame of twice the height that has the lines of a field; nil without memory.
  private func frame(with field: UnsafeMutablePointer<AVFrame>, isTop: Bool) -> UnsafeMutablePointer<AVFrame>? {
    let format = AVPixelFormat(field.pointee.format)
    guard let frame = self.pool.frame(format, like: field, height: 2 * field.pointee.height) else { return nil }
    Lines(field).copy(to: Lines(frame, ofTop: isTop))
    return frame
  }

  private static func replace(_ field: UnsafeMutablePointer<AVFrame>, by frame: UnsafeMutablePointer<AVFrame>) {
    av_frame_unref(field)
    av_frame_move_ref(field, frame)
    Self.free(frame)
  }

  private static func free(_ frame: UnsafeMutablePointer<AVFrame>) {
    var freed: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&freed)
  }

  /// Lines in memory of a field: all of its own frame, or each second one of a frame with both fields.
  private struct Lines {
    private var data: [UnsafeMutablePointer<UInt8>?]
    private var strides: [Int32]
    private let format: AVPixelFormat
    private let width: Int32
    private var height: Int32

    init(_ frame: UnsafeMutablePointer<AVFrame>) {
      let (data, lines) = (frame.pointee.data, frame.pointee.linesize)
      (self.data, self.strides) = ([data.0, data.1, data.2, data.3], [lines.0, lines.1, lines.2, lines.3])
      self.format = AVPixelFormat(frame.pointee.format)
      (self.width, self.height) = (frame.pointee.width, frame.pointee.height)
    }

    init(_ frame: UnsafeMutablePointer<AVFrame>, ofTop isTop: Bool) {
      self.init(frame)
      if !isTop { self.data = zip(self.data, self.strides).map { data, stride in data.map { $0 + Int(stride) } } }
      self.strides = self.strides.map { 2 * $0 }
      self.height /= 2
    }

    /// Copies all lines to those of another field of this size and format.
    func copy(to other: Lines) {
      var (target, targetStrides, strides) = (other.data, other.strides, self.strides)
      var source = self.data.map { UnsafePointer($0) }
      av_image_copy(&target, &targetStrides, &source, &strides, self.format, self.width, self.height)
    }
  }
}
