internal import CLibav
internal import Codecs
internal import Media

/// The playing of a file, apart from time and consumers: reads and decodes a little ahead, and says which picture or
/// block of sound comes next, on one timeline for both that goes on through loops.
///
/// Used by one thread at a time.
final class FilePlayback {
  /// The pictures; nil when the file has none.
  let video: VideoTrack?
  /// The sound; nil when the file has none.
  private(set) var audio: AudioTrack?
  private let file: MediaFile
  private let isLooped: Bool
  private let packet: UnsafeMutablePointer<AVPacket>
  private var isVideoActive = true
  private var isAudioActive = true
  private var isAtStart = true

  /// Where the file's times begin.
  private var start: Int64?
  /// Where this pass through the file begins on the timeline.
  private var offset: Int64 = 0
  /// Where the longest track ends on the timeline, as far as it was read.
  private var end: Int64 = 0
  /// The decoding time of the last packet of each track on the timeline.
  private var lastTimes: [MediaKind: Int64] = [:]
  private var packetsInPass: [MediaKind: Int] = [:]
  private var passCount = 0
  private var framesBeforePass = 0
  /// Passes one after another in which nothing could be decoded.
  private var emptyPasses = 0
  /// Whether nothing more is read.
  private var isEnded = false
  /// Why it ended, unless that was the end of the file.
  private(set) var error: VidiconError?

  /// Opens a file and decodes its first picture and sound, which says what all of them look like.
  init(path: String, isLooped: Bool, interrupt: LibavInterrupt) throws(VidiconError) {
    let file = try MediaFile(path: path, interrupt: interrupt)
    var video: VideoTrack?
    if let index = file.videoStream {
      video = try VideoTrack(stream: file.stream(index), frameRate: file.frameRate(index), source: path)
    }
    var audio: AudioTrack?
    if let index = file.audioStream {
      do {
        audio = try AudioTrack(stream: file.stream(index), source: path)
      } catch {
        // Pictures whose sound cannot be decoded are still worth showing.
        if video == nil { throw error }
        file.setActive(false, stream: index)
      }
    }
    guard let packet = av_packet_alloc() else { throw VidiconError(libav: -ENOMEM, source: path) }
    self.file = file
    self.video = video
    self.audio = audio
    self.isLooped = isLooped
    self.packet = packet
    self.start = file.startTime
    self.isAudioActive = audio != nil
    self.isVideoActive = video != nil
    try self.decodeFirst()
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.packet
    av_packet_free(&packet)
  }

  /// Packets and frames that could not be decoded so far.
  var corruptCount: Int {
    (self.video?.decoder.corruptCount ?? 0) + (self.audio?.decoder.corruptCount ?? 0)
  }

  /// What comes next.
  enum Next {
    case picture(at: Int64)
    case sound(at: Int64)

    /// When it is due on the timeline, in nanoseconds.
    var time: Int64 {
      switch self {
      case .picture(let time), .sound(let time): time
      }
    }
  }

  /// The next picture or block of sound, whichever is due first; nil while nothing is decoded, or at the end.
  var next: Next? {
    let picture = self.isVideoActive ? self.video?.nextTime(isGap: self.isVideoGap) : nil
    let sound = self.isAudioActive ? self.audio?.nextTime(isGap: self.isAudioGap) : nil
    guard let picture else { return sound.map { .sound(at: $0) } }
    guard let sound, sound < picture else { return .picture(at: picture) }
    return .sound(at: sound)
  }

  /// Takes the picture that ``next`` spoke of.
  func takePicture() -> VideoFrame? {
    self.video?.takeNext(isGap: self.isVideoGap)
  }

  /// Takes the sound that ``next`` spoke of.
  func takeSound() -> AudioBlock? {
    self.audio?.takeNext(isGap: self.isAudioGap)
  }

  /// Whether no picture will come any more.
  var isVideoEnded: Bool {
    self.isEnded && self.video.map { $0.isDrained && !$0.isStill } ?? true
  }

