internal import Bitstreams
internal import CLibav
internal import Codecs
internal import Media
internal import NIOCore
internal import RTSP
internal import Threading

/// A network stream opened by libavformat: its tracks and packets. Used by one thread at a time.
// Safe because the opening thread transfers it to the reading thread and keeps no reference.
final class LibavConnection: NetworkConnection, @unchecked Sendable {
  let tracks: NetworkTracks
  let pace: SourceTimeline.Pace
  let interrupt: LibavInterrupt
  private let specification: NetworkSpecification
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let requests: RequestOptions
  /// The named pipe that is read; nil for others.
  private let fifo: FIFOReader?
  /// Stream index of each track.
  private var streams: [MediaKind: Int]
  /// Whether the response is an image that does not say so.
  private let isSnapshot: Bool
  /// Format of a response that is an image of another format than those of snapshots, such as "BMP"; nil for others.
  private let otherImage: String?
  /// Whether packets have no timestamps.
  private let isUntimed: Bool
  /// Times of packets without timestamps that can be held back; nil where those of the arrival are taken.
  private var untimed: UntimedPackets?
  /// A packet that was read before a change of the pace was returned.
  private var pending: NetworkPacket?
  /// Drift of the video against the audio, of a camera that has not sent reports; nil for other sources.
  private var drift: TrackDrift?
  /// Decode times of video where the container has none; nil where it has, or no frame is reordered.
  private var decodeTimes: DecodeTimes?
  /// Maximum time to wait for the next packet; nil where the rhythm of the source decides.
  private let readTimeout: MediaDuration?
  private var life = SourceLife(at: StreamClock.system.now())
  /// Arrival of the last packet of each track, or the opening.
  private var lastPacketTimes: [MediaKind: MediaTime]
  /// Length of an ADTS header with its CRC.
  private static let maximumHeadLength = 9
  /// Time at which the next audio packet begins, in nanoseconds; nil when unknown.
  private var nextAudioTime: Int64?
  /// Time without one, while others send, after which they are taken for replaced.
  private static let replacementTimeout = MediaDuration.seconds(3)
  /// A writer may pause for as long as it likes.
  private static let writerTimeout = MediaDuration.seconds(86_400)
  /// Maximum time without a packet where nothing else shows that the connection lives.
  static let mediaTimeout = MediaDuration.seconds(15)

  /// Whether a connection ends by itself when the peer cannot be reached any more: SRT sends signs of life (draft-sharabayko-srt-01
  /// §3.2.3), and TCP does with ``ConnectGuard``; over UDP, RTSP has a connection beside the packets.
  static func noticesLoss(of specification: NetworkSpecification) -> Bool {
    specification.scheme == "srt" || ConnectGuard.isEffective
  }

  /// Connects and reads the stream information; each takes at most 10 seconds. Images over HTTP are not demuxed by libavformat.
  ///
  /// - Parameters:
  ///   - interrupt: Interrupts blocking calls.
  ///   - snapshots: Times of images that are requested one by one.
  ///   - backChannels: Audio of an RTSP server's description that is not received.
  static func connect(
    _ specification: NetworkSpecification, interrupt: LibavInterrupt,
    snapshots: MotionJPEGConnection.Snapshots = MotionJPEGConnection.Snapshots(),
    backChannels: RTSPBackChannels = RTSPBackChannels()
  ) throws(VidiconError) -> any NetworkConnection {
    func show(_ response: ImageResponse) throws(VidiconError) -> any NetworkConnection {
      try MotionJPEGConnection(response, specification, interrupt: interrupt, snapshots: snapshots)
    }
    if specification.namesImage {
      // By its name alone, libavformat's demuxer of image files would request it, without the options of requests.
      let response = try ImageResponse(requesting: specification, interrupt: interrupt)
      if response.content != .other { return try show(response) }
    }
    let requests = RequestOptions(
      Self.requestOptions(of: specification), keepsImages: specification.scheme.hasPrefix("http"))
    do throws(VidiconError) {
      let connection = try LibavConnection(
        specification, requests: requests, interrupt: interrupt, backChannels: backChannels)
      guard connection.isSnapshot else {
        guard let format = connection.otherImage else { return connection }
        throw .unsupportedImage(format, of: specification.description)
      }
    } catch {
      guard let response = requests.takeImages() else { throw error }
      return try show(response)
    }
    return try show(ImageResponse(requesting: specification, interrupt: interrupt))
  }

