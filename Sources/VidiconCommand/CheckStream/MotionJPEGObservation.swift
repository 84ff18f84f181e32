import Bitstreams
import NIOCore

/// Facts about images that were received for some seconds: a Motion JPEG stream, or one image. Times are in seconds since the request.
struct MotionJPEGObservation: Equatable, Sendable {
  /// Media type of the response, such as `multipart/x-mixed-replace`; nil without one.
  var contentType: String?
  /// Arrival of each image.
  var images: [Double] = []
  /// Number of images that were damaged.
  var damagedCount = 0
  /// Time for which the stream was received.
  var duration = 0.0
  /// Whether the server has ended it within that time.
  var hasEnded = false
  /// Whether the response is one image and complete, a snapshot: JPEG, PNG or WebP, not in parts that replace each other.
  var isSnapshot = false
  /// Length of the response in bytes, as far as it was received.
  var byteCount = 0

  /// Facts of a response.
  init(_ result: HTTPResult) {
    self.contentType = result.contentType
    self.duration = result.endTime
    self.hasEnded = result.ending == .complete || result.ending == .closed
    var reader = JPEGStreamReader()
    for piece in result.pieces {
      reader.append(piece.bytes)
      while reader.next() != nil { self.images.append(piece.time) }
    }
    self.damagedCount = reader.droppedCount
    self.byteCount = result.pieces.reduce(0) { $0 + $1.bytes.readableBytes }
    let isJPEG = self.images.count == 1 && self.damagedCount == 0
    let isWhole = result.ending == .complete && self.byteCount > 0
    self.isSnapshot = isWhole && (isJPEG || Self.isOtherImage(result)) && !Self.hasParts(result)
  }

  /// Whether a response has images, by its type or its first bytes.
  static func isShown(by result: HTTPResult) -> Bool {
    result.status == 200
      && (self.hasParts(result) || self.isOtherImage(result)
        || self.jpegTypes.contains(result.contentType ?? "")
        || result.body.readableBytesView.starts(with: ImageSignature.jpeg))
  }

  /// The type of JPEG, and names that are no standard's.
  private static let jpegTypes = ["image/jpeg", "image/jpg", "image/pjpeg"]

  /// Whether a response has parts that replace each other, RFC 2046 §5.1.
  private static func hasParts(_ result: HTTPResult) -> Bool { result.contentType?.hasPrefix("multipart/") == true }

  /// Whether a response is an image of another format that sources may have as a snapshot.
  private static func isOtherImage(_ result: HTTPResult) -> Bool {
    ["image/png", "image/webp"].contains(result.contentType ?? "")
      || result.body.readableBytesView.starts(with: ImageSignature.png)
  }

  private static let clients: [StreamClient] = [.browsers, .players]
  /// Images per second below which video is a series of stills.
  private static let minimumRate = 1.0

  /// The verdict on the stream.
  var verdict: StreamVerdict {
    self.isSnapshot
      ? StreamVerdict(
        clients: Self.clients, findings: [self.snapshotFinding], observations: self.lines, success: "plays: one image")
      : StreamVerdict(clients: Self.clients, findings: self.findings, observations: self.lines)
  }

  private var snapshotFinding: StreamFinding {
    let text = TrackObservation.text(self.duration)
    guard self.duration > TrackObservation.promptStart else {
      return StreamFinding(.video, .ok("image", "one of \(self.byteCount) bytes after \(text) s, without a stream"))
    }
    return StreamFinding(
      .video,
      .warning(
        "image", "one of \(self.byteCount) bytes, which takes \(text) s",
        .advice("check the load of the server, or lower the size of the image")), delays: Set(Self.clients))
  }

  private var findings: [StreamFinding] {
    let (subject, all) = ("Motion JPEG", Set(Self.clients))
    guard let first = self.images.first, let last = self.images.last else {
      let meaning = "no image arrives within \(TrackObservation.text(self.duration)) s"
      let advice = CheckFinding.Remedy.advice("check that the source of the stream delivers")
      return [StreamFinding(.video, .fault(subject, meaning, advice), blocks: all)]
    }
    var findings: [StreamFinding] = []
    if self.hasEnded {
      findings.append(
        StreamFinding(
          .connection,
          .fault(
            subject, "the server ends it after \(self.images.count) images",
            .advice("check the source of the stream, and proxies with a limit of time")), blocks: all))
    }
    if first > TrackObservation.promptStart {
      findings.append(
        StreamFinding(
          .video,
          .warning(
            subject, "the first image comes after \(TrackObservation.text(first)) s",
            .advice("switch off the buffering of proxies; nginx: proxy_buffering off")), delays: all))
    }
    let rate = last > first ? Double(self.images.count - 1) / (last - first) : 0
    if rate < Self.minimumRate, self.duration >= TrackObservation.promptStart {
      findings.append(
        StreamFinding(
          .video,
          .warning(
            subject, "\(TrackObservation.text(rate)) images per second",
            .advice("check the load of the server, or lower the size of the images")), delays: all))
    } else {
      findings.append(
        StreamFinding(
          .video, .ok(subject, "\(self.images.count) images, \(TrackObservation.text(rate)) per second")))
    }
    if self.damagedCount > 0 {
      findings.append(
        StreamFinding(
          .video,
          .warning(
            "images", "\(self.damagedCount) of \(self.images.count + self.damagedCount) are damaged",
            .advice("update the firmware of the camera, or lower the size of the images"))))
    }
    return findings
  }
}
