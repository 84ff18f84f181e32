internal import CLibav
internal import Codecs
internal import Media

/// Reads and decodes a file ahead, and orders its frames and audio blocks on one timeline that continues through loops.
/// Has no clock and no consumers.
///
/// Used by one thread at a time.
final class FileDecoder {
  /// The video track; nil when the file has none that can be decoded.
  private(set) var video: VideoTrack?
  /// The audio track; nil when the file has none that can be decoded.
  private(set) var audio: AudioTrack?
  /// Reason why a kind of track that the file has is not played.
  private(set) var failures: [MediaKind: VidiconError] = [:]
  /// Streams that are tried where the one before has nothing that can be decoded.
  private var videoChoice: ArraySlice<Int>
  private var audioChoice: ArraySlice<Int>
  let file: MediaFile
  private let isLooped: Bool
  let packet: UnsafeMutablePointer<AVPacket>
  private var isVideoActive = true
  private var isAudioActive = true
  private var isAtStart = true

  /// Places of the packets on the timeline.
  private var timeline: FileTimeline
  private var packetsInPass: [MediaKind: Int] = [:]
  /// Time of the pass at its first packet of video, in nanoseconds; nil before that of the first pass.
  private var videoStart: Int64?
  private var passCount = 0
  private var framesBeforePass = 0
  /// Number of consecutive passes without a decoded frame.
  private var emptyPasses = 0
  /// Whether reading has ended.
  private var isEnded = false
  /// The error that ended reading; nil at the end of the file.
  private(set) var error: VidiconError?

  /// Opens a file and decodes its first frame and audio block, which determine the formats.
  init(path location: String, isLooped: Bool, isConfined: Bool, interrupt: LibavInterrupt) throws(VidiconError) {
    let file = try MediaFile(path: location, isConfined: isConfined, interrupt: interrupt)
    var video: (track: VideoTrack, index: Int)?
    do throws(VidiconError) {
      video = try Self.openVideo(of: file, file.choice.video[...])
    } catch {
      self.failures[.video] = error
    }
    var audio: (track: AudioTrack, index: Int)?
    do throws(VidiconError) {
      audio = try Self.openAudio(of: file, file.choice.audio[...])
    } catch {
      self.failures[.audio] = error
    }
    if video == nil, audio == nil, let failure = self.failures[.video] ?? self.failures[.audio] { throw failure }
    file.select(video: video?.index, audio: audio?.index)
    self.videoChoice = Self.choice(file.choice.video[...], after: video?.index)
    self.audioChoice = Self.choice(file.choice.audio[...], after: audio?.index)
    guard let packet = av_packet_alloc() else { throw VidiconError(libav: -ENOMEM, source: file.path) }
    self.file = file
    self.video = video?.track
    self.audio = audio?.track
    self.isLooped = isLooped
    self.packet = packet
    self.timeline = FileTimeline(start: file.startTime, hasDiscontinuities: file.hasDiscontinuities)
    self.isAudioActive = audio != nil
    self.isVideoActive = video != nil
    try self.decodeFirst()
    file.continuesTracks = true
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = self.packet
    av_packet_free(&packet)
  }

  /// Number of packets and frames that could not be decoded.
  var corruptCount: Int {
    (self.video?.decoder.corruptCount ?? 0) + (self.audio?.decoder.corruptCount ?? 0)
  }

  /// The next frame or audio block on the timeline.
  enum Next {
    case frame(at: Int64)
    case audio(at: Int64)

    /// Timeline position, in nanoseconds.
    var time: Int64 {
      switch self {
      case .frame(let time), .audio(let time): time
      }
    }
  }

  /// The next frame or audio block, whichever is due first; nil while nothing is decoded, and at the end.
  var next: Next? {
    let frame = self.isVideoActive ? self.video?.nextTime(isGap: self.isVideoGap) : nil
    let audio = self.isAudioActive ? self.audio?.nextTime(isGap: self.isAudioGap) : nil
    guard let frame else { return audio.map { .audio(at: $0) } }
    guard let audio, audio < frame else { return .frame(at: frame) }
    return .audio(at: audio)
  }

  /// Dequeues the frame that ``next`` announced.
  func dequeueFrame() -> VideoFrame? {
    self.video?.dequeueNext(isGap: self.isVideoGap)
  }

  /// Dequeues the audio block that ``next`` announced.
  func dequeueAudio() -> AudioBlock? {
    self.audio?.dequeueNext(isGap: self.isAudioGap)
  }

