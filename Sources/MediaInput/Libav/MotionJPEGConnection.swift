internal import Bitstreams
internal import CLibav
internal import Codecs
internal import Media
internal import NIOCore
internal import Threading

/// Images of an HTTP server, JPEG, PNG or WebP: the parts of one response, `multipart/x-mixed-replace`, or a snapshot that is requested
/// again and again. Used by one thread at a time.
///
/// libavformat performs the requests. Its own demuxer of parts requires delimiters as in RFC 2046 §5.1.1, which many cameras do not
/// send; browsers show them nevertheless.
// Safe because the opening thread transfers it to the reading thread and keeps no reference.
final class MotionJPEGConnection: NetworkConnection, @unchecked Sendable {
  /// Times of images that are requested one by one.
  struct Snapshots: Sendable {
    /// Interval of the requests.
    var interval = MediaDuration.seconds(1)
    /// Time without an image after which the source is lost: a camera may refuse a request now and then.
    var timeout = MediaDuration.seconds(15)
  }

  let tracks: NetworkTracks
  let pace = SourceTimeline.Pace.unheld
  let interrupt: LibavInterrupt
  private let specification: NetworkSpecification
  /// Nil between two requests of snapshots.
  private var response: ImageResponse?
  private var reader: ImageStreamReader
  /// Format of the first image, which the decoder has, or JPEG where later parts have it.
  private var format: ImageStreamReader.Format
  /// The image that was read for its size.
  private var first: ImageStreamReader.Image?
  private var life = SourceLife(at: StreamClock.system.now())
  /// Nil where images come in parts.
  private let snapshots: Snapshots?
  /// Number of images of the response.
  private var imageCount = 0
  /// Time of the next request, and of the last image.
  private var nextRequest: MediaTime
  private var lastImage: MediaTime
  private let pause = StopSignal()

  /// Maximum time up to the first image, and of a pause of its bytes.
  private static let timeout = MediaDuration.seconds(15)
  /// Maximum time of a wait, after which the owner looks whether the source was stopped.
  private static let maximumPause = MediaDuration.milliseconds(100)

  /// Reads the first image.
  init(
    _ response: ImageResponse, _ specification: NetworkSpecification, interrupt: LibavInterrupt, snapshots: Snapshots
  ) throws(VidiconError) {
    let start = StreamClock.system.now()
    var reader = ImageStreamReader(hasParts: response.content == .parts)
    var track: NetworkVideoTrack?
    var first: ImageStreamReader.Image?
    while track == nil {
      guard StreamClock.system.now() < start + Self.timeout else {
        throw VidiconError(network: vidicon_averror_invaliddata, of: specification)
      }
      guard let image = reader.next() else {
        // A stream in disguise would be waited for in vain. A response that is called JPEG may begin with anything.
        guard response.content != .otherImage || !reader.isForeign else {
          throw VidiconError(
            .invalidData, subject: specification.description,
            cause: "its type is that of an image, but no image begins its content",
            nextStep: "check the address in a browser, and the type that the server sends")
        }
        reader.append(try response.receive(of: specification, interrupt, within: Self.timeout))
        continue
      }
      track = try Self.track(of: image, specification)
      first = image
    }
    self.tracks = NetworkTracks(video: track)
    self.specification = specification
    self.interrupt = interrupt
    self.response = response
    self.reader = reader
    self.first = first
    self.format = first?.format ?? .jpeg
    self.snapshots = response.content == .parts ? nil : snapshots
    (self.nextRequest, self.lastImage) = (start + snapshots.interval, start)
  }

  /// A track of images like one; nil where that cannot be decoded.
  private static func track(
    of image: ImageStreamReader.Image, _ specification: NetworkSpecification
  ) throws(VidiconError) -> NetworkVideoTrack? {
    guard let parameters = CodecParameters(image) else { return nil }
    defer { withExtendedLifetime(parameters) {} }
    return try NetworkVideoTrack(
      parameters.pointer, displayMatrix: nil, isLowDelay: true, frameRate: FrameRate(25),
      source: specification.description)
  }

  func read() throws(VidiconError) -> NetworkItem? {
    guard let image = self.first.take() ?? self.nextImage() else {
      if let snapshots { try self.request(snapshots) } else { try self.receive() }
      return nil
    }
    if image.format != self.format {
      guard let track = try Self.track(of: image, self.specification) else { return nil }
      (self.format, self.first) = (image.format, image)
      return .changedVideo(track)
    }
    self.lastImage = StreamClock.system.now()
    self.imageCount += 1
    // Without times, those of the arrival are taken.
    let sample = EncodedSample(
      kind: .video, payload: image.bytes, presentationTime: .zero, duration: .zero, isKeyframe: true)
    var packet = NetworkPacket(sample)
    (packet.decodeTime, packet.presentationTime) = (nil, nil)
    return .packet(packet)
  }

  /// The next image of the format that the decoder has, or of JPEG, which all further parts have then; nil when more bytes are needed.
  private func nextImage() -> ImageStreamReader.Image? {
    while let image = self.reader.next() {
      if image.format == self.format || self.snapshots == nil && image.format == .jpeg { return image }
    }
    return nil
  }

  /// Receives bytes of the parts.
  private func receive() throws(VidiconError) {
    guard let response else { return }
    // A camera may send an image now and then.
    let timeout =
      LibavConnection.noticesLoss(of: self.specification) ? self.life.mediaTimeout : LibavConnection.mediaTimeout
    self.reader.append(try response.receive(of: self.specification, self.interrupt, within: timeout))
    self.life.handleMedia(.video, at: StreamClock.system.now())
  }

  /// Receives bytes of a snapshot, requests the next one when it is due, or waits for that for a moment.
  private func request(_ snapshots: Snapshots) throws(VidiconError) {
    let now = StreamClock.system.now()
    do throws(VidiconError) {
      if let response {
        // A camera may keep the connection open behind the only image, and another send images one after the other.
        let isWhole = self.imageCount == 1
        let timeout = isWhole ? max(self.nextRequest - now, Self.maximumPause) : snapshots.timeout
        self.reader.append(try response.receive(of: self.specification, self.interrupt, within: timeout))
        // Bytes that are no image may come without end.
        guard now - self.lastImage < snapshots.timeout else {
          throw VidiconError(network: vidicon_averror_invaliddata, of: self.specification)
        }
        return
      }
      guard now >= self.nextRequest else {
        _ = self.pause.wait(until: min(self.nextRequest, now + Self.maximumPause))
        return
      }
      self.nextRequest = now + snapshots.interval
      self.imageCount = 0
      self.response = try ImageResponse(requesting: self.specification, interrupt: self.interrupt)
      self.reader.beginResponse()
    } catch {
      // The end of a response, a pause behind the image, or a request that has failed.
      self.response = nil
      guard error.mayPass, StreamClock.system.now() - self.lastImage < snapshots.timeout else { throw error }
    }
  }
}