  private init(
    _ specification: NetworkSpecification, requests: RequestOptions, interrupt: LibavInterrupt,
    backChannels: RTSPBackChannels
  ) throws(VidiconError) {
    let fifo = specification.isFIFO ? try FIFOReader(path: specification.url, interrupt: interrupt) : nil
    let context = try Self.open(
      specification, url: fifo.map { "pipe:\($0.descriptor)" } ?? specification.url, requests: requests,
      interrupt: interrupt, backChannels: backChannels)
    var streams: [MediaKind: Int] = [:]
    do throws(VidiconError) {
      self.tracks = try NetworkTracks(context, streams: &streams, source: specification.description)
    } catch {
      var opened: UnsafeMutablePointer<AVFormatContext>? = context
      avformat_close_input(&opened)
      throw error
    }
    self.specification = specification
    self.interrupt = interrupt
    self.context = context
    self.requests = requests
    self.fifo = fifo
    self.streams = streams
    let now = StreamClock.system.now()
    self.lastPacketTimes = streams.mapValues { _ in now }
    let name = String(cString: context.pointee.iformat.pointee.name)
    let isSegmented = name.hasPrefix("hls") || name.hasPrefix("dash")
    let isFile = specification.scheme.hasPrefix("http") && context.pointee.pb.map { avio_size($0) > 0 } ?? false
    // Of a stream of images, the first one ends where the second one begins.
    let isWhole =
      specification.scheme.hasPrefix("http") && context.pointee.pb.map { $0.pointee.eof_reached != 0 } ?? false
    self.isSnapshot =
      specification.scheme.hasPrefix("http") && ["jpeg_pipe", "png_pipe", "webp_pipe"].contains(name)
      || isWhole && !isFile && name == "mjpeg"
    self.otherImage = isWhole && name.hasSuffix("_pipe") ? String(name.dropLast("_pipe".count)).uppercased() : nil
    let isCamera = specification.scheme.hasPrefix("rtsp")
    let isDatagrams = specification.scheme == "srt" || specification.transport == .udp
    if ["rtsp", "sdp", "rtp"].contains(name), streams.count > 1 { self.drift = TrackDrift() }
    self.isUntimed = context.isUntimed
    self.untimed = self.isUntimed && !isDatagrams && !isCamera ? UntimedPackets(mayBeLive: !isFile) : nil
    self.pace =
      self.isUntimed && !isFile
      ? (self.untimed == nil ? .unheld : .counted)
      : isSegmented || isFile || specification.isFIFO
        ? .buffered : isDatagrams ? .unheld : isCamera ? .camera : .pulled
    let reorderedCount = streams[.video].flatMap { context.pointee.streams[$0]?.pointee.codecpar.pointee.video_delay }
    if name.hasPrefix("matroska"), let reorderedCount, reorderedCount > 0 {
      self.decodeTimes = DecodeTimes(reorderedCount: Int(reorderedCount))
    }
    self.readTimeout =
      specification.isFIFO
      ? Self.writerTimeout : isSegmented ? .seconds(30) : Self.noticesLoss(of: specification) ? nil : Self.mediaTimeout
    for index in 0..<Int(context.pointee.nb_streams) where !streams.values.contains(index) {
      context.pointee.streams[index]?.pointee.discard = AVDISCARD_ALL
    }
  }

  deinit {
    var opened: UnsafeMutablePointer<AVFormatContext>? = self.context
    avformat_close_input(&opened)
  }