  /// Whether no sound will come any more.
  var isAudioEnded: Bool {
    self.isEnded && self.audio?.isDrained ?? true
  }

  /// Says which tracks are wanted; the packets of the other one are not even read where the format allows that.
  ///
  /// - Parameter position: What is played now, where a track that joins comes in; nil before anything is played.
  func setActive(video: Bool, audio: Bool, at position: Int64? = nil) {
    if video != self.isVideoActive, let index = self.file.videoStream, let track = self.video {
      self.isVideoActive = video
      self.file.setActive(video, stream: index)
      track.reset()
    }
    if audio != self.isAudioActive, let index = self.file.audioStream, let track = self.audio {
      self.isAudioActive = audio
      self.file.setActive(audio, stream: index)
      track.reset()
      if audio, let position {
        track.begin(at: position)
        if self.video?.isStill ?? false {
          // Reading had stopped with the picture.
          self.end = max(self.end, position)
          self.rewind()
        }
      }
    }
  }

  /// Sound, or silence until there is some, begins at a time.
  func beginSound(at time: Int64) {
    self.audio?.begin(at: time)
  }

  /// Goes back to the start of the file, unless nothing has been taken yet.
  func restart() {
    guard !self.isAtStart else { return }
    self.isAtStart = true
    self.video?.reset()
    self.audio?.reset()
    self.rewind()
  }

  /// Does one step of work, if there is one to do: decodes a packet or reads one.
  ///
  /// - Parameter isLate: Whether pictures come too late, so that those are left out which no other one needs.
  /// - Returns: False when enough is decoded.
  func advance(isLate: Bool) -> Bool {
    self.video?.decoder.context.pointee.skip_frame = isLate ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    self.isAtStart = false
    var wantsPacket = false
    if self.isAudioActive, let audio = self.audio, audio.isHungry {
      if audio.decode() { return true }
      wantsPacket = true
    }
    if self.isVideoActive, let video = self.video, video.isHungry {
      if video.decode() { return true }
      wantsPacket = true
    }
    guard wantsPacket, !self.isEnded, !self.isFull else { return false }
    self.read()
    return true
  }

  /// Whether a track waits so long for its next packet that the other one has enough.
  private var isFull: Bool {
    self.isVideoActive && self.video?.decoder.isFull ?? false
      || self.isAudioActive && self.audio?.decoder.isFull ?? false
  }

  private var isVideoGap: Bool {
    guard let video = self.video, video.isDrained else { return false }
    return video.isStill || self.isAudioActive && self.audio?.decoder.isFull ?? false
  }

  private var isAudioGap: Bool {
    guard let audio = self.audio, audio.isDrained else { return false }
    return self.isVideoActive && self.video?.decoder.isFull ?? false
  }

  private var frameCount: Int {
    (self.video?.decoder.frameCount ?? 0) + (self.audio?.decoder.frameCount ?? 0)
  }

  /// Decodes until there is a picture and sound, but does not look for the other one for more than 10 seconds.
  private func decodeFirst() throws(VidiconError) {
    let path = self.file.path
    while true {
      let needsPicture = self.video.map { $0.format == nil } ?? false
      let needsSound = self.audio.map { !$0.hasBlocks } ?? false
      guard needsPicture || needsSound else { break }
      if needsPicture, self.video?.decode() ?? false { continue }
      if needsSound, self.audio?.decode() ?? false { continue }
      if self.isEnded || self.passCount > 0 || self.end > 10_000_000_000 && self.isFull { break }
      self.read()
    }
    if let video = self.video, video.format == nil {
      throw self.error
        ?? VidiconError(
          .invalidData, subject: path, cause: "none of its pictures can be decoded",
          nextStep: "see whether this shows them: ffplay \(path)")
    }
    guard let audio = self.audio, audio.decoder.frameCount == 0, self.isEnded || self.passCount > 0 else { return }
    if self.video == nil {
      throw self.error
        ?? VidiconError(
          .invalidData, subject: path, cause: "none of its sound can be decoded",
          nextStep: "see whether this plays it: ffplay \(path)")
    }
    self.setActive(video: true, audio: false)
    self.audio = nil
  }