  /// Whether the video track has ended: with the audio, up to which its last frame stays.
  var isVideoEnded: Bool {
    self.isEnded && self.isDrained && !self.isVideoGap
  }

  /// Whether the audio track has ended: with the video, up to which it is silent.
  var isAudioEnded: Bool { self.isEnded && self.isDrained }

  /// Enables and disables tracks; packets of a disabled track are not read where the container format allows it.
  ///
  /// - Parameter position: Current timeline position, at which an enabled track joins; nil before playback.
  func setActive(video: Bool, audio: Bool, at position: Int64? = nil) {
    if video != self.isVideoActive, let index = self.file.videoStream, let track = self.video {
      self.isVideoActive = video
      self.file.setActive(video, stream: index)
      self.timeline.forget(.video)
      track.reset()
    }
    if audio != self.isAudioActive, let index = self.file.audioStream, let track = self.audio {
      self.isAudioActive = audio
      self.file.setActive(audio, stream: index)
      self.timeline.forget(.audio)
      track.reset()
      if audio, let position {
        track.begin(at: position)
        if self.video?.isStill ?? false {
          // Reading stopped at the still image.
          self.timeline.extend(to: position)
          self.rewind()
        }
      }
    }
  }

  /// Sets the timeline position at which both tracks begin: silence until audio is decoded, and black until video is.
  func begin(at time: Int64) {
    if self.isVideoActive { self.video?.begin(at: time) }
    self.audio?.begin(at: time)
  }

  /// Seeks to the start of the file, unless nothing was dequeued since.
  func restart() {
    guard !self.isAtStart else { return }
    self.isAtStart = true
    self.video?.reset()
    self.audio?.reset()
    self.rewind()
  }

  /// Decodes one packet or reads one.
  ///
  /// - Parameter isLate: Whether playback is late: non-reference frames are then not decoded.
  /// - Returns: False when enough is decoded.
  func advance(isLate: Bool) -> Bool {
    self.video?.decoder.current.context.pointee.skip_frame = isLate ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    self.isAtStart = false
    var needsPacket = false
    if self.isAudioActive, let audio = self.audio, audio.needsBlocks {
      if audio.decode() { return true }
      needsPacket = true
    }
    if self.isVideoActive, let video = self.video, video.needsFrames {
      if video.decode() { return true }
      needsPacket = true
    }
    guard needsPacket, !self.isEnded, !self.isFull else { return false }
    self.read()
    return true
  }

  /// Whether one track has queued enough packets while the other waits for its next one.
  private var isFull: Bool { self.isVideoFull || self.isAudioFull }

  /// Whether a span of video is queued in which the file has no audio where that has a gap: the video of broadcasts lies up to some
  /// seconds before the audio of its time.
  private var isVideoFull: Bool {
    self.isVideoActive && self.video?.decoder.isFull(span: 5_000_000_000) ?? false
  }

  /// Likewise of audio: the video of slide shows, whose frames demuxers of transport streams return when the next ones have begun, lies
  /// twice their interval behind it.
  private var isAudioFull: Bool {
    self.isAudioActive && self.audio?.decoder.isFull(span: 30_000_000_000) ?? false
  }

  /// Whether nothing is left of both tracks.
  private var isDrained: Bool { self.video?.isDrained ?? true && self.audio?.isDrained ?? true }

  private var isVideoGap: Bool {
    guard let video = self.video, video.isDrained else { return false }
    return video.isStill || (self.isEnded ? self.isBeforeEnd(video.nextTime(isGap: true)) : self.isAudioFull)
  }

  private var isAudioGap: Bool {
    guard let audio = self.audio, audio.isDrained else { return false }
    return self.isEnded ? self.isBeforeEnd(audio.nextTime(isGap: true)) : self.isVideoFull
  }

  /// Whether more than 0.2 s are left of the other track behind a time, once all is read: less is no gap.
  private func isBeforeEnd(_ time: Int64?) -> Bool {
    !self.isDrained && time.map { $0 + 200_000_000 < self.timeline.end } ?? false
  }

  private var frameCount: Int {
    (self.video?.decoder.frameCount ?? 0) + (self.audio?.decoder.frameCount ?? 0)
  }

  /// Decode time of the file in which a first frame is searched, in nanoseconds: a file that was cut out of a stream may begin
  /// right after a keyframe, and the next one be half a minute away.
  private static let firstFrameSpan: Int64 = 60_000_000_000

  /// Likewise for a first audio block, once there is a frame.
  private static let firstBlockSpan: Int64 = 10_000_000_000

