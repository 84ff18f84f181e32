internal import Authentication
internal import HTTPServer
internal import HTTPTypes

extension HTTPResponder {
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
}
