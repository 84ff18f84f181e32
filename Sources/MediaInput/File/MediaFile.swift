internal import CLibav
internal import Codecs
internal import Libc
internal import Media

/// A file or URL opened by libavformat: its streams and packets, with rewinding.
final class MediaFile {
  /// The path or URL for messages, without a password.
  let path: String
  /// The path or URL, as its user wrote it.
  private let location: String
  /// Whether only media containers on the disk are opened, no playlists.
  private let isConfined: Bool
  /// Tracks that may be played.
  let choice: StreamChoice
  /// The streams that are read.
  private(set) var played: [MediaKind: PlayedStream] = [:]
  /// Streams without a decoder.
  private(set) var refused: Set<Int> = []
  /// The streams with which a pass begins.
  private var initialStreams: (video: Int?, audio: Int?) = (nil, nil)
  /// Whether streams may begin and end amid the file, as where clips were joined.
  let mayChangeStreams: Bool
  /// Whether streams replace others: not while tracks are opened, which may start again with other streams.
  var continuesTracks = false
  /// Streams in the program maps that have been read.
  private var listed: ProgramStreams
  /// Likewise, up to the packet that was returned last: indices of programs by that of each stream; empty where the container has none.
  private(set) var listedAtPacket: [Int: Set<Int>] = [:]
  private let interrupt: LibavInterrupt
  private let requests: RequestOptions
  private(set) var context: UnsafeMutablePointer<AVFormatContext>
  /// Codecs of the streams at the opening: more may begin later.
  private let codecs: [AVCodecID]
  /// Decode time of the first packet of each stream, in its time base.
  private var firstTimes: [Int32: Int64] = [:]
  /// Packets that were read ahead and are returned next, with the streams in the program maps before each.
  private var pending: [(packet: UnsafeMutablePointer<AVPacket>, listed: [Int: Set<Int>])] = []
  private var isAtStart = true
  /// Whether timestamps have jumped, so that a time may be found at several places: no seeking.
  var hasJumped = false

  /// Packets, and bytes of them, that are read ahead to find out whether a stream jumps.
  private static let lookahead = (packetCount: 256, byteCount: 16 << 20)

  /// Opens the file and reads its stream information.
  ///
  /// - Parameter isConfined: Whether only media containers on the disk are opened: a playlist could lead elsewhere.
  /// - Throws: ``VidiconError`` when it cannot be opened or has neither video nor audio.
  init(path location: String, isConfined: Bool, interrupt: LibavInterrupt) throws(VidiconError) {
    let path = NetworkSpecification.masked(location)
    let requests = RequestOptions(["tls_verify": "1"])
    let context = try Self.open(
      location, name: path, isConfined: isConfined, requests: requests, interrupt: interrupt)
    let choice = StreamChoice(context)
    guard !choice.video.isEmpty || !choice.audio.isEmpty else {
      var opened: UnsafeMutablePointer<AVFormatContext>? = context
      avformat_close_input(&opened)
      throw VidiconError(
        .missingTrack, subject: path, cause: "it has neither video nor audio",
        nextStep: "list its streams with: ffprobe \(path)")
    }
    self.path = path
    self.location = location
    self.isConfined = isConfined
    self.interrupt = interrupt
    self.requests = requests
    self.context = context
    self.codecs = Self.codecs(of: context)
    self.mayChangeStreams = ["mpegts", "mpeg"].contains(String(cString: context.pointee.iformat.pointee.name))
    self.listed = ProgramStreams(context)
    self.choice = choice
    self.select(video: nil, audio: nil)
  }

  /// Chooses the streams with which each pass begins.
  func select(video: Int?, audio: Int?) {
    self.played[.video] = video.map { PlayedStream($0) }
    self.played[.audio] = audio.map { PlayedStream($0) }
    self.initialStreams = (video, audio)
    self.refused = []
    for index in 0..<Int(self.context.pointee.nb_streams) {
      self.setActive(index == video || index == audio || self.mayReplaceStream(index), stream: index)
    }
  }

  /// Reads the stream of a packet from now on in place of the one of its kind.
  func replaceStream(of kind: MediaKind, by packet: UnsafeMutablePointer<AVPacket>) {
    self.played[kind]?.replace(
      by: Int(packet.pointee.stream_index), at: packet.pointee.pos, listed: self.listedAtPacket)
  }

  /// Reads a stream without a decoder no more in this pass.
  func refuse(stream index: Int) {
    self.refused.insert(index)
    self.setActive(false, stream: index)
  }

  deinit {
    self.removePending()
    var opened: UnsafeMutablePointer<AVFormatContext>? = self.context
    avformat_close_input(&opened)
  }