  /// Maximum time by which video begins after the audio, which is queued until then: a camera may be switched on late.
  private static let lateVideoSpan: Int64 = 600_000_000_000

  private static func openVideo(
    of file: MediaFile, _ choice: ArraySlice<Int>
  ) throws(VidiconError) -> (track: VideoTrack, index: Int)? {
    try StreamChoice.open(Array(choice)) { index throws(VidiconError) in
      try VideoTrack(stream: file.stream(index), frameRate: file.frameRate(index), source: file.path)
    }
  }

  private static func openAudio(
    of file: MediaFile, _ choice: ArraySlice<Int>
  ) throws(VidiconError) -> (track: AudioTrack, index: Int)? {
    try StreamChoice.open(Array(choice)) { index throws(VidiconError) in
      try AudioTrack(stream: file.stream(index), source: file.path)
    }
  }

  /// Streams of a choice that come after one; none without it.
  private static func choice(_ choice: ArraySlice<Int>, after index: Int?) -> ArraySlice<Int> {
    index.map { index in choice.drop { $0 != index }.dropFirst() } ?? []
  }

  /// Decodes the first frame and audio block, of the first track of each kind that can be decoded.
  private func decodeFirst() throws(VidiconError) {
    repeat { self.decodeFirstOfBoth() } while self.startAnywhere() || self.selectNext()
    if self.isVideoUndecodable {
      self.failures[.video] = self.failure(of: .video)
      self.setActive(video: false, audio: self.isAudioActive)
      self.video = nil
    }
    if self.isAudioUndecodable {
      self.failures[.audio] = self.failure(of: .audio)
      self.setActive(video: self.isVideoActive, audio: false)
      self.audio = nil
    }
    // A track that cannot be decoded takes nothing from the other one.
    if self.video == nil, self.audio == nil, let failure = self.failures[.video] ?? self.failures[.audio] {
      throw failure
    }
  }

  private var isVideoUndecodable: Bool {
    self.video.map { $0.format == nil } ?? false
  }

  private var isAudioUndecodable: Bool {
    guard let audio = self.audio, audio.decoder.frameCount == 0 else { return false }
    return self.isEnded || self.passCount > 0 || audio.decoder.corruptCount > 0
  }

  /// Starts again from any packet on where the video has no keyframe, as a part that was cut out of a long group.
  ///
  /// - Returns: False where that would be of no use.
  private func startAnywhere() -> Bool {
    guard self.isVideoUndecodable, let decoder = self.video?.decoder, decoder.hasOnlySkipped else { return false }
    decoder.startAnywhere()
    self.beginAgain()
    return true
  }

  /// Reads the file from its start, as if nothing of it had been read.
  private func beginAgain() {
    (self.passCount, self.emptyPasses, self.framesBeforePass) = (0, 0, self.frameCount)
    self.isAtStart = false
    self.restart()
  }

  /// Replaces tracks that cannot be decoded by the next ones of their kinds, and starts again.
  ///
  /// - Returns: False when there is nothing to replace, or no other track.
  private func selectNext() -> Bool {
    var (video, audio) = (self.file.videoStream, self.file.audioStream)
    if self.isVideoUndecodable, let next = try? Self.openVideo(of: self.file, self.videoChoice) {
      self.videoChoice = Self.choice(self.videoChoice, after: next.index)
      (self.video, video) = (next.track, next.index)
    }
    if self.isAudioUndecodable, let next = try? Self.openAudio(of: self.file, self.audioChoice) {
      self.audioChoice = Self.choice(self.audioChoice, after: next.index)
      (self.audio, audio) = (next.track, next.index)
    }
    guard (video, audio) != (self.file.videoStream, self.file.audioStream) else { return false }
    self.file.select(video: video, audio: audio)
    self.beginAgain()
    return true
  }

  private func failure(of kind: MediaKind) -> VidiconError { self.error ?? self.file.undecodable(kind) }

  /// Decodes the first frame and audio block; gives up on one of them after ``firstFrameSpan``.
  private func decodeFirstOfBoth() {
    while true {
      let needsFrame = self.video.map { $0.format == nil } ?? false
      let needsAudio = self.audio.map { !$0.hasBlocks } ?? false
      guard needsFrame || needsAudio else { break }
      if needsFrame, self.video?.decode() ?? false { continue }
      if needsAudio, self.audio?.decode() ?? false { continue }
      if self.isEnded || self.passCount > 0 || self.hasReadEnough(needsFrame: needsFrame) { break }
      self.read()
    }
  }

