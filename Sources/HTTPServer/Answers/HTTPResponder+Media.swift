internal import HLS
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

extension HTTPResponder {
  /// A playlist, a segment or a part.
  func file(
    _ file: String, of name: String, _ target: HTTPTarget, _ request: HTTPRequest, client: String
  ) async -> HTTPAnswer {
    let now = self.clock.now()
    guard let stream = self.streams[hls: name],
      let wanted = HLSRequest(file: file, query: target.query, arrival: now)
    else { return .notFound() }
    let program = request.headerFields[.userAgent] ?? ""
    stream.noteHLSRequest(address: client, program: program, at: now)
    switch await stream.hls.answer(wanted) {
    case .content(let content):
      if wanted.isMediaPlaylist { stream.noteHLSPlaylist(address: client, program: program, at: self.clock.now()) }
      if request.method == .get { stream.countBytes(content.body.readableBytes, of: .hls) }
      return HTTPAnswer(content)
    case .notFound: return .notFound("there is no such file, or no longer")
    case .badRequest(let reason): return .text(.badRequest, reason)
    case .wait, .unavailable:
      return .text(.serviceUnavailable, "it has not come in time; ask again", [.retryAfter: "1"])
    }
  }

  /// The picture that viewers see.
  func snapshot(of name: String, _ target: HTTPTarget) async -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    let width: Int?
    do throws(HTTPParameterError) { width = try target.number("width", in: 1...16_384) } catch { return error.answer }
    let snapshot = Task { () -> Result<ByteBuffer, PictureError> in
      do throws(PictureError) {
        return .success(try await stream.stream.pictures.snapshot(width: width))
      } catch {
        return .failure(error)
      }
    }
    defer { snapshot.cancel() }
    switch await snapshot.result(within: Self.pictureTime)?.get() {
    case .success(let file)?:
      stream.countBytes(file.readableBytes, of: .snapshot)
      return HTTPAnswer(.ok, [.contentType: "image/jpeg"], body: .bytes(file))
    case .failure(let error)?:
      return .text(.serviceUnavailable, error.description, [.retryAfter: "1"])
    case nil: return .text(.gatewayTimeout, "no picture has come from the source in time", [.retryAfter: "1"])
    }
  }

  /// The pictures that viewers see from now on, each as a part of one answer, RFC 2046 §5.1; browsers show the newest.
  func motionJPEG(of name: String, _ target: HTTPTarget) -> HTTPAnswer {
    guard let stream = self.streams[name] else { return .notFound() }
    let (width, frameRate): (Int?, Int?)
    do throws(HTTPParameterError) {
      width = try target.number("width", in: 1...16_384)
      frameRate = try target.number("fps", in: 1...120)
    } catch {
      return error.answer
    }
    let pictures = stream.stream.pictures.motionJPEG(width: width, frameRate: frameRate ?? Self.motionJPEGFrameRate)
    return HTTPAnswer(
      .ok, [.contentType: "multipart/x-mixed-replace; boundary=\(MotionJPEGPart.boundary)"],
      body: .pictures(pictures, of: stream))
  }

  /// How long a request waits for a picture.
  private static let pictureTime = Duration.seconds(2)
  /// The motion pictures a second, if nothing is said.
  private static let motionJPEGFrameRate = 10
}

extension HTTPAnswer {
  /// What HLS says of a file.
  init(_ content: HLSContent) {
    self.init(
      .ok, [.contentType: content.mediaType], body: .bytes(content.body), caching: HTTPCaching(content.caching))
    self.etag = content.etag
    self.isCompressible = content.isPlaylist
    self.hasRanges = !content.isPlaylist
  }
}
