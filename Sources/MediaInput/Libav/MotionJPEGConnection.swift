internal import Bitstreams
internal import CLibav
internal import Codecs
internal import Media
internal import NIOCore
internal import Threading

/// Motion JPEG of an HTTP server: images in the parts of one response, `multipart/x-mixed-replace`. Used by one thread at a time.
///
/// libavformat performs the request. Its own demuxer requires delimiters as in RFC 2046 §5.1.1, which many cameras do not send;
/// browsers show them nevertheless.
// Safe because the opening thread transfers it to the reading thread and keeps no reference.
final class MotionJPEGConnection: NetworkConnection, @unchecked Sendable {
  let tracks: NetworkTracks
  let pace = SourceTimeline.Pace.unheld
  let interrupt: LibavInterrupt
  private let specification: NetworkSpecification
  private let response: Response
  private var reader = JPEGStreamReader()
  /// The image that was read for its size.
  private var first: ByteBuffer?

  private var life = SourceLife(at: StreamClock.system.now())

  /// Maximum time up to the first image, and of a pause of its bytes.
  private static let timeout = MediaDuration.seconds(15)
  private static let receiveByteCount = 64 << 10

  /// Reads the first image.
  ///
  /// - Parameter body: The body of the response; closed with this object.
  init(
    _ body: UnsafeMutablePointer<AVIOContext>, _ specification: NetworkSpecification, interrupt: LibavInterrupt
  ) throws(VidiconError) {
    let response = Response(body)
    let deadline = StreamClock.system.now() + Self.timeout
    var reader = JPEGStreamReader()
    var track: NetworkVideoTrack?
    var first: ByteBuffer?
    while track == nil {
      guard StreamClock.system.now() < deadline else {
        throw VidiconError(network: vidicon_averror_invaliddata, of: specification)
      }
      guard let image = reader.next() else {
        reader.append(try Self.receive(from: response, specification, interrupt, within: Self.timeout))
        continue
      }
      guard let header = try? ImageHeader(parsing: Array(image.readableBytesView)),
        let parameters = CodecParameters(jpegWidth: header.width, height: header.height)
      else { continue }
      defer { withExtendedLifetime(parameters) {} }
      track = try NetworkVideoTrack(
        parameters.pointer, displayMatrix: nil, frameRate: FrameRate(25), source: specification.description)
      first = image
    }
    self.tracks = NetworkTracks(video: track)
    self.specification = specification
    self.interrupt = interrupt
    self.response = response
    self.reader = reader
    self.first = first
  }

  func read() throws(VidiconError) -> NetworkItem? {
    guard let image = self.first.take() ?? self.reader.next() else {
      // A camera may send an image now and then.
      let timeout =
        LibavConnection.noticesLoss(of: self.specification) ? self.life.mediaTimeout : LibavConnection.mediaTimeout
      self.reader.append(
        try Self.receive(from: self.response, self.specification, self.interrupt, within: timeout))
      self.life.handleMedia(.video, at: StreamClock.system.now())
      return nil
    }
    // Without times, those of the arrival are taken.
    let sample = EncodedSample(
      kind: .video, payload: image, presentationTime: .zero, duration: .zero, isKeyframe: true)
    var packet = NetworkPacket(sample)
    (packet.decodeTime, packet.presentationTime) = (nil, nil)
    return .packet(packet)
  }

  /// Receives the bytes that have arrived; waits for the first one.
  private static func receive(
    from response: Response, _ specification: NetworkSpecification, _ interrupt: LibavInterrupt,
    within timeout: MediaDuration
  ) throws(VidiconError) -> ByteBuffer {
    interrupt.callBegins(limit: timeout)
    var buffer = ByteBuffer()
    var status: Int32 = 0
    let (_, isRefused) = ConnectGuard.run(isActive: !specification.allowsLinkLocal) {
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.receiveByteCount) { space in
        status = avio_read_partial(
          response.body, space.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clamping: space.count))
        return Int(max(0, status))
      }
    }
    if isRefused { throw .refusedLinkLocal(specification.description) }
    guard status > 0 else {
      throw VidiconError(network: status == 0 ? vidicon_averror_eof : status, of: specification)
    }
    return buffer
  }

  /// Body of a response, closed with its last reference.
  private final class Response {
    let body: UnsafeMutablePointer<AVIOContext>

    init(_ body: UnsafeMutablePointer<AVIOContext>) {
      self.body = body
    }

    deinit {
      avio_close(self.body)
    }
  }
}
