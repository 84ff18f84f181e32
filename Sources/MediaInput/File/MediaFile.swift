internal import CLibav
internal import Codecs
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A file or URL opened by libavformat: its streams and packets, with rewinding.
final class MediaFile {
  /// The path or URL, as its user wrote it.
  let path: String
  /// Index of the video stream; nil when there is none.
  let videoStream: Int?
  /// Index of the audio stream; nil when there is none.
  let audioStream: Int?
  private let interrupt: LibavInterrupt
  private var context: UnsafeMutablePointer<AVFormatContext>
  /// Decode time of the first packet of each stream, in its time base.
  private var firstTimes: [Int32: Int64] = [:]
  /// A packet that was read while seeking and is returned next.
  private var pending: UnsafeMutablePointer<AVPacket>?
  private var isAtStart = true

  /// Opens the file and reads its stream information.
  ///
  /// - Throws: ``VidiconError`` when it cannot be opened or has neither video nor audio.
  init(path: String, interrupt: LibavInterrupt) throws(VidiconError) {
    // FFmpeg's messages would interleave with the program's own lines; failures are reported by errors.
    av_log_set_level(AV_LOG_QUIET)
    let context = try Self.open(path, interrupt: interrupt)
    let video = context.bestStream(AVMEDIA_TYPE_VIDEO)
    let audio = context.bestStream(AVMEDIA_TYPE_AUDIO)
    guard video != nil || audio != nil else {
      var opened: UnsafeMutablePointer<AVFormatContext>? = context
      avformat_close_input(&opened)
      throw VidiconError(
        .missingTrack, subject: path, cause: "it has neither video nor audio",
        nextStep: "list its streams with: ffprobe \(path)")
    }
    self.path = path
    self.interrupt = interrupt
    self.context = context
    self.videoStream = video
    self.audioStream = audio
    for index in 0..<Int(self.context.pointee.nb_streams) where index != self.videoStream && index != self.audioStream {
      self.stream(index).pointee.discard = AVDISCARD_ALL
    }
  }

  deinit {
    av_packet_free(&self.pending)
    var opened: UnsafeMutablePointer<AVFormatContext>? = self.context
    avformat_close_input(&opened)
  }

  /// The stream at ``videoStream`` or ``audioStream``.
  func stream(_ index: Int) -> UnsafeMutablePointer<AVStream> {
    // libavformat has a stream for every index below nb_streams.
    self.context.pointee.streams[index]!
  }

  /// Frame rate of a stream.
  func frameRate(_ index: Int) -> FrameRate {
    self.context.frameRate(of: self.stream(index))
  }

  /// The earliest timestamp in nanoseconds; nil when libavformat does not know it.
  var startTime: Int64? {
    let start = self.context.pointee.start_time
    guard start != vidicon_av_nopts_value else { return nil }
    let (nanoseconds, overflow) = start.multipliedReportingOverflow(by: 1_000)
    return overflow ? nil : nanoseconds
  }

  /// Whether the container format allows timestamp discontinuities, as MPEG-TS does.
  var hasDiscontinuities: Bool {
    self.context.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT != 0
  }

  /// Enables or disables reading packets of a stream.
  func setActive(_ isActive: Bool, stream index: Int) {
    self.stream(index).pointee.discard = isActive ? AVDISCARD_DEFAULT : AVDISCARD_ALL
  }

  /// Reads the next packet.
  ///
  /// - Returns: 0, or a status of libavformat; `AVERROR_EOF` at the end of the file.
  func read(into packet: UnsafeMutablePointer<AVPacket>) -> Int32 {
    if let pending = self.pending {
      av_packet_move_ref(packet, pending)
      av_packet_free(&self.pending)
      return 0
    }
    self.isAtStart = false
    self.interrupt.callBegins()
    let status = av_read_frame(self.context, packet)
    if status == 0, self.firstTimes[packet.pointee.stream_index] == nil {
      self.firstTimes[packet.pointee.stream_index] = packet.pointee.dts
    }
    return status
  }

  /// Seeks to the start, so that the first packets are read again.
  func rewind() throws(VidiconError) {
    av_packet_free(&self.pending)
    guard !self.isAtStart else { return }
    if !self.seekToStart() { try self.reopen() }
  }

  /// Seeks and verifies that the first packet is read again: in many formats seeking is inexact.
  private func seekToStart() -> Bool {
    let start = self.context.pointee.start_time
    guard !self.hasDiscontinuities, start != vidicon_av_nopts_value,
      self.context.pointee.pb.map({ $0.pointee.seekable != 0 }) ?? false
    else { return false }
    self.interrupt.callBegins()
    guard avformat_seek_file(self.context, -1, .min, start, start, 0) >= 0, let packet = av_packet_alloc() else {
      return false
    }
    self.pending = packet
    self.interrupt.callBegins()
    if av_read_frame(self.context, packet) == 0, packet.pointee.dts == self.firstTimes[packet.pointee.stream_index] {
      return true
    }
    av_packet_free(&self.pending)
    return false
  }

  private func reopen() throws(VidiconError) {
    let fresh = try Self.open(self.path, interrupt: self.interrupt)
    let old = self.context
    let isSame =
      fresh.pointee.nb_streams == old.pointee.nb_streams
      && (0..<Int(old.pointee.nb_streams)).allSatisfy {
        fresh.pointee.streams[$0]?.pointee.codecpar.pointee.codec_id
          == old.pointee.streams[$0]?.pointee.codecpar.pointee.codec_id
      }
    var closing: UnsafeMutablePointer<AVFormatContext>? = isSame ? old : fresh
    if isSame {
      for index in 0..<Int(old.pointee.nb_streams) {
        fresh.pointee.streams[index]?.pointee.discard = old.pointee.streams[index]?.pointee.discard ?? AVDISCARD_DEFAULT
      }
      self.context = fresh
      self.isAtStart = true
    }
    avformat_close_input(&closing)
    if !isSame {
      throw VidiconError(
        .failed, subject: self.path, cause: "it was replaced by another file during playback",
        nextStep: "restart to play the new one")
    }
  }

  private static func open(
    _ path: String, interrupt: LibavInterrupt
  ) throws(VidiconError) -> UnsafeMutablePointer<AVFormatContext> {
    let url = try Self.url(path)
    var opened = avformat_alloc_context()
    guard let allocated = opened else { throw VidiconError(libav: -ENOMEM, source: path) }
    allocated.pointee.interrupt_callback = interrupt.callback
    interrupt.callBegins()
    LibavLog.silence()
    var status = avformat_open_input(&opened, url, nil, nil)
    // On failure the context has been freed.
    guard status >= 0, let context = opened else { throw VidiconError(libav: status, source: path) }
    interrupt.callBegins()
    status = avformat_find_stream_info(context, nil)
    guard status >= 0 else {
      avformat_close_input(&opened)
      throw VidiconError(libav: status, source: path)
    }
    return context
  }

  /// The URL for libavformat, to which a file name such as "12:30.mp4" looks like a URL.
  private static func url(_ path: String) throws(VidiconError) -> String {
    if path.isEmpty {
      throw VidiconError(
        .invalidSpecification, subject: "file:", cause: "no path is given", nextStep: "write file:PATH")
    }
    let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-" || $0 == ".") }
    var status = stat()
    if stat(path, &status) == 0 {
      if status.st_mode & S_IFMT == S_IFDIR { throw VidiconError(libav: -EISDIR, source: path) }
      return "file:" + path
    }
    let isURL = !scheme.isEmpty && path.dropFirst(scheme.count).first == ":"
    return isURL ? path : "file:" + path
  }
}