  func read() throws(VidiconError) -> NetworkItem? {
    if let packet = self.pending.take() { return .packet(packet) }
    guard let demuxed = LibavPacket() else { throw self.error(-ENOMEM) }
    let start = StreamClock.system.now()
    self.interrupt.callBegins(limit: self.readTimeout ?? self.life.mediaTimeout)
    let (status, isRefused) = ConnectGuard.run(isActive: !self.specification.allowsLinkLocal) {
      av_read_frame(self.context, demuxed.pointer)
    }
    // A playlist that leads to a refused address goes on with its next segment.
    if isRefused { throw .refusedLinkLocal(self.specification.description) }
    if status == vidicon_averror_eagain { return nil }
    // A writer has ended, as a file does.
    if status == vidicon_averror_eof, self.specification.isFIFO { return .ended }
    guard status >= 0 else { throw self.error(status) }
    let now = StreamClock.system.now()
    let content = demuxed.pointer.pointee
    guard content.size > 0, let stream = self.context.pointee.streams[Int(content.stream_index)] else { return nil }
    guard let kind = self.kind(of: content.stream_index) else {
      return try self.handleOther(demuxed, of: stream, at: now)
    }
    self.lastPacketTimes[kind] = now
    self.life.handleMedia(kind, at: now)
    var packet = self.makePacket(demuxed, kind, of: stream)
    self.followDrift(of: &packet, at: now)
    if let change = self.setTime(of: &packet, after: now - start) {
      self.pending = packet
      return change
    }
    return .packet(packet)
  }

  /// A packet with the times that it has, apart from that of one without timestamps.
  private func makePacket(
    _ demuxed: LibavPacket, _ kind: MediaKind, of stream: UnsafeMutablePointer<AVStream>
  ) -> NetworkPacket {
    let content = demuxed.pointer.pointee
    var packet = NetworkPacket(demuxed, kind: kind)
    let timeBase = stream.pointee.time_base
    packet.decodeTime = self.isUntimed ? nil : Self.nanoseconds(content.dts, timeBase)
    packet.presentationTime = self.isUntimed ? nil : Self.nanoseconds(content.pts, timeBase)
    packet.duration = Self.nanoseconds(content.duration, timeBase).flatMap {
      (1...10_000_000_000).contains($0) ? MediaDuration(nanoseconds: $0) : nil
    }
    if kind == .audio, !self.isUntimed {
      self.completeTimes(ofAudio: &packet, demuxed.bytes, stream.pointee.codecpar.pointee.codec_id)
    }
    if kind == .video, let time = packet.presentationTime {
      packet.decodeTime =
        self.decodeTimes?.time(
          of: time, isKeyframe: packet.isKeyframe, interval: (packet.duration ?? .milliseconds(40)).nanoseconds)
        ?? packet.decodeTime
    }
    return packet
  }

  /// Corrects the times of a packet for the drift of the video, up to a report of the source, by which libavformat corrects them.
  private func followDrift(of packet: inout NetworkPacket, at now: MediaTime) {
    guard self.drift != nil, let time = packet.decodeTime ?? packet.presentationTime else { return }
    if self.context.pointee.start_time_realtime != vidicon_av_nopts_value { self.drift?.end() }
    guard let shift = self.drift?.shift(of: packet.kind, at: time, arrival: now), shift != 0 else { return }
    packet.decodeTime = packet.decodeTime.map { $0 + shift }
    packet.presentationTime = packet.presentationTime.map { $0 + shift }
  }

  /// Sets the time of a packet without timestamps.
  ///
  /// - Parameter wait: Time in which it was waited for.
  /// - Returns: A change of the pace that precedes the packet; nil without one.
  private func setTime(of packet: inout NetworkPacket, after wait: MediaDuration) -> NetworkItem? {
    guard var untimed = self.untimed else { return nil }
    packet.decodeTime = untimed.time(of: packet.duration, after: wait)?.nanoseconds
    let isChanged = untimed.isLive != self.untimed?.isLive
    self.untimed = untimed
    return isChanged ? .changedPace(untimed.isLive ? .unheld : .counted) : nil
  }

  /// Sets the times of audio that libavformat leaves out where its codec is not known yet, or was not when the connection was opened: of
  /// several frames of AAC in a packet of MPEG-TS, the first one has a time, and none a duration.
  private func completeTimes(
    ofAudio packet: inout NetworkPacket, _ bytes: UnsafeRawBufferPointer, _ codec: AVCodecID
  ) {
    if packet.decodeTime == nil { packet.decodeTime = packet.presentationTime ?? self.nextAudioTime }
    if packet.presentationTime == nil { packet.presentationTime = packet.decodeTime }
    var head = ByteBuffer(bytes: bytes.prefix(Self.maximumHeadLength))
    if packet.duration == nil, codec == AV_CODEC_ID_AAC, let header = try? ADTSHeader(parsing: &head) {
      packet.duration = header.duration
    }
    self.nextAudioTime = packet.decodeTime.flatMap { time in packet.duration.map { time + $0.nanoseconds } }
  }

