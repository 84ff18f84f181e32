internal import Authentication
internal import Connections
internal import WebRTC

// MARK: Sessions of viewers and publishers

extension WebRTCHub {
  /// Adds a session to the table before its answer is sent: the first check may arrive earlier.
  ///
  /// - Parameters:
  ///   - credentials: The server's credentials of the session.
  ///   - client: Where the session was requested from.
  /// - Returns: The session's new identifier.
  func addSession(_ credentials: ICECredentials, client: IPAddress) throws(WebRTCRefusal) -> String {
    let id = Self.makeID { .random(in: 0...UInt64.max) }
    do {
      try self.table.add(id, usernameFragment: credentials.usernameFragment, client: client)
    } catch {
      self.refusals.count(.overLimit)
      throw .tooManySessions
    }
    return id
  }

  /// Restarts ICE of a session where a fragment requests that.
  ///
  /// - Returns: The server's new credentials; nil for candidates alone.
  func restart(
    _ id: String, _ ice: inout ICESessionParameters, _ fragment: TrickleFragment, entityTags: String?
  ) throws(WebRTCRefusal) -> ICECredentials? {
    do throws(ICESessionParameters.Refusal) {
      guard try ice.isRestart(fragment, entityTags: entityTags) else { return nil }
    } catch {
      throw WebRTCRefusal(error)
    }
    let credentials = ICECredentials { .random(in: 0...UInt64.max) }
    do {
      try self.table.restart(id, usernameFragment: credentials.usernameFragment)
    } catch {
      throw .tooManySessions
    }
    ice.restart(credentials: credentials, client: fragment)
    return credentials
  }

  /// 128 random bits.
  static func makeID(_ makeRandom: () -> UInt64) -> String {
    (0..<2).map { _ in
      let digits = String(makeRandom(), radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }
}

extension WebRTCRefusal {
  /// The refusal of a restart.
  init(_ refusal: ICESessionParameters.Refusal) {
    switch refusal {
    case .preconditionRequired: self = .preconditionRequired
    case .preconditionFailed: self = .preconditionFailed
    }
  }
}
