internal import Authentication
internal import Serving
internal import WebRTC

// MARK: Sessions of viewers and publishers

extension WebRTCHub {
  /// Adds the session of a viewer to the table before its answer is sent: the first check may arrive earlier.
  ///
  /// - Parameters:
  ///   - credentials: The server's credentials of the session.
  ///   - client: Where the session was requested from.
  /// - Returns: The session's new identifier, and its number.
  func addSession(
    _ credentials: ICECredentials, client: IPAddress
  ) throws(WebRTCRefusal) -> (id: String, number: UInt32) {
    let id = Self.makeID { .random(in: 0...UInt64.max) }
    let addition: ICESessionTable<String>.Addition
    do {
      addition = try self.table.add(id, usernameFragment: credentials.usernameFragment, client: client)
    } catch {
      self.refusals.count(.overLimit)
      throw .tooManySessions
    }
    if let displaced = addition.displaced {
      self.refusals.count(.overLimit)
      self.closeSession(displaced, for: .limit)
    }
    return (id, addition.number)
  }

  /// Adds the session of a publisher, as ``addSession(_:client:)``.
  func addPublisherSession(_ credentials: ICECredentials) throws(WebRTCRefusal) -> (id: String, number: UInt32) {
    let id = Self.makeID { .random(in: 0...UInt64.max) }
    do {
      return (id, try self.table.addPublisher(id, usernameFragment: credentials.usernameFragment))
    } catch {
      throw .tooManySessions
    }
  }

  /// Restarts ICE of a session where a fragment requests that.
  ///
  /// - Returns: The server's new credentials, and the client's; nil for candidates alone.
  func restart(
    _ id: String, _ ice: inout ICESessionParameters, _ fragment: TrickleFragment, entityTags: String?
  ) throws(WebRTCRefusal) -> (server: ICECredentials, client: ICECredentials)? {
    do throws(ICESessionParameters.Refusal) {
      guard try ice.isRestart(fragment, entityTags: entityTags) else { return nil }
    } catch {
      throw WebRTCRefusal(error)
    }
    guard let client = fragment.credentials else { return nil }
    let credentials = ICECredentials { .random(in: 0...UInt64.max) }
    do {
      try self.table.restart(id, usernameFragment: credentials.usernameFragment)
    } catch {
      throw .tooManySessions
    }
    ice.restart(credentials: credentials, client: fragment)
    return (credentials, client)
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

extension WebRTCRefusal {
  /// Text of an offer that wants no connection yet.
  static let held = "the offer wants no connection yet; a=setup must be actpass, active or passive"

  /// The refusal of a viewer's offer.
  init(ofViewer refusal: WebRTCAnswer.Refusal) {
    switch refusal {
    case .nothingFits: self = .nothingFits
    case .receivesNothing: self = .receivesNothing
    case .packetizationMode:
      self = .noDecoder(
        "the offer has H.264 without packetization-mode=1, and this stream cannot be encoded for the mode that it has; "
          + "offer packetization-mode=1")
    case .profile:
      self = .noDecoder("no profile-level-id of the offer's H.264 has a profile that decodes this stream; offer 42e01f")
    case .level:
      self = .noDecoder(
        "the level in profile-level-id of the offer's H.264 is below the stream's; offer level-asymmetry-allowed=1"
      )
    case .noTransport: self = .malformed("the offer has no ICE credentials, or no fingerprint of SHA-2")
    case .holdsConnection: self = .malformed(Self.held)
    }
  }
}