  /// Stream of an index.
  ///
  /// - Throws: ``VidiconError`` where the file, as far as it was read, has none of this index.
  func stream(_ index: Int) throws(VidiconError) -> UnsafeMutablePointer<AVStream> {
    guard (0..<Int(self.context.pointee.nb_streams)).contains(index), let stream = self.context.pointee.streams[index]
    else { throw VidiconError(libav: vidicon_averror_invaliddata, source: self.path) }
    return stream
  }

  /// The error of a file none of whose tracks of a kind can be decoded.
  func undecodable(_ kind: MediaKind) -> VidiconError {
    // libavcodec decodes stills of this format only.
    if kind == .video, self.choice.video.contains(where: { self.codecs[$0] == AV_CODEC_ID_WEBP }) {
      return VidiconError(
        .unsupported, subject: self.path, cause: "its WebP image is damaged, or animated, which is not supported",
        nextStep: "convert an animation to MP4, GIF or animated PNG")
    }
    return VidiconError(
      .invalidData, subject: self.path, cause: "none of its \(kind) can be decoded",
      nextStep: "check whether this plays it: ffplay \(self.path)")
  }

  /// Frame rate of a stream.
  func frameRate(_ index: Int) throws(VidiconError) -> FrameRate {
    self.context.frameRate(of: try self.stream(index))
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
    guard let stream = try? self.stream(index) else { return }
    stream.pointee.discard = isActive ? AVDISCARD_DEFAULT : AVDISCARD_ALL
  }

  /// Reads the next packet.
  ///
  /// - Returns: 0, or a status of libavformat; `AVERROR_EOF` at the end of the file.
  func read(into packet: UnsafeMutablePointer<AVPacket>) -> Int32 {
    if self.pending.isEmpty {
      let status = self.readNext(into: packet)
      guard status == 0 else { return status }
      self.listedAtPacket = self.listed.programs
    } else {
      let first = self.pending.removeFirst()
      self.listedAtPacket = first.listed
      var next: UnsafeMutablePointer<AVPacket>? = first.packet
      av_packet_move_ref(packet, next)
      av_packet_free(&next)
    }
    guard self.mayChangeStreams else { return 0 }
    for kind in MediaKind.allCases {
      self.played[kind]?.handle(
        packetOf: Int(packet.pointee.stream_index), at: packet.pointee.pos, listed: self.listedAtPacket)
    }
    return 0
  }

  /// Reads packets ahead, at most 256 or 16 MiB of all streams, and calls a function with the decode times of those of a stream, in
  /// nanoseconds, until it returns false.
  func readAhead(_ stream: Int, _ body: (Int64) -> Bool) {
    self.readAhead(within: Self.lookahead) { packet in
      guard Int(packet.stream_index) == stream, let time = self.time(of: packet) else { return true }
      return body(time)
    }
  }

  /// Decode time of a packet, or else its presentation time, in nanoseconds; nil where it has none.
  func time(of packet: AVPacket) -> Int64? {
    let time = packet.dts == vidicon_av_nopts_value ? packet.pts : packet.dts
    guard time != vidicon_av_nopts_value, let stream = try? self.stream(Int(packet.stream_index)) else { return nil }
    return av_rescale_q(time, stream.pointee.time_base, PacketDecoder.timeBase)
  }

  /// Reads packets of all streams ahead, up to a limit, and calls a function with them until it returns false.
  func readAhead(within limit: (packetCount: Int, byteCount: Int), _ body: (AVPacket) -> Bool) {
    var (index, byteCount) = (0, 0)
    while index < limit.packetCount, byteCount < limit.byteCount {
      if index == self.pending.count {
        var packet = av_packet_alloc()
        guard let next = packet, self.readNext(into: next) == 0 else {
          av_packet_free(&packet)
          return
        }
        self.pending.append((next, self.listed.programs))
      }
      let packet = self.pending[index].packet.pointee
      guard body(packet) else { return }
      index += 1
      byteCount += Int(packet.size)
    }
  }

  private func readNext(into packet: UnsafeMutablePointer<AVPacket>) -> Int32 {
    self.isAtStart = false
    self.interrupt.callBegins()
    let status = av_read_frame(self.context, packet)
    if status == 0, self.firstTimes[packet.pointee.stream_index] == nil {
      self.firstTimes[packet.pointee.stream_index] = packet.pointee.dts
    }
    if self.mayChangeStreams { self.listed.update(self.context) }
    return status
  }

  /// Seeks to the start, so that the first packets are read again.
  func rewind() throws(VidiconError) {
    self.removePending()
    guard !self.isAtStart else { return }
    if !self.seekToStart() { try self.reopen() }
    if self.mayChangeStreams { self.select(video: self.initialStreams.video, audio: self.initialStreams.audio) }
  }

