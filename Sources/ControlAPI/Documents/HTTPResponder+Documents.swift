internal import Authentication
internal import CDocuments
internal import Cryptography
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving
internal import StreamControl
internal import Streaming
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPResponder {
  /// Responds with a file of the web page, whose addresses are references from the target of the request.
  func page(_ page: WebServerProviders.Page, from target: HTTPTarget) -> ServerResponse {
    guard let file = self.providers.file(page)?.withAddresses(from: target.root) else { return .notFound() }
    var response = ServerResponse(
      .ok, [.contentType: file.mediaType], body: .bytes(file.body), caching: .other(file.cacheControl))
    if !file.contentSecurityPolicy.isEmpty {
      response.fields[.contentSecurityPolicy] = file.contentSecurityPolicy
    }
    response.etag = file.etag
    response.isCompressible = true
    return response
  }

  /// `/api/streams`.
  func streamList(user: HTTPUser) -> ServerResponse {
    let now = self.clock.now()
    return Self.json(
      StreamList(
        time: CalendarTime(unixTime: MediaDuration(nanoseconds: self.clock.unixTime(at: now))).rfc3339,
        streams: self.streams.all.map { self.entry(of: $0, self.providers.controls($0.stream), at: now, user: user) }))
  }

  /// The JSON object of one stream.
  func entry(of stream: ServedStream, _ controls: StreamControls, at now: MediaTime, user: HTTPUser) -> StreamEntry {
    var entry = StreamEntry(stream, providers: self.providers, at: now)
    entry.setControls(controls, of: stream.stream, to: self.audience(user))
    entry.role = user.role?.name ?? Role.viewer.name
    entry.steerable = self.mayControl(user)
    entry.login = self.login(of: user).rawValue
    return entry
  }

  /// `/api/openapi.json`.
  func openAPI() -> ServerResponse {
    var response = ServerResponse(
      .ok, [.contentType: "application/json"], body: .bytes(OpenAPIDocument.bytes),
      caching: .revalidated)
    response.etag = OpenAPIDocument.etag
    response.isCompressible = true
    return response
  }

  /// `/api/qr.svg?text=…`.
  func qrCode(_ target: HTTPTarget, user: HTTPUser) async -> ServerResponse {
    guard let text = target.parameter("text"), !text.isEmpty else {
      return .text(.badRequest, "the parameter text is missing, empty or not UTF-8")
    }
    return await self.qrCode(of: text, user: user)
  }

  /// `POST /api/qr.svg`: for a text with a token, which logs and caches must not have.
  func qrCode(
    ofBody request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    let bytes = try await self.readBody(of: request, as: ["text/plain"], maximumLength: 512, from: body)
    guard let text = String(validating: bytes.readableBytesView, as: UTF8.self), !text.isEmpty else {
      throw HTTPRefusal("the body is empty or not UTF-8")
    }
    var response = await self.qrCode(of: text, user: user)
    (response.caching, response.etag) = (.never, nil)
    return response
  }

  private func qrCode(of text: String, user: HTTPUser) async -> ServerResponse {
    guard let codes = self.qrCodes else { return .notFound("this server has no QR codes") }
    switch await codes.code(for: text, network: user.network, clock: self.clock) {
    case .image(let image):
      var response = ServerResponse(
        .ok, [.contentType: "image/svg+xml"], body: .bytes(image.bytes), caching: .seconds(3600))
      response.etag = image.etag
      response.isCompressible = true
      return response
    case .textTooLong: return .text(.badRequest, "text is too long for a QR code")
    case .overLimit:
      self.access.refusals.count(.overLimit)
      return .text(.tooManyRequests, "too many QR codes; try again", [.retryAfter: "1"])
    }
  }

  /// `/api/streams/NAME/publisher`.
  func publisherState(of name: String, user: HTTPUser) -> ServerResponse {
    guard let served = self.streams[name], let publisher = self.providers.publisher(served.stream) else {
      return .notFound("this stream has no source whip:")
    }
    // Publishers have it already.
    let token = user.role == .operator ? self.access.publisherToken(of: name) : nil
    let statistics = self.providers.statistics(served.stream)
    return Self.json(
      PublisherState(
        publisher, viewers: served.viewers(with: statistics, at: self.clock.now()),
        latency: PublisherState.latency(
          publisher, encoded: served.stream.statistics.videoLatency,
          viewers: statistics.flatMap { $0.statistics.viewerList ?? [] }),
        pages: self.providers.addresses(served.stream).publishPages, token: token?.text))
  }

  /// `/metrics`.
  func metrics(user: HTTPUser) -> ServerResponse {
    var response = ServerResponse(
      .ok, [.contentType: MetricsText.mediaType], body: .bytes(ByteBuffer(string: self.metricsText(for: user))))
    response.isCompressible = true
    return response
  }

  static func json(_ value: some Encodable) -> ServerResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Encoding fails only for non-finite numbers, which no response contains.
    guard let data = try? encoder.encode(value) else { return .text(.internalServerError, "no JSON") }
    var response = ServerResponse(.ok, [.contentType: "application/json"], body: .bytes(ByteBuffer(bytes: data)))
    response.isCompressible = true
    return response
  }
}

/// The OpenAPI 3.1 document served at `/api/openapi.json`, embedded from `openapi.json` in this folder.
enum OpenAPIDocument {
  /// The JSON, UTF-8; the storage is shared by all responses.
  static let bytes: ByteBuffer = {
    var count = 0
    let start = vidicon_openapi_document(&count)
    return ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count))
  }()

  /// The entity tag, RFC 9110 §8.8.3, with its quotes: the first 96 bits of the SHA-256 of ``bytes``, hexadecimal.
  static let etag =
    "\"\(Hexadecimal.encode(HashAlgorithm.sha256.digest(of: Self.bytes.readableBytesView).prefix(12)))\""
}
