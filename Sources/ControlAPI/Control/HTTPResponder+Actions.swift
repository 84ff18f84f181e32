internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore

// Actions without arguments.
extension HTTPResponder {
  /// Maximum length of the body of an action without arguments, in bytes: an object without members.
  private static let maximumEmptyLength = 1024
  /// Media type of a configuration, RFC 9512 §2.1.
  private static let configurationType = "application/yaml"

  /// `POST /api/reload`: has the program read its configuration again. Operators only, since the response names its streams and files.
  func reload(
    _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard user.role == .operator else {
      throw HTTPRefusal(.forbidden, "the configuration is read again for operators only")
    }
    try await self.readEmptyObject(of: request, from: body)
    return try await self.reload(nil)
  }

  /// `PUT /api/configuration`: has the program apply a configuration in place of that of its file. For the holder of the configuration token
  /// only, on this machine.
  func configure(_ request: HTTPRequest, body: BodyReader) async throws(HTTPRefusal) -> ServerResponse {
    let bytes = try await self.readBody(
      of: request, as: [Self.configurationType], maximumLength: HTTPBodyLimits.configurationBytes, from: body)
    guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
      throw HTTPRefusal("the body is not UTF-8")
    }
    return try await self.reload(text)
  }

  /// Has the program apply its configuration, and responds with what has changed.
  ///
  /// - Parameter text: The text of a configuration; nil for that of the program's file.
  private func reload(_ text: String?) async throws(HTTPRefusal) -> ServerResponse {
    switch await self.providers.reload(text) {
    case .success(let entry)?: return Self.json(entry)
    case .failure(let error)?:
      // The file is wrong, and not the request.
      guard error.code != .busy else { throw HTTPRefusal(error) }
      throw HTTPRefusal(.conflict, "\(error); the configuration stays as it was")
    case nil: return .notFound("the server has no configuration file; start it with --config FILE")
    }
  }

  /// `POST /api/check`: has the program check its machine. Operators only, since the report names files, addresses and programs.
  ///
  /// No `GET`, since it costs the machine seconds, and images and links of other sites are such requests.
  func check(
    _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard user.role == .operator else {
      throw HTTPRefusal(.forbidden, "the machine is checked for operators only")
    }
    try await self.readEmptyObject(of: request, from: body)
    guard let entry = await self.checks.report(self.providers.check) else {
      return .notFound("this server has no check; run \"vidicon check\" on its machine")
    }
    return Self.json(entry)
  }

  /// Reads the body of an action without arguments: `{}`.
  func readEmptyObject(of request: HTTPRequest, from body: BodyReader) async throws(HTTPRefusal) {
    // Pages of other sites can send a form without a preflight request, but not JSON (Fetch §2.2.2).
    let json = try await self.readJSON(of: request, maximumLength: Self.maximumEmptyLength, from: body)
    guard json == .object([:]) else { throw HTTPRefusal("the body is {}") }
  }
}
