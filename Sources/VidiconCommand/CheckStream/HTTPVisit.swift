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
  /// Address of the last request.
  private(set) var place: HTTPAddress
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
    (self.origin, self.place) = (origin, origin)
    self.isVerifying = isVerifying
    self.deadline = deadline
    self.responder = credentials.map {
      ChallengeResponder(user: $0.user, password: $0.password, clientNonce: clientNonce)
    }
  }

  /// A response, and the address that it has come from.
  typealias Response = (result: HTTPResult, address: HTTPAddress)

  /// Requests a resource.
  ///
  /// - Parameter stopsAtTLS: Whether a redirect from HTTP to HTTPS is returned, with the address that it leads to.
  mutating func request(
    _ request: HTTPExchange.Request, stopsAtTLS: Bool = false
  ) async -> Result<Response, ConnectionFailure> {
    var request = request
    var (redirectCount, isChallenged) = (0, false)
    while true {
      self.place = request.address
      let isTrusted = request.address.getsPassword(of: self.origin)
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
      if result.status == 403, request.isOfOtherOrigin {
        // A server that refuses pages of other servers may deliver to players.
        request.isOfOtherOrigin = false
        continue
      }
      guard [301, 302, 303, 307, 308].contains(result.status) else { return .success((result, request.address)) }
      let next: HTTPAddress
      switch Self.redirect(result, from: request.address) {
      case .failure(let failure): return .failure(failure)
      case .success(let address): next = address
      }
      if stopsAtTLS, next.isEncrypted, !request.address.isEncrypted { return .success((result, next)) }
      redirectCount += 1
      guard redirectCount <= Self.maximumRedirectCount else { return .failure(.redirect(result.status, .tooMany)) }
      request.address = next
    }
  }

  /// The address that a redirect leads to.
  static func redirect(
    _ result: HTTPResult, from address: HTTPAddress
  ) -> Result<HTTPAddress, ConnectionFailure> {
    guard let next = result.header("location").flatMap({ address.address(of: $0) }) else {
      return .failure(.redirect(result.status, .invalid))
    }
    guard next.isEncrypted || !address.isEncrypted else { return .failure(.redirect(result.status, .insecure)) }
    return .success(next)
  }
}