  private func read() {
    let status = self.file.read(into: self.packet)
    guard status == 0 else {
      if status == vidicon_averror_eagain { return }
      self.finishPass(status)
      return
    }
    defer { av_packet_unref(self.packet) }
    let stream = Int(self.packet.pointee.stream_index)
    let kind: MediaKind = stream == self.file.videoStream ? .video : .audio
    let decoder = kind == .video ? self.video?.decoder : self.audio?.decoder
    guard let decoder, kind == .video ? self.isVideoActive : self.isAudioActive && stream == self.file.audioStream
    else { return }
    self.setTimes(kind, timeBase: self.file.stream(stream).pointee.time_base)
    self.packetsInPass[kind, default: 0] += 1
    decoder.append(self.packet)
  }

  /// Brings a packet's times onto the timeline.
  private func setTimes(_ kind: MediaKind, timeBase: AVRational) {
    let packet = self.packet
    av_packet_rescale_ts(packet, timeBase, PacketDecoder.timeBase)
    // 36 years: what is beyond is damaged, and would overflow.
    let limit: Int64 = 1 << 60
    let none = vidicon_av_nopts_value
    if !(-limit...limit).contains(packet.pointee.pts) { packet.pointee.pts = none }
    if !(-limit...limit).contains(packet.pointee.dts) { packet.pointee.dts = packet.pointee.pts }
    if !(1...limit).contains(packet.pointee.duration) {
      packet.pointee.duration = kind == .video ? self.frameInterval.nanoseconds : 0
    }
    let time = packet.pointee.dts
    guard time != none else { return }
    let shown = packet.pointee.pts == none ? time : packet.pointee.pts
    let start = self.start ?? shown
    self.start = start

    if self.file.hasDiscontinuities, let last = self.lastTimes[kind],
      abs(time - start + self.offset - last) > 10_000_000_000
    {
      // The recording was cut here: what follows, in both tracks, is moved to where the last packet was.
      self.offset = last - (time - start)
    }
    let shift = self.offset - start
    self.lastTimes[kind] = time + shift
    self.end = max(self.end, shown + shift + packet.pointee.duration)
    packet.pointee.dts = time + shift
    if packet.pointee.pts != none { packet.pointee.pts = shown + shift }
  }

  private var frameInterval: MediaDuration {
    self.video?.format?.frameRate.frameInterval ?? .milliseconds(40)
  }

  /// The file has ended, or cannot be read any further: goes on from its start, or ends.
  private func finishPass(_ status: Int32) {
    if self.isVideoActive { self.video?.decoder.appendEnd() }
    if self.isAudioActive { self.audio?.decoder.appendEnd() }
    self.emptyPasses = self.frameCount == self.framesBeforePass ? self.emptyPasses + 1 : 0
    self.framesBeforePass = self.frameCount
    self.passCount += 1
    if self.isVideoActive, !self.isAudioActive, self.packetsInPass[.video] == 1 {
      // A picture, or music with one: shown for good instead of being read again for each frame.
      self.video?.isStill = true
      self.isEnded = true
      return
    }
    guard self.isLooped else {
      self.isEnded = true
      if status != vidicon_averror_eof { self.error = VidiconError(libav: status, source: self.file.path) }
      return
    }
    guard self.emptyPasses < 3 else {
      self.isEnded = true
      self.error = VidiconError(
        .failed, subject: self.file.path, cause: "nothing in it can be decoded any more (\(libavMessage(status)))",
        nextStep: "check that the file was not changed or removed while it was played")
      return
    }
    self.rewind()
  }

  /// Begins the next pass where the last one ended.
  private func rewind() {
    self.isEnded = false
    self.error = nil
    self.video?.isStill = false
    self.packetsInPass = [:]
    // A file of damaged times could end in thousands of years.
    self.end = min(self.end, self.offset + 1 << 52)
    self.offset = self.end
    do throws(VidiconError) {
      try self.file.rewind()
    } catch {
      self.isEnded = true
      self.error = error
    }
  }
}
