import HLS
import Media

extension HLSObservation {
  private static let clients: [StreamClient] = [.players, .safari, .browsers]
  /// Media types of playlists, RFC 8216 §4.
  private static let playlistTypes = [
    "application/vnd.apple.mpegurl", "audio/mpegurl", "application/x-mpegurl", "audio/x-mpegurl",
  ]
  /// Latency in seconds that viewers of a live stream expect of HLS.
  private static let usualLatency = 20.0

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    let findings =
      if let obstacle = self.obstacle {
        [obstacle]
      } else {
        self.playlistFindings + self.segmentFindings + self.keyFindings + self.audioFindings + self.liveFindings
          + self.webFindings
      }
    return StreamVerdict(clients: Self.clients, findings: findings, observations: self.lines)
  }

  private static func fault(_ part: CheckPart, _ subject: String, _ meaning: String, _ advice: String) -> StreamFinding
  {
    StreamFinding(part, .fault(subject, meaning, .advice(advice)), blocks: Set(Self.clients))
  }

  /// The reason for there being no stream; nil where there are playlist and segments.
  private var obstacle: StreamFinding? {
    if let resource = self.playlists.first(where: { $0.status != 200 }) {
      return Self.refusal(resource, part: .playlist)
    }
    if let error = self.playlistError {
      guard error.code != .tooLarge else {
        return Self.fault(
          .playlist, "playlist", "it is larger than \(HLSPlaylistDocument.maximumLength >> 20) MiB",
          "limit the number of its segments; ffmpeg: -hls_list_size")
      }
      let type = self.playlists.last?.contentType ?? "of no type"
      return Self.fault(
        .playlist, "playlist", "the response does not start with #EXTM3U; it is \(type)",
        "use the address of the playlist, which ends with .m3u8")
    }
    guard let media, !media.availableSegments.isEmpty else {
      return Self.fault(
        .playlist, "playlist", "it has no segments",
        "check that the source of the stream delivers; the first segment takes a while")
    }
    return nil
  }

  /// Finding about a resource that is not delivered.
  private static func refusal(_ resource: Resource, part: CheckPart) -> StreamFinding {
    let (meaning, advice): (String, String) =
      switch resource.status {
      case 401?: ("the server asks for a user name and password (401)", "write them before the host, and check them")
      case 403?:
        ("the server denies access (403)", "check the rights of the file, the token, and the rules for addresses")
      case 404?:
        (
          "the server does not have it (404)",
          part == .playlist
            ? "check the path; where it is right, its source is not live"
            : "keep segments for longer than the playlist names them; ffmpeg: -hls_delete_threshold 3"
        )
      case let status?: ("the server responds with \(status)", "look into the log of the server")
      case nil: (resource.failure ?? .noResponse).cause
      }
    return self.fault(part, resource.name, meaning, advice)
  }

  private var playlistFindings: [StreamFinding] {
    var findings: [StreamFinding] = []
    if self.violations.isEmpty {
      let variants = self.variantCount > 0 ? "\(self.variantCount) variants, " : ""
      findings.append(
        StreamFinding(
          .playlist, .ok("playlist", "\(variants)\(self.media?.availableSegments.count ?? 0) segments, by the rules")))
    }
    findings += self.violations.map { rule in
      StreamFinding(
        .playlist,
        .warning(
          "playlist", "it breaks a rule of HLS: \(rule)", .advice("update the server, or correct its settings of HLS")))
    }
    for playlist in self.playlists {
      guard let type = playlist.contentType, !Self.playlistTypes.contains(type) else { continue }
      let remedy = CheckFinding.Remedy.advice("serve .m3u8 as application/vnd.apple.mpegurl; nginx: in mime.types")
      let isNamed = playlist.name.lowercased().hasSuffix(".m3u8") || playlist.name.lowercased().hasSuffix(".m3u")
      findings.append(
        isNamed
          ? StreamFinding(
            .web, .warning("type of \(playlist.name)", "\(type), which some players do not take for a playlist", remedy)
          )
          : StreamFinding(
            .web, .warning("type of \(playlist.name)", "\(type), and no .m3u8 in its name (RFC 8216 §4)", remedy),
            blocks: [.safari]))
    }
    return findings
  }

  private var segmentFindings: [StreamFinding] {
    for resource in self.initializations + self.segments.map(\.resource) where !resource.isDelivered {
      return [Self.refusal(resource, part: .video)]
    }
    var findings = [self.loadFinding].compactMap(\.self)
    if let segment = self.segments.first(where: { $0.startsWithKeyframe == false }) {
      findings.append(
        StreamFinding(
          .video,
          .warning(
            segment.resource.name, "it does not start with a keyframe, so that players stall or show gray frames",
            .advice("make the segment duration a multiple of the keyframe interval; ffmpeg: -g, -sc_threshold 0")),
          delays: Set(Self.clients)))
    } else if self.segments.contains(where: { $0.startsWithKeyframe == true }) {
      findings.append(StreamFinding(.video, .ok("segments", "start with keyframes")))
    }
    return findings + [self.codecFinding].compactMap(\.self)
  }

  /// Finding about the time that segments take to load; nil where none of them says anything about it.
  private var loadFinding: StreamFinding? {
    if let broken = self.segments.first(where: { $0.resource.ending == .closed }) {
      return Self.fault(
        .transport, broken.resource.name,
        "the server ends the response after \(broken.resource.byteCount) bytes, before the end of the file",
        "look into the log of the server, and into that of a proxy before it")
    }
    let cut = self.segments.first { $0.resource.ending == .cutOff && $0.resource.seconds > $0.duration }
    if let cut {
      return Self.fault(
        .transport, cut.resource.name,
        "its \(TrackObservation.text(cut.duration)) s are not loaded in \(TrackObservation.text(cut.resource.seconds)) s",
        "lower the bitrate, or use a faster connection")
    }
    var whole = self.segments.filter { $0.resource.ending == .complete }
    // The last segment of a stream may be a fraction of the others, for which the time to the first byte counts alone.
    if let last = whole.last, last.duration < Double(self.media?.targetDuration ?? 0) / 2 { whole.removeLast() }
    let (seconds, duration) = whole.reduce((0.0, 0.0)) { ($0.0 + $1.resource.seconds, $0.1 + $1.duration) }
    guard duration > 0 else { return nil }
    guard seconds <= duration else {
      return Self.fault(
        .transport, "segments",
        "\(TrackObservation.text(duration)) s of them take \(TrackObservation.text(seconds)) s to load",
        "lower the bitrate, or use a faster connection")
    }
    return StreamFinding(.transport, .ok("segments", "loaded faster than they play"))
  }

  private var codecFinding: StreamFinding? {
    guard let codecs else { return nil }
    let names = codecs.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
    // avc1 with the profiles High 10, High 4:2:2 and High 4:4:4 Predictive.
    let isRare = names.contains { name in ["avc1.6e", "avc1.7a", "avc1.f4"].contains { name.hasPrefix($0) } }
    let isHEVC = names.contains { $0.hasPrefix("hvc1") || $0.hasPrefix("hev1") }
    guard isRare || isHEVC else { return StreamFinding(.video, .ok("codecs", codecs)) }
    return StreamFinding(
      .video,
      .warning(
        "codecs", "\(codecs), which many browsers do not decode",
        .advice("encode H.264 with yuv420p; ffmpeg: -pix_fmt yuv420p")),
      blocks: isRare ? [.browsers, .safari] : [.browsers])
  }

  private var liveFindings: [StreamFinding] {
    guard let media, !media.isEnded else { return [] }
    let target = Double(media.targetDuration ?? 0)
    if let span = self.reloadSpan, !self.hasAdvanced, span >= 1.5 * target {
      return [
        Self.fault(
          .timing, "playlist",
          "no new segment in \(TrackObservation.text(span)) s, and none comes after its end is played",
          "check that the source of the stream delivers, and its encoder runs")
      ]
    }
    var findings: [StreamFinding] = []
    let latency = media.startLatency
    let text = "players start about \(TrackObservation.text(latency)) s behind"
    if latency > Self.usualLatency {
      findings.append(
        StreamFinding(
          .timing,
          .warning(
            "latency", "\(text): segments last up to \(Int(target)) s",
            .advice("shorten segments and keyframe interval, as to 2 s, or use low-latency HLS")),
          delays: Set(Self.clients)))
    } else {
      findings.append(StreamFinding(.timing, .ok("latency", text)))
    }
    if media.duration < 3 * target, media.availableSegments.count < 3 {
      findings.append(
        StreamFinding(
          .playlist, .ok("window", "\(media.availableSegments.count) segments so far, of which players want three")))
    }
    return findings
  }

  private var webFindings: [StreamFinding] {
    let others = self.initializations + self.keys + (self.audio?.resources ?? [])
    let resources = (self.playlists + others + self.segments.map(\.resource)).filter(\.isDelivered)
    let closed = resources.filter { !$0.allowsOtherOrigins }
    var findings: [StreamFinding] = []
    let remedy = CheckFinding.Remedy.advice(
      "add Access-Control-Allow-Origin to playlists and segments; nginx: add_header")
    if closed.isEmpty {
      findings.append(StreamFinding(.web, .ok("CORS", "pages of other servers may play it")))
    } else if closed.count == resources.count {
      let finding = CheckFinding(
        subject: "CORS", verdict: .ok,
        meaning:
          "no Access-Control-Allow-Origin: scripts of this server's pages play it, those of other servers do not",
        remedy: remedy)
      findings.append(StreamFinding(.web, finding))
    } else {
      findings.append(
        StreamFinding(
          .web,
          .warning(
            "CORS", "\(closed[0].name) has no Access-Control-Allow-Origin, which other files of the stream have", remedy
          ),
          blocks: [.browsers]))
    }
    guard self.media?.partTarget != nil else { return findings }
    if self.negotiatedProtocol == "h2" {
      findings.append(StreamFinding(.web, .ok("HTTP/2", "spoken, as Safari wants for low latency")))
    } else if self.isEncrypted {
      findings.append(
        StreamFinding(
          .web,
          .warning(
            "HTTP/2", "not spoken, without which Safari does not use low latency",
            .advice("switch on HTTP/2 at the server or proxy; nginx: http2 on")), delays: [.safari]))
    } else {
      findings.append(
        StreamFinding(.web, .ok("HTTP/2", "not without TLS, so that Safari plays it with the usual latency of HLS")))
    }
    return findings
  }
}