  /// Adopts the stream of a packet, which has begun since the opening, as at an event of a broadcaster, where it is of use.
  ///
  /// - Returns: Its track, which the packet follows, where there is none of its kind, or the chosen one has ended.
  /// - Throws: Where all tracks have ended, and this one is of no use: a new connection chooses again.
  private func handleOther(
    _ demuxed: LibavPacket, of stream: UnsafeMutablePointer<AVStream>, at now: MediaTime
  ) throws(VidiconError) -> NetworkItem? {
    let kind: MediaKind
    switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_VIDEO: kind = .video
    case AVMEDIA_TYPE_AUDIO: kind = .audio
    default: return nil
    }
    let index = Int(demuxed.pointer.pointee.stream_index)
    let isSilent = self.lastPacketTimes[kind].map { now - $0 > Self.replacementTimeout } ?? true
    // The program map leaves out what has ended, and lists what is there instead.
    let isReplaced =
      self.streams[kind].map { !self.context.isInProgram($0) && self.context.isInProgram(index) } ?? false
    // Of several frames of audio in a packet of MPEG-TS, the first one has a time.
    guard isSilent || isReplaced, demuxed.pointer.pointee.pts != vidicon_av_nopts_value else { return nil }
    let choice = StreamChoice(self.context)
    let candidates = kind == .video ? choice.video : choice.audio
    guard isSilent || candidates.first(where: self.context.isInProgram) == index else { return nil }
    guard candidates.contains(index), let change = self.makeTrack(kind, of: stream) else {
      if self.lastPacketTimes.values.allSatisfy({ now - $0 > Self.replacementTimeout }) { throw self.error(-ETIMEDOUT) }
      if !candidates.contains(index) { stream.pointee.discard = AVDISCARD_ALL }
      return nil
    }
    (self.streams[kind], self.lastPacketTimes[kind]) = (index, now)
    if kind == .audio { self.nextAudioTime = nil }
    self.pending = self.makePacket(demuxed, kind, of: stream)
    return change
  }

  /// The track of a stream that has begun; nil where it cannot be decoded, or the source has no video.
  private func makeTrack(_ kind: MediaKind, of stream: UnsafeMutablePointer<AVStream>) -> NetworkItem? {
    let source = self.specification.description
    switch kind {
    case .video:
      guard self.tracks.videoFormat != nil else { return nil }
      let track = try? NetworkVideoTrack(
        stream: stream, frameRate: self.context.frameRate(of: stream), isUntimed: self.isUntimed, source: source)
      return track.map { .changedVideo($0) }
    case .audio:
      let track = try? NetworkAudioTrack(stream: stream, source: source)
      return track.map { .changedAudio($0) }
    }
  }

  private func kind(of stream: Int32) -> MediaKind? {
    self.streams.first { $0.value == Int(stream) }?.key
  }

  private func error(_ status: Int32) -> VidiconError {
    VidiconError(network: status, of: self.specification)
  }

  /// Converts a timestamp to nanoseconds; nil when it is absent, or beyond 36 years, which is damaged and would overflow.
  private static func nanoseconds(_ time: Int64, _ timeBase: AVRational) -> Int64? {
    guard time != vidicon_av_nopts_value, timeBase.num > 0, timeBase.den > 0 else { return nil }
    let nanoseconds = av_rescale_q(time, timeBase, PacketDecoder.timeBase)
    return (-(1 << 60)...(1 << 60)).contains(nanoseconds) ? nanoseconds : nil
  }

  private static func open(
    _ specification: NetworkSpecification, url: String, requests: RequestOptions, interrupt: LibavInterrupt,
    backChannels: RTSPBackChannels
  ) throws(VidiconError) -> UnsafeMutablePointer<AVFormatContext> {
    if specification.scheme == "rtsps", !specification.isInsecure, !Self.verifiesRTSPS {
      throw .unverifiableRTSPS(specification.description)
    }
    let isGuarded = !specification.allowsLinkLocal
    guard !isGuarded || ConnectGuard.isEffective else { throw .uncheckedConnections(specification.description) }
    var opened = avformat_alloc_context()
    guard let allocated = opened else { throw VidiconError(network: -ENOMEM, of: specification) }
    allocated.pointee.interrupt_callback = interrupt.callback
    requests.attach(to: allocated)
    var options = Self.options(of: specification)
    defer { av_dict_free(&options) }
    if backChannels.areAllAudio { av_dict_set(&options, "allowed_media_types", "video", 0) }
    let timeout = specification.isFIFO ? Self.writerTimeout : .seconds(10)
    interrupt.callBegins(limit: timeout)
    LibavLog.silence()
    var (status, isRefused) = ConnectGuard.run(isActive: isGuarded) {
      avformat_open_input(&opened, url, nil, &options)
    }
    // On failure the context has been freed.
    guard status >= 0, let context = opened else {
      throw isRefused
        ? .refusedLinkLocal(specification.description) : VidiconError(network: status, of: specification)
    }
    if !backChannels.areAllAudio { context.hideStreams(backChannels.indices) }
    interrupt.callBegins(limit: timeout)
    let search = ConnectGuard.run(isActive: isGuarded) { context.findStreamInformation() }
    status = search.result
    guard status >= 0, !isRefused, !search.isRefused, !interrupt.isCancelled else {
      avformat_close_input(&opened)
      throw isRefused || search.isRefused
        ? .refusedLinkLocal(specification.description)
        : VidiconError(network: status >= 0 ? vidicon_averror_exit : status, of: specification)
    }
    return context
  }

  /// Whether libavformat verifies certificates of RTSP over TLS: version 5.1, Debian 12's, has no option for it.
  private static let verifiesRTSPS: Bool = {
    guard let format = av_find_input_format("rtsp") else { return false }
    var options: UnsafePointer<AVClass>? = format.pointee.priv_class
    return withUnsafeMutablePointer(to: &options) {
      av_opt_find($0, "tls_verify", nil, 0, AV_OPT_SEARCH_FAKE_OBJ) != nil
    }
  }()

  /// Names of all demuxers but some.
  private static func formats(without excluded: [String]) -> String {
    var names: [String] = []
    var position: UnsafeMutableRawPointer?
    while let format = av_demuxer_iterate(&position) {
      let name = String(cString: format.pointee.name)
      if !excluded.contains(name) { names.append(name) }
    }
    return names.joined(separator: ",")
  }

  /// Options of the connection and of each request of a demuxer.
  private static func requestOptions(of specification: NetworkSpecification) -> KeyValuePairs<String, String> {
    // The system's certificate authorities.
    let verification = specification.isInsecure ? "0" : "1"
    // A proxy of the environment would connect to addresses that are not checked here.
    return specification.allowsLinkLocal
      ? ["tls_verify": verification] : ["tls_verify": verification, "http_proxy": ""]
  }

  /// Options of a connection, to be freed by the caller.
  static func options(of specification: NetworkSpecification) -> OpaquePointer? {
    var options: OpaquePointer?
    let network = "tcp,tls,udp,rtp,srtp,http,https,httpproxy,crypto,data"
    let entries: KeyValuePairs<String, String> = [
      // A playlist or redirection must not open a local file.
      "protocol_whitelist": specification.isFIFO
        ? "pipe" : "\(network),rtsp,rtsps,rtmp,rtmps,rtmpt,rtmpts,ffrtmphttp,srt",
      "rtsp_transport": specification.transport.rawValue,
      "allowed_media_types": "video+audio",
      "user_agent": "Vidicon",
      // Missing stream information is detected within the first 3 s, without decoding frames for the frame rate.
      "analyzeduration": "3000000",
      "fpsprobesize": "0",
    ]
    for (name, value) in entries { av_dict_set(&options, name, value, 0) }
    for (name, value) in Self.requestOptions(of: specification) { av_dict_set(&options, name, value, 0) }
    var excluded = specification.allowsSessionDescriptions ? [] : ["sdp"]
    // DASH's requests have no callback: their certificates would not be verified.
    if specification.scheme == "https", !specification.isInsecure { excluded.append("dash") }
    if !excluded.isEmpty { av_dict_set(&options, "format_whitelist", Self.formats(without: excluded), 0) }
    return options
  }
}
