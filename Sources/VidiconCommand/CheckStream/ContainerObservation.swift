import Libc
import Media
import MediaInput
import NIOCore
import Threading

/// Facts about a response that is media itself, and no playlist: a live transport stream, or a file such as one of MP4. Times are in
/// seconds since the request.
struct ContainerObservation: Equatable, Sendable {
  /// Result of opening what was received with libavformat.
  enum Content: Equatable, Sendable {
    case opened(ContainerSummary)
    /// No container, or one without video and audio.
    case refused
    /// The beginning of an MP4 file whose index (`moov`) follows its media, which players request first.
    case indexBehindMedia
    /// Not opened in time, or not on this system.
    case unknown
  }

  /// Media type of the response; nil without one.
  var contentType: String?
  var content: Content
  /// Length of the response in bytes, as far as it was received.
  var byteCount = 0
  /// Arrival of the first byte.
  var start = 0.0
  /// Time for which it was received.
  var duration = 0.0
  /// Reason for the end of the response.
  var ending = HTTPResult.Ending.cutOff

  init(_ result: HTTPResult, content: Content) {
    self.contentType = result.contentType
    self.content = content
    self.byteCount = result.pieces.reduce(0) { $0 + $1.bytes.readableBytes }
    self.start = result.pieces.first?.time ?? result.endTime
    self.duration = result.endTime
    self.ending = result.ending
  }

  private static let clients: [StreamClient] = [.players]
  /// Words for libavformat's first name of a format, as far as it is another one.
  private static let formatNames = [
    "mpegts": "MPEG-TS", "mov": "MP4", "matroska": "Matroska", "flv": "FLV", "live_flv": "FLV", "ogg": "Ogg",
  ]

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    let success =
      switch self.content {
      case .opened, .refused: "plays"
      case .indexBehindMedia: "not judged: the index of its MP4 follows the media"
      case .unknown: "not judged: it is \(self.type)"
      }
    return StreamVerdict(
      clients: Self.clients, findings: self.findings, observations: [self.line], success: success)
  }

  private var type: String { self.contentType.map { String($0.prefix(60)) } ?? "of no type" }

  private var findings: [StreamFinding] {
    let subject = "media"
    let amount = "\(self.byteCount) bytes in \(TrackObservation.text(self.duration)) s"
    switch self.content {
    case .unknown:
      return [StreamFinding(.tracks, .ok(subject, "\(amount) of \(self.type)"))] + [self.cut].compactMap(\.self)
    case .indexBehindMedia:
      let finding = CheckFinding(
        subject: subject, verdict: .ok,
        meaning: "MP4 whose index follows its media, which players have to request first",
        remedy: .advice("move it to the beginning; ffmpeg: -movflags +faststart"))
      return [StreamFinding(.tracks, finding)] + [self.cut].compactMap(\.self)
    case .refused:
      return [
        StreamFinding(
          .tracks,
          .fault(
            subject, "\(amount) of \(self.type) have neither video nor audio that ffmpeg finds",
            .advice("check the source of the stream, and what ffprobe says about the address")),
          blocks: Set(Self.clients))
      ]
    case .opened(let summary):
      let name = String(summary.format.prefix { $0 != "," })
      let codecs = [summary.videoCodec, summary.audioCodec].compactMap(\.self).joined(separator: " and ")
      let tracks = "\(Self.formatNames[name] ?? name) with \(codecs), \(amount)"
      return [StreamFinding(.tracks, .ok(subject, tracks))] + [self.delay, self.cut].compactMap(\.self)
    }
  }

  /// Finding about a response that starts late; nil for another one.
  private var delay: StreamFinding? {
    guard self.start > TrackObservation.promptStart else { return nil }
    return StreamFinding(
      .connection,
      .warning(
        "start", "the first byte comes after \(TrackObservation.text(self.start)) s",
        .advice("check the load of the server; some start their source for the first viewer")),
      delays: Set(Self.clients))
  }

  /// Finding about a response that ends before its length; nil for another one.
  private var cut: StreamFinding? {
    guard self.ending == .closed else { return nil }
    return StreamFinding(
      .connection,
      .fault(
        "media", "the server ends the response after \(self.byteCount) bytes, before its end",
        .advice("look into the log of the server, and into that of a proxy before it")), blocks: Set(Self.clients))
  }

  /// Line for a report.
  private var line: String {
    let content =
      switch self.content {
      case .opened(let summary):
        "\(summary.format), video \(summary.videoCodec ?? "none"), audio \(summary.audioCodec ?? "none")"
      case .refused: "no media"
      case .indexBehindMedia: "MP4, index behind media"
      case .unknown: "not opened"
      }
    return
      "\(self.type), \(content), \(self.byteCount) bytes in \(TrackObservation.text(self.duration)) s, first after "
      + "\(TrackObservation.text(self.start)) s, \(self.ending)"
  }
}

extension ContainerObservation {
  /// Opens what was received of a response, as ffmpeg and players made of it do.
  ///
  /// - Returns: Nil for text, as of a playlist, and for bytes that neither their type nor their content makes media.
  static func open(_ result: HTTPResult, until deadline: MediaTime) async -> ContainerObservation? {
    let body = result.body
    guard result.status == 200, self.mayBeMedia(body) else { return nil }
    let rest = max(deadline - StreamClock.system.now(), .zero)
    let content =
      await WorkerThread.run(named: "container", timeout: .nanoseconds(rest.nanoseconds)) { Self.content(of: body) }
      ?? .unknown
    let type = result.contentType ?? ""
    switch content {
    case .opened: break
    case .refused, .unknown:
      guard self.isMedia(type) else { return nil }
    case .indexBehindMedia:
      // A file that was received as a whole has none.
      if result.ending == .complete { return ContainerObservation(result, content: .refused) }
    }
    return ContainerObservation(result, content: content)
  }

  /// Whether bytes are neither a playlist nor a page. Types are no help: some servers have that of translations for `.ts`.
  private static func mayBeMedia(_ body: ByteBuffer) -> Bool {
    let bytes = body.readableBytesView
    return !bytes.isEmpty && !["#EXTM3U", "<"].contains { bytes.starts(with: $0.utf8) }
  }

  /// Whether a type is that of media.
  private static func isMedia(_ type: String) -> Bool {
    (type.hasPrefix("video/") || type.hasPrefix("audio/")) && !type.contains("mpegurl")
  }

  /// Opens bytes as a file, which no disk has; blocks.
  private static func content(of bytes: ByteBuffer) -> Content {
    guard let descriptor = MemoryFile.make() else { return .unknown }
    defer { close(descriptor) }
    guard MemoryFile.write(bytes, to: descriptor) else { return .unknown }
    if let summary = try? ContainerSummary(path: "/proc/self/fd/\(descriptor)") { return .opened(summary) }
    // ISO/IEC 14496-12 §4.3.
    return bytes.getString(at: bytes.readerIndex + 4, length: 4) == "ftyp" ? .indexBehindMedia : .refused
  }
}
