internal import Authentication
internal import HLSServer
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Recording
internal import StreamControl
internal import Streaming
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPResponder {
  /// Maximum length of a command, in bytes.
  private static let maximumRequestLength = 1024

  /// `GET /api/streams/NAME/recording`.
  func recordingState(of name: String, user: HTTPUser) -> ServerResponse {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let recorder = self.providers.controls(stream.stream).recording else { return Self.noRecorder }
    // Other viewers see that the stream is recorded, not what about it.
    return self.mayReadRecordings(user)
      ? Self.json(RecordingEntry(recorder.status(), stream: name))
      : Self.json(RecordingEntry(state: recorder.status().state))
  }

  /// `POST /api/streams/NAME/recording`.
  ///
  /// Only JSON is accepted: pages of other origins can send a form without a preflight request, but not JSON
  /// (Fetch §2.2.2).
  func record(
    _ name: String, _ request: HTTPRequest, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard let stream = self.streams[name] else { return .notFound() }
    guard let recorder = self.providers.controls(stream.stream).recording else { return Self.noRecorder }
    let bytes = try await self.readBody(
      of: request, as: ["application/json"], maximumLength: Self.maximumRequestLength, from: body)
    guard let change = try? JSONDecoder().decode(RecordingRequest.self, from: Data(bytes.readableBytesView)) else {
      let actions = RecordingControl.Action.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw HTTPRefusal("the body is {\"action\": …} with one of \(actions)")
    }
    do throws(VidiconError) {
      try await recorder.perform(change.action)
    } catch {
      return .text(error.code == .wrongState ? .conflict : .internalServerError, error.reason)
    }
    return Self.json(RecordingEntry(recorder.status(), stream: name))
  }

  /// Maximum number of files in one list.
  private static let maximumListed = 1000

  /// `/api/recordings`.
  func recordingList(_ target: HTTPTarget, user: HTTPUser) async throws(HTTPRefusal) -> ServerResponse {
    let limit = try target.number("limit", in: 1...Self.maximumListed)
    let offset = try target.number("offset", in: 0...1_000_000_000)
    var files: [(file: RecordedFile, stream: String)] = []
    var newest: [String: ReversedCollection<[RecordedFile]>.Iterator] = [:]
    for (name, recorder) in self.recorders {
      let own = await Self.files(of: recorder)
      files += own.map { ($0, name) }
      newest[name] = own.reversed().makeIterator()
    }
    files.sort { ($0.file.modificationTime, $0.file.name) > ($1.file.modificationTime, $1.file.name) }
    // Files of one recorder have its order, whatever the clock did, at the places of its times among those of others.
    for index in files.indices {
      if let file = newest[files[index].stream]?.next() { files[index].file = file }
    }
    let listed = files.dropFirst(offset ?? 0).prefix(limit ?? Self.maximumListed)
    return Self.json(
      RecordingList(
        recordings: listed.map { file, stream in
          var entry = RecordedFileEntry(file, stream: stream)
          if case .identified = user.identification {
            entry.ticket = self.tickets.ticket(
              for: self.ticketSubject("\(stream)/\(file.name)", isOperator: user.role == .operator),
              now: self.clock.now())
          }
          return entry
        }, total: files.count,
        bytes: files.reduce(0) { $0 + $1.file.byteCount }))
  }

  /// `/recordings/STREAM/FILE`: a file as far as it is written. Only names of the recorders' patterns are looked up, so that
  /// no other file is reached; a seeking viewer costs one opened file per request.
  func recordedFile(_ components: [String], _ target: HTTPTarget, user: HTTPUser) async -> ServerResponse {
    let isOperator = user.role == .operator || self.hasTicket(target, for: .recordedFile(components), ofOperator: true)
    let path = components.joined(separator: "/")
    for (stream, recorder) in self.recorders where path.hasPrefix(stream + "/") {
      let name = String(path.dropFirst(stream.count + 1))
      do throws(OpenFile.Failure) {
        return Self.download(
          try await self.files.open(
            name, for: IPAddress(parsing: user.address)?.network, isOperator: isOperator,
            foundBy: { recorder.file($0)?.path }), named: name)
      } catch {
        guard error == .tooMany else { continue }
        self.access.refusals.count(.overLimit)
        return .text(.serviceUnavailable, "too many recordings are being sent; try again later", [.retryAfter: "10"])
      }
    }
    return .notFound("there is no such recording, or no longer")
  }

  /// Whether a request has a valid ticket for the recorded file that it names.
  ///
  /// - Parameter ofOperator: Whether it must be an operator's.
  func hasTicket(_ target: HTTPTarget, for route: HTTPRoute, ofOperator: Bool = false) -> Bool {
    guard case .recordedFile(let components) = route, let ticket = target.parameter("ticket") else { return false }
    let path = components.joined(separator: "/")
    return (ofOperator ? [true] : [true, false]).contains { isOperator in
      self.tickets.accepts(ticket, for: self.ticketSubject(path, isOperator: isOperator), now: self.clock.now())
    }
  }

  /// Subject of a ticket: a file, the role of the client that listed it, and the version of the users: one that was
  /// removed downloads nothing more.
  private func ticketSubject(_ path: String, isOperator: Bool) -> String {
    "\(isOperator ? "operator" : "viewer") \(self.access.usersVersion) \(path)"
  }

  private static func download(_ content: OpenFile, named name: String) -> ServerResponse {
    var response = ServerResponse(
      .ok,
      [
        .contentType: "video/mp4",
        .contentDisposition: Self.disposition(ofFile: name.split(separator: "/").last ?? ""),
      ], body: .file(content, 0..<content.length),
      // A role reads recordings, also where everybody watches.
      caching: .other("private, no-cache"))
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

  /// The recorders of the served streams, with the streams' names.
  private var recorders: [(stream: String, recorder: RecordingControl)] {
    self.streams.all.compactMap { served in
      self.providers.controls(served.stream).recording.map { (served.name, $0) }
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