  /// Seeks and verifies that the first packet is read again: in many formats seeking is inexact.
  private func seekToStart() -> Bool {
    let start = self.context.pointee.start_time
    guard !self.hasDiscontinuities, !self.hasJumped, start != vidicon_av_nopts_value,
      self.context.pointee.pb.map({ $0.pointee.seekable != 0 }) ?? false
    else { return false }
    self.interrupt.callBegins()
    guard avformat_seek_file(self.context, -1, .min, start, start, 0) >= 0, let packet = av_packet_alloc() else {
      return false
    }
    self.pending = [(packet, self.listed.programs)]
    self.interrupt.callBegins()
    if av_read_frame(self.context, packet) == 0, packet.pointee.dts == self.firstTimes[packet.pointee.stream_index] {
      return true
    }
    self.removePending()
    return false
  }

  private func removePending() {
    for pending in self.pending {
      var packet: UnsafeMutablePointer<AVPacket>? = pending.packet
      av_packet_free(&packet)
    }
    self.pending = []
  }

  private func reopen() throws(VidiconError) {
    let fresh = try Self.open(
      self.location, name: self.path, isConfined: self.isConfined, requests: self.requests, interrupt: self.interrupt)
    let old = self.context
    let isSame = Self.codecs(of: fresh) == self.codecs
    var closing: UnsafeMutablePointer<AVFormatContext>? = isSame ? old : fresh
    if isSame {
      for index in self.codecs.indices {
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

  private static func codecs(of context: UnsafeMutablePointer<AVFormatContext>) -> [AVCodecID] {
    (0..<Int(context.pointee.nb_streams)).map {
      context.pointee.streams[$0]?.pointee.codecpar.pointee.codec_id ?? AV_CODEC_ID_NONE
    }
  }

  private static func open(
    _ location: String, name path: String, isConfined: Bool, requests: RequestOptions, interrupt: LibavInterrupt
  ) throws(VidiconError) -> UnsafeMutablePointer<AVFormatContext> {
    let url = try Self.url(location, name: path)
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    for (name, value) in isConfined ? Self.confinedOptions : Self.options { av_dict_set(&options, name, value, 0) }
    var opened = avformat_alloc_context()
    guard let allocated = opened else { throw VidiconError(libav: -ENOMEM, source: path) }
    allocated.pointee.interrupt_callback = interrupt.callback
    requests.attach(to: allocated)
    interrupt.callBegins()
    LibavLog.silence()
    var status = avformat_open_input(&opened, url, nil, &options)
    // On failure the context has been freed.
    guard status >= 0, let context = opened else { throw VidiconError(libav: status, source: path) }
    interrupt.callBegins()
    status = context.findStreamInformation()
    guard status >= 0 else {
      avformat_close_input(&opened)
      throw VidiconError(libav: status, source: path)
    }
    return context
  }

  /// A playlist may lead to other files and servers, but not to protocols that join or cut files, or start programs.
  private static let options: KeyValuePairs<String, String> = [
    "protocol_whitelist": "file,tcp,tls,udp,rtp,srtp,http,https,httpproxy,crypto,data,rtsp,rtsps,rtmp,rtmps,srt",
    "tls_verify": "1",
  ]

  /// Local files in container formats that contain their media, for paths chosen by clients.
  private static let confinedOptions: KeyValuePairs<String, String> = [
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mpegts,mpeg,avi,flv,ogg,wav,mp3,aac,flac,h264,hevc,"
      + "m4v,mjpeg,ivf,mxf,asf,nut,yuv4mpegpipe,amr,ac3,eac3,aiff,au,caf,dv,gif,image2,jpeg_pipe,png_pipe,webp_pipe,"
      + "bmp_pipe,live_flv,mpegvideo,av1,obu",
  ]

  /// The URL for libavformat, to which a file name such as "12:30.mp4" looks like a URL.
  private static func url(_ path: String, name: String) throws(VidiconError) -> String {
    if path.isEmpty {
      throw VidiconError(
        .invalidSpecification, subject: "file:", cause: "no path is given", nextStep: "write file:PATH")
    }
    let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-" || $0 == ".") }
    var status = stat()
    if stat(path, &status) == 0 {
      if status.st_mode & S_IFMT == S_IFDIR { throw VidiconError(libav: -EISDIR, source: name) }
      return "file:" + path
    }
    let isURL = !scheme.isEmpty && path.dropFirst(scheme.count).first == ":"
    return isURL ? path : "file:" + path
  }
}