  /// Whether a first frame or audio block was searched for long enough. Video is not queued for a minute, which may take a gigabyte.
  private func hasReadEnough(needsFrame: Bool) -> Bool {
    let length = self.timeline.end - self.timeline.passStart
    guard needsFrame else { return length > Self.firstBlockSpan && self.isFull }
    guard let videoStart else { return self.audio?.decoder.isFull(span: Self.lateVideoSpan) ?? false }
    return length - videoStart > Self.firstFrameSpan && self.isFull
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
    guard let kind = self.kind(ofStream: stream) else { return }
    self.admitReplacements()
    let decoder = kind == .video ? self.video?.decoder : self.audio?.decoder
    guard let decoder, self.isActive(kind), let source = try? self.file.stream(stream) else { return }
    self.setTimes(kind, timeBase: source.pointee.time_base)
    if kind == .video, self.packetsInPass[.video] == nil {
      self.videoStart = self.timeline.end - self.timeline.passStart
    }
    self.packetsInPass[kind, default: 0] += 1
    decoder.append(self.packet)
  }

  /// Whether a track is read.
  func isActive(_ kind: MediaKind) -> Bool { kind == .video ? self.isVideoActive : self.isAudioActive }

  /// Maps a packet's timestamps to the timeline.
  private func setTimes(_ kind: MediaKind, timeBase: AVRational) {
    let packet = self.packet
    av_packet_rescale_ts(packet, timeBase, PacketDecoder.timeBase)
    // 36 years: larger timestamps are damaged, and would overflow.
    let limit: Int64 = 1 << 60
    let none = vidicon_av_nopts_value
    if !(-limit...limit).contains(packet.pointee.pts) { packet.pointee.pts = none }
    let hasDecodeTime = (-limit...limit).contains(packet.pointee.dts)
    if !hasDecodeTime { packet.pointee.dts = packet.pointee.pts }
    if !(1...limit).contains(packet.pointee.duration) {
      packet.pointee.duration = kind == .video ? self.frameInterval.nanoseconds : 0
    }
    var time = packet.pointee.dts
    guard time != none else { return }
    let shown = packet.pointee.pts == none ? time : packet.pointee.pts
    // Decode times that libavformat derives follow a jump of the presentation times some frames later.
    if !self.file.hasDiscontinuities, shown - time > 5_000_000_000 { time = shown }
    let shift = self.timeline.shift(
      of: FileTimeline.Packet(
        kind: kind, decodeTime: time, presentationTime: shown, duration: packet.pointee.duration,
        isKeyframe: packet.pointee.flags & AV_PKT_FLAG_KEY != 0,
        isOrdered: hasDecodeTime || self.file.hasDiscontinuities,
        isHidden: packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0)
    ) { other, body in
      guard other == .video ? self.isVideoActive : self.isAudioActive,
        let stream = other == .video ? self.file.videoStream : self.file.audioStream
      else { return }
      self.file.readAhead(stream, body)
    }
    if self.timeline.hasJumped { self.file.hasJumped = true }
    packet.pointee.dts = time + shift
    if packet.pointee.pts != none { packet.pointee.pts = shown + shift }
  }

  private var frameInterval: MediaDuration {
    self.video?.format?.frameRate.frameInterval ?? .milliseconds(40)
  }

  /// Starts the next pass at the end of the file or after a read error, or ends the playback.
  private func finishPass(_ status: Int32) {
    if self.isVideoActive { self.video?.decoder.appendEnd() }
    if self.isAudioActive { self.audio?.decoder.appendEnd() }
    self.emptyPasses = self.frameCount == self.framesBeforePass ? self.emptyPasses + 1 : 0
    self.framesBeforePass = self.frameCount
    self.passCount += 1
    if self.isVideoActive, !self.isAudioActive, self.packetsInPass[.video] == 1 {
      // A still image, or music with a cover image: repeated without reading the file again for each frame.
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
        .failed, subject: self.file.path, cause: "it can no longer be decoded (\(libavMessage(status)))",
        nextStep: "check that the file was not changed or removed during playback")
      return
    }
    self.rewind()
  }

  /// Starts the next pass at the timeline position where the last one ended.
  private func rewind() {
    self.isEnded = false
    self.error = nil
    self.video?.isStill = false
    self.packetsInPass = [:]
    self.timeline.beginPass()
    do throws(VidiconError) {
      try self.rewindFile()
    } catch {
      self.isEnded = true
      self.error = error
    }
  }
}
