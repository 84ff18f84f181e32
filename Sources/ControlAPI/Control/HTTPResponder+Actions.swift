internal import Authentication
internal import HTTPServer
internal import HTTPTypes
internal import Media

// Actions without arguments.
extension HTTPResponder {
  /// Maximum length of the body of an action without arguments, in bytes: an object without members.
  private static let maximumEmptyLength = 1024

  /// `POST /api/reload`: has the program read its configuration again. Operators only, since the response names its streams and files.
  func reload(
    _ request: HTTPRequest, user: HTTPUser, body: BodyReader
  ) async throws(HTTPRefusal) -> ServerResponse {
    guard user.role == .operator else {
      throw HTTPRefusal(.forbidden, "the configuration is read again for operators only")
    }
    try await self.readEmptyObject(of: request, from: body)
    switch await self.providers.reload() {
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
