internal import Authentication
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Recording
internal import StreamControl
internal import Streaming

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPResponder {
  /// Maximum length of an order, in bytes.
  private static let maximumRequestLength = 1024

  /// `GET /api/streams/NAME/recording`.
  func recordingState(of name: String) -> ServerResponse {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let recorder = self.providers.controls(stream.stream).recording else { return Self.noRecorder }
    return Self.json(RecordingEntry(recorder.status(), stream: name))
  }

  /// `POST /api/streams/NAME/recording`.
  ///
  /// Only JSON is accepted: pages of other origins can send a form without a preflight request, but not JSON
  /// (Fetch §2.2.2).
  func record(_ name: String, _ request: HTTPRequest, body: BodyReader) async -> ServerResponse {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let recorder = self.providers.controls(stream.stream).recording else { return Self.noRecorder }
    let bytes: ByteBuffer
    do throws(HTTPRefusal) {
      bytes = try await self.order(
        in: request, of: ["application/json"], maximumLength: Self.maximumRequestLength, body: body)
    } catch {
      return error.response
    }
    guard let order = try? JSONDecoder().decode(RecordingRequest.self, from: Data(bytes.readableBytesView)) else {
      let actions = RecordingControl.Action.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      return .text(.badRequest, "the body is {\"action\": …} with one of \(actions)")
    }
    do throws(VidiconError) {
      try await recorder.perform(order.action)
    } catch {
      return .text(error.code == .wrongState ? .conflict : .internalServerError, error.reason)
    }
    return Self.json(RecordingEntry(recorder.status(), stream: name))
  }

  /// Maximum number of files in one list.
  private static let maximumListed = 1000

  /// `/api/recordings`.
  func recordingList(_ target: HTTPTarget) async -> ServerResponse {
    let (limit, offset): (Int?, Int?)
    do throws(HTTPParameterError) {
      limit = try target.number("limit", in: 1...Self.maximumListed)
      offset = try target.number("offset", in: 0...1_000_000_000)
    } catch {
      return error.response
    }
    var files: [(file: RecordedFile, stream: String)] = []
    for (name, recorder) in self.recorders {
      files += await Self.files(of: recorder).map { ($0, name) }
    }
    files.sort { ($0.file.modificationTime, $0.file.name) > ($1.file.modificationTime, $1.file.name) }
    let listed = files.dropFirst(offset ?? 0).prefix(limit ?? Self.maximumListed)
    return Self.json(
      RecordingList(
        recordings: listed.map { RecordedFileEntry($0.file, stream: $0.stream) }, total: files.count,
        bytes: files.reduce(0) { $0 + $1.file.byteCount }))
  }

  /// `/recordings/STREAM/FILE`: a file as far as it is written. The path is compared with the names of the recorders' files,
  /// and never resolved on the disk.
  func recordedFile(_ components: [String]) async -> ServerResponse {
    let path = components.joined(separator: "/")
    for (stream, recorder) in self.recorders where path.hasPrefix(stream + "/") {
      let name = path.dropFirst(stream.count + 1)
      guard let file = await Self.files(of: recorder).first(where: { $0.name == name }) else { continue }
      return await self.download(file)
    }
    return .notFound("there is no such recording, or no longer")
  }

  private func download(_ file: RecordedFile) async -> ServerResponse {
    let content: OpenFile
    do throws(OpenFile.Failure) {
      content = try await self.files.open(file.path)
    } catch {
      return error == .tooMany
        ? .text(.serviceUnavailable, "too many recordings are being sent; ask again", [.retryAfter: "10"])
        : .notFound("there is no such recording, or no longer")
    }
    var response = ServerResponse(
      .ok,
      [
        .contentType: "video/mp4",
        .contentDisposition: Self.disposition(ofFile: file.name.split(separator: "/").last ?? ""),
      ], body: .file(content, 0..<content.length), caching: .revalidated)
    response.etag = content.etag
    response.lastModified = content.modificationTime / 1_000_000_000
    response.hasRanges = true
    return response
  }

  /// The value of `Content-Disposition`, RFC 6266 §4.3: the name in ASCII for old clients, and in UTF-8.
  static func disposition(ofFile name: some StringProtocol) -> String {
    let plain = name.unicodeScalars.map { scalar in
      scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F && !"\"\\%".unicodeScalars.contains(scalar)
        ? Character(scalar) : "_"
    }
    let path = LiveStream.path(ofName: String(name)).dropFirst()
    return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(path)"
  }

  /// The recorders of the published streams, with the streams' names.
  private var recorders: [(stream: String, recorder: RecordingControl)] {
    self.streams.all.compactMap { published in
      self.providers.controls(published.stream).recording.map { (published.name, $0) }
    }
  }

  /// Lists files, off the event loop.
  private static func files(of recorder: RecordingControl) async -> [RecordedFile] {
    // Throws when the task is cancelled; then the response is not sent.
    (try? await NIOThreadPool.singleton.runIfActive { recorder.files() }) ?? []
  }

  private static let noRecorder = ServerResponse.notFound(
    "this stream is not recorded here; start the server with --record PATTERN, or with --recordings FOLDER to begin later"
  )
}
