import Authentication
import Media

/// Requests of a check to a server of HTTP: redirects are followed, and challenges answered.
struct HTTPVisit {
  /// Maximum number of redirects of a request.
  private static let maximumRedirectCount = 3

  private let origin: HTTPAddress
  private let isVerifying: Bool
  private let deadline: MediaTime
  private var responder: ChallengeResponder?
  /// Schemes that the server has asked for.
  private(set) var loginSchemes: [String] = []

  /// - Parameters:
  ///   - origin: The address of the check, to whose server alone the password goes.
  ///   - credentials: Nil without a user, or where the server is not trusted with a password.
  ///   - clientNonce: Random hexadecimal digits, for proofs of the password.
  init(
    origin: HTTPAddress, credentials: (user: String, password: String)?, clientNonce: String, isVerifying: Bool,
    deadline: MediaTime
  ) {
    self.origin = origin
    self.isVerifying = isVerifying
    self.deadline = deadline
    self.responder = credentials.map {
      ChallengeResponder(user: $0.user, password: $0.password, clientNonce: clientNonce)
    }
  }

  /// Requests a resource.
  ///
  /// - Returns: The response, and the address that it has come from.
  mutating func request(
    _ request: HTTPExchange.Request
  ) async -> Result<(result: HTTPResult, address: HTTPAddress), ConnectionFailure> {
    var request = request
    var (redirectCount, isChallenged) = (0, false)
    while true {
      let isTrusted = request.address.hasOrigin(of: self.origin)
      request.authorization =
        isTrusted ? self.responder?.authorization(method: request.method, uri: request.address.target) : nil
      let result: HTTPResult
      switch await HTTPExchange.send(request, isVerifying: self.isVerifying, until: self.deadline) {
      case .failure(let failure): return .failure(failure)
      case .success(let response): result = response
      }
      let challenges = result.headers.filter { $0.name == "www-authenticate" }.map(\.value)
      for challenge in challenges {
        let scheme = String(challenge.prefix { $0 != " " }.prefix(20)).withoutControls()
        if !scheme.isEmpty, !self.loginSchemes.contains(scheme) { self.loginSchemes.append(scheme) }
      }
      if result.status == 401, isTrusted, !isChallenged, self.responder?.take(challenges) == true {
        isChallenged = true
        continue
      }
      if [301, 302, 303, 307, 308].contains(result.status), redirectCount < Self.maximumRedirectCount,
        let next = result.header("location").flatMap({ request.address.resolved($0) })
      {
        redirectCount += 1
        request.address = next
        continue
      }
      return .success((result, request.address))
    }
  }
}
