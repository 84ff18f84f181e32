internal import CLibav
internal import Codecs
internal import Media

/// Video track of a file, decoded ahead in one format, with timestamps on the playback's timeline.
final class VideoTrack {
  let decoder: DecoderSequence
  /// Whether the file has a single frame, which is repeated without end.
  var isStill = false
  /// Rate of the packets, which may be fields.
  private var frameRate: FrameRate
  private let converter: DecodedFrameConverter
  /// Decoded frames that have not been dequeued yet.
  private var frames: [VideoFrame] = []
  /// The last dequeued frame, which may be repeated.
  private var shown: VideoFrame?
  private var lastTime: Int64?

  /// Time in nanoseconds by which video begins after audio in many files: encoders of audio need samples before the first.
  private static let tolerance: Int64 = 200_000_000
  /// Number of frames that are decoded ahead.
  private static let lookahead = 3

  init(stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, source: String) throws(VidiconError) {
    self.decoder = DecoderSequence(try PacketDecoder(stream: stream, source: source))
    self.frameRate = frameRate
    self.converter = DecodedFrameConverter(
      displayMatrix: vidicon_display_matrix(stream), frameRate: frameRate,
      isIntraOnly: PacketDecoder.isIntraOnly(stream.pointee.codecpar.pointee.codec_id))
  }

  /// Continues with another stream, once the packets before have been decoded. Its frames are fitted into the format.
  func replace(
    by stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, source: String
  ) throws(VidiconError) {
    let orientation = DecodedFrameConverter.orientation(vidicon_display_matrix(stream))
    let isIntraOnly = PacketDecoder.isIntraOnly(stream.pointee.codecpar.pointee.codec_id)
    self.decoder.append(try PacketDecoder(stream: stream, source: source)) { [weak self] in
      self?.frameRate = frameRate
      self?.converter.beginStream(orientation, isIntraOnly: isIntraOnly)
    }
  }

  /// Format of all frames; nil before the first is decoded.
  var format: VideoFormat? { self.converter.format }

  /// Whether fewer than ``lookahead`` frames are decoded, so that the next packet should be decoded.
  var needsFrames: Bool {
    self.frames.count < Self.lookahead
  }

  /// Whether no decoded frame and no queued packet is left.
  var isDrained: Bool {
    self.frames.isEmpty && self.decoder.isEmpty
  }

  /// Decodes one packet; returns false when none is queued.
  func decode() -> Bool {
    guard self.decoder.decodeNext({ self.take($0) }) else { return false }
    self.moveLateFrames()
    return true
  }

  /// Discards all queued packets and decoded frames.
  func reset() {
    self.decoder.reset()
    self.frames = []
    self.shown = nil
    self.lastTime = nil
  }

  /// Begins with a black frame where the first frame of the file comes later: audio that precedes it is heard.
  func begin(at time: Int64) {
    guard self.shown == nil, let format,
      self.frames.first.map({ $0.timestamp.nanoseconds > time + Self.tolerance }) ?? true,
      let black = VideoFrame.black(format, at: MediaTime(nanoseconds: time))
    else { return }
    self.frames.insert(black, at: 0)
  }

  /// Timeline position of the next frame, in nanoseconds; nil when none is decoded yet.
  ///
  /// - Parameter isGap: Whether the file has no frame at this position, as far as it was read. Then, and when the next frame
  ///   is more than half a second away, the shown frame is repeated at the frame rate, so that the source is not taken for
  ///   lost.
  func nextTime(isGap: Bool) -> Int64? {
    let next = self.frames.first?.timestamp.nanoseconds
    guard let shown = self.shown?.timestamp.nanoseconds else { return next }
    let interval = self.converter.frameRate.frameInterval.nanoseconds
    if let next, next - shown <= max(500_000_000, 2 * interval) { return next }
    return next != nil || isGap ? shown + interval : nil
  }

  /// Dequeues the frame at ``nextTime(isGap:)``.
  func dequeueNext(isGap: Bool) -> VideoFrame? {
    guard let time = self.nextTime(isGap: isGap) else { return nil }
    if let next = self.frames.first, next.timestamp.nanoseconds == time {
      self.frames.removeFirst()
      self.shown = next
    } else {
      self.shown?.timestamp = MediaTime(nanoseconds: time)
    }
    return self.shown
  }

  /// Skips or moves frames that are late. A decoder that reorders returns the last frames before a gap only after it, when the
  /// frame before them has been repeated beyond their time: the last of them is shown next.
  private func moveLateFrames() {
    guard let shown = self.shown?.timestamp else { return }
    while self.frames.count > 1, self.frames[1].timestamp <= shown { self.frames.removeFirst() }
    guard let first = self.frames.first, first.timestamp <= shown else { return }
    let next = shown + self.converter.frameRate.frameInterval
    if self.frames.count > 1, self.frames[1].timestamp <= next {
      self.frames.removeFirst()
    } else {
      self.frames[0].timestamp = next
    }
  }

  private func take(_ frame: UnsafeMutablePointer<AVFrame>) {
    self.converter.frameRate = self.decoder.current.frameRate(self.frameRate)
    let interval = self.converter.frameRate.frameInterval.nanoseconds
    var time = frame.pointee.best_effort_timestamp
    if let lastTime = self.lastTime, time == vidicon_av_nopts_value || time <= lastTime {
      time = lastTime + interval
    } else if time == vidicon_av_nopts_value {
      time = 0
    }
    guard let converted = self.converter.videoFrame(from: frame, at: MediaTime(nanoseconds: time)) else { return }
    self.lastTime = time
    self.frames.append(converted)
  }
}
