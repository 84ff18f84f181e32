internal import CLibav
internal import Codecs
internal import Media

/// The pictures of a file: decoded a little ahead, in the announced format, with times on the playback's timeline.
final class VideoTrack {
  let decoder: PacketDecoder
  /// Whether the file holds a single picture, which is then shown for good.
  var isStill = false
  private let frameRate: FrameRate
  private let pictures: DecodedFrameConverter
  /// Decoded and not shown yet.
  private var frames: [VideoFrame] = []
  /// The picture that is shown, until the next one.
  private var shown: VideoFrame?
  private var lastTime: Int64?

  /// Pictures that are decoded ahead of the one that is due.
  private static let lookahead = 3

  init(stream: UnsafeMutablePointer<AVStream>, frameRate: FrameRate, source: String) throws(VidiconError) {
    self.decoder = try PacketDecoder(stream: stream, source: source)
    self.frameRate = frameRate
    self.pictures = DecodedFrameConverter(displayMatrix: vidicon_display_matrix(stream), frameRate: frameRate)
  }

  /// What every picture looks like; known from the first one on.
  var format: VideoFormat? { self.pictures.format }

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
    let interval = self.frameRate.frameInterval.nanoseconds
    var time = frame.pointee.best_effort_timestamp
    if let lastTime = self.lastTime, time == vidicon_av_nopts_value || time <= lastTime {
      time = lastTime + interval
    } else if time == vidicon_av_nopts_value {
      time = 0
    }
    guard let picture = self.pictures.picture(frame, at: MediaTime(nanoseconds: time)) else { return }
    self.lastTime = time
    self.frames.append(picture)
  }
}
