internal import CLibav
internal import Codecs
internal import Media

/// A stream of the network opened by libavformat: its tracks, and its packets one after another. Used by one thread at a
/// time.
// Safe because who opens it hands it to the thread that reads, and has it no more.
final class NetworkConnection: @unchecked Sendable {
  /// The tracks to show and play, at least one.
  let tracks: NetworkTracks
  /// How its packets come.
  let pace: SourceTimeline.Pace
  let interrupt: LibavInterrupt
  private let specification: NetworkSpecification
  private let context: UnsafeMutablePointer<AVFormatContext>
  /// The index of each track's stream.
  private let streams: [MediaKind: Int]
  /// Whether its packets have no times of their own.
  private let isUntimed: Bool
  /// How long the next packet is waited for.
  private let patience: MediaDuration

  /// Connects, and looks at what comes; each for 10 seconds at most.
  ///
  /// - Parameter interrupt: Ends what waits.
  init(_ specification: NetworkSpecification, interrupt: LibavInterrupt) throws(VidiconError) {
    av_log_set_level(AV_LOG_QUIET)
    let context = try Self.open(specification, interrupt: interrupt)
    var streams: [MediaKind: Int] = [:]
    do throws(VidiconError) {
      streams[.video] = context.bestStream(AVMEDIA_TYPE_VIDEO)
      streams[.audio] = context.bestStream(AVMEDIA_TYPE_AUDIO)
      self.tracks = try NetworkTracks(
        context, video: streams[.video], audio: streams[.audio], source: specification.description)
    } catch {
      var opened: UnsafeMutablePointer<AVFormatContext>? = context
      avformat_close_input(&opened)
      throw error
    }
    if self.tracks.audio == nil { streams[.audio] = nil }
    self.specification = specification
    self.interrupt = interrupt
    self.context = context
    self.streams = streams
    let name = String(cString: context.pointee.iformat.pointee.name)
    let isSegmented = name.hasPrefix("hls") || name.hasPrefix("dash")
    let isFile = specification.scheme.hasPrefix("http") && context.pointee.pb.map { avio_size($0) > 0 } ?? false
    self.pace = isSegmented || isFile ? .buffered : .live
    self.patience = isSegmented ? .seconds(30) : .seconds(10)
    self.isUntimed = context.pointee.iformat.pointee.flags & AVFMT_NOTIMESTAMPS != 0
    for index in 0..<Int(context.pointee.nb_streams) where !streams.values.contains(index) {
      context.pointee.streams[index]?.pointee.discard = AVDISCARD_ALL
    }
  }

  deinit {
    var opened: UnsafeMutablePointer<AVFormatContext>? = self.context
    avformat_close_input(&opened)
  }

  /// Reads the next packet.
  ///
  /// - Returns: nil for one that is of no use.
  /// - Throws: ``VidiconError`` when the connection is lost.
  func read() throws(VidiconError) -> NetworkPacket? {
    guard let packet = NetworkPacket() else { throw self.error(-ENOMEM) }
    self.interrupt.callBegins(limit: self.patience)
    let status = av_read_frame(self.context, packet.pointer)
    if status == vidicon_averror_eagain { return nil }
    guard status >= 0 else { throw self.error(status) }
    guard packet.pointer.pointee.size > 0, let kind = self.kind(of: packet.pointer.pointee.stream_index),
      let stream = self.context.pointee.streams[Int(packet.pointer.pointee.stream_index)]
    else { return nil }
    packet.kind = kind
    let timeBase = stream.pointee.time_base
    packet.decodeTime = self.isUntimed ? nil : Self.nanoseconds(packet.pointer.pointee.dts, timeBase)
    packet.presentationTime = self.isUntimed ? nil : Self.nanoseconds(packet.pointer.pointee.pts, timeBase)
    packet.duration = Self.nanoseconds(packet.pointer.pointee.duration, timeBase).flatMap {
      (1...10_000_000_000).contains($0) ? MediaDuration(nanoseconds: $0) : nil
    }
    return packet
  }

  private func kind(of stream: Int32) -> MediaKind? {
    self.streams.first { $0.value == Int(stream) }?.key
  }

  private func error(_ status: Int32) -> VidiconError {
    VidiconError(network: status, of: self.specification)
  }

  /// A time in nanoseconds; nil when it is not told, or beyond 36 years, which is damaged and would overflow.
  private static func nanoseconds(_ time: Int64, _ timeBase: AVRational) -> Int64? {
    guard time != vidicon_av_nopts_value, timeBase.num > 0, timeBase.den > 0 else { return nil }
    let nanoseconds = av_rescale_q(time, timeBase, PacketDecoder.timeBase)
    return (-(1 << 60)...(1 << 60)).contains(nanoseconds) ? nanoseconds : nil
  }

  private static func open(
    _ specification: NetworkSpecification, interrupt: LibavInterrupt
  ) throws(VidiconError) -> UnsafeMutablePointer<AVFormatContext> {
    var opened = avformat_alloc_context()
    guard let allocated = opened else { throw VidiconError(network: -ENOMEM, of: specification) }
    allocated.pointee.interrupt_callback = interrupt.callback
    var options = Self.options(of: specification)
    defer { av_dict_free(&options) }
    interrupt.callBegins()
    var status = avformat_open_input(&opened, specification.url, nil, &options)
    // On failure the context has been freed.
    guard status >= 0, let context = opened else { throw VidiconError(network: status, of: specification) }
    interrupt.callBegins()
    status = avformat_find_stream_info(context, nil)
    guard status >= 0, !interrupt.isCancelled else {
      avformat_close_input(&opened)
      throw VidiconError(network: status >= 0 ? vidicon_averror_exit : status, of: specification)
    }
    return context
  }

  private static func options(of specification: NetworkSpecification) -> OpaquePointer? {
    var options: OpaquePointer?
    let network = "tcp,tls,udp,rtp,srtp,http,https,httpproxy,crypto,data"
    let entries: KeyValuePairs<String, String> = [
      // A playlist or a redirection must not lead to a file of this machine.
      "protocol_whitelist": "\(network),rtsp,rtsps,rtmp,rtmps,rtmpt,rtmpts,ffrtmphttp,srt",
      "rtsp_transport": specification.transport.rawValue,
      "allowed_media_types": "video+audio",
      "user_agent": "Vidicon",
      // What the header does not tell is looked for in the first 3 s; the frame rate is not, unless there is nothing else.
      "analyzeduration": "3000000",
      "fpsprobesize": "0",
    ]
    for (name, value) in entries { av_dict_set(&options, name, value, 0) }
    return options
  }
}
