public import Authentication
public import Media
public import RTMP
public import WebRTC

/// A server that a stream is pushed to, and what it gets.
///
/// The stream key of RTMP, and the path and the token of WHIP, are secrets: no description and no error shows them.
public struct PushTarget: Hashable, Sendable {
  /// Address of a server, with its protocol and its secrets.
  public enum Destination: Hashable, Sendable {
    /// A server of RTMP, with the stream key.
    case rtmp(RTMPURL)
    /// A server of WHIP, with the token of its requests; nil without one.
    case whip(WHIPURL, token: Secret?)
  }

  /// Address of the server, with its protocol.
  public var destination: Destination
  /// Name of the rendition that is sent.
  public var rendition: String
  /// Bitrate of an encoding of this push alone, in bits per second; nil sends what all viewers get.
  public var bitrate: Int?
  /// Whether an encoding of this push alone replaces what is sent while the link carries less; frames are dropped otherwise.
  public var isAdaptive: Bool

  /// Minimum and maximum ``bitrate``: 10 kb/s to 200 Mb/s.
  public static let bitrates = 10_000...200_000_000
  /// Maximum length of a URL, and of a token, in bytes.
  public static let maximumURLLength = 2048

  /// Creates a target from a URL: `rtmp[s]://HOST[:PORT]/APP/KEY`, or `whip+https://HOST[:PORT]/PATH`.
  ///
  /// The parameter `rendition=NAME` of its query names the rendition, and is not sent: it is not part of ``destination``. A server's own
  /// parameter of this name is written `%72endition=NAME`.
  ///
  /// - Parameters:
  ///   - token: Token of WHIP's requests, visible ASCII characters; nil without one.
  ///   - rendition: Name of the rendition that is sent; nil for that of the URL, and for `main` where that has none.
  /// - Throws: `.invalidSpecification` for a malformed URL, one of RTMP without a stream key or with a token, a token or bitrate
  ///   out of range, and a rendition that is not the URL's.
  public init(
    url text: String, token: Secret? = nil, rendition: String? = nil, bitrate: Int? = nil, isAdaptive: Bool = true
  ) throws(VidiconError) {
    guard text.utf8.count <= Self.maximumURLLength else {
      throw Self.failure("its URL has more than \(Self.maximumURLLength) bytes")
    }
    var parameter = RenditionParameter()
    if text.prefix(4).lowercased() == "whip" {
      self.destination = try Self.whip(text, token: token, removing: &parameter)
    } else {
      self.destination = try Self.rtmp(text, token: token, removing: &parameter)
    }
    self.rendition = try parameter.rendition(beside: rendition)
    if let bitrate, !Self.bitrates.contains(bitrate) {
      throw VidiconError(
        .invalidSpecification, subject: "push", cause: "its bitrate is out of range", nextStep: "give 10k to 200000k")
    }
    self.bitrate = bitrate
    self.isAdaptive = isAdaptive
  }

  private static func failure(_ cause: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: "push", cause: cause,
      nextStep: "give rtmp://HOST/APP/KEY, or rtmps:// for an encrypted connection, or whip+https://HOST/PATH")
  }

  private static func rtmp(
    _ text: String, token: Secret?, removing parameter: inout RenditionParameter
  ) throws(VidiconError) -> Destination {
    var url: RTMPURL
    do throws(ParsingError) {
      url = try RTMPURL(parsing: text)
    } catch {
      switch error.field {
      case "scheme": throw Self.failure("its URL is none of rtmp://, rtmps:// and whip+https://")
      case "application": throw Self.failure("its URL has no application and no stream key")
      case "user": throw Self.failure("its URL has a user without a password, or with signs that it cannot have")
      case "host", "port": throw Self.failure("the \(error.field) of its URL is not valid")
      default: throw Self.failure("its URL is not valid")
      }
    }
    url.applicationQuery = Secret(parameter.remove(from: url.applicationQuery.text))
    url.key = Secret(parameter.remove(from: url.key.text))
    guard !url.key.isEmpty else { throw Self.failure("its URL has no stream key") }
    guard token == nil else { throw Self.failure("a token is of WHIP, and its URL is of RTMP") }
    return .rtmp(url)
  }

  private static func whip(
    _ text: String, token: Secret?, removing parameter: inout RenditionParameter
  ) throws(VidiconError) -> Destination {
    // A name with letters that no URL has would be refused there, and a fragment has no parameters.
    let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.utf8.endIndex
    let sent = parameter.remove(from: String(text[..<end])) + String(text[end...])
    let url: WHIPURL
    do throws(ParsingError) {
      url = try WHIPURL(parsing: sent)
    } catch {
      switch error.field {
      case "scheme": throw Self.failure("its URL is neither whip+https:// nor whip+http://")
      case "host", "port": throw Self.failure("the \(error.field) of its URL is not valid")
      default: throw Self.failure("its URL is not valid")
      }
    }
    if let token { try Self.check(token) }
    return .whip(url, token: token)
  }

  /// Checks a token: spaces and controls would end the header.
  private static func check(_ token: Secret) throws(VidiconError) {
    guard (1...Self.maximumURLLength).contains(token.text.utf8.count),
      token.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw Self.failure("its token is empty, too long, or has signs that it cannot have") }
  }

  /// Sets the token of a target of WHIP that has none; without effect on others.
  ///
  /// - Throws: `.invalidSpecification` for a token that a header cannot have.
  package mutating func setDefaultToken(_ token: Secret) throws(VidiconError) {
    guard case .whip(let url, nil) = self.destination else { return }
    try Self.check(token)
    self.destination = .whip(url, token: token)
  }

  /// Whether the target is a server of WHIP.
  package var isWHIP: Bool {
    if case .whip = self.destination { true } else { false }
  }

  /// The URL without the stream key of RTMP, and without the path of WHIP, for users.
  public var address: String {
    switch self.destination {
    case .rtmp(let url): url.address
    case .whip(let url, _): url.address
    }
  }
}

extension PushTarget: CustomStringConvertible {
  /// The ``address``, without its secrets.
  public var description: String { self.address }
}

/// A push as its owner sees it; has no stream key.
public struct PushReport: Hashable, Sendable {
  /// Number of the push, unique among those that the stream has had.
  public var id: Int
  /// URL of the server, without the stream key.
  public var address: String
  /// Name of the rendition that is sent.
  public var rendition: String
  /// State and counters at the time of the report.
  public var status: PushStatus
  /// Time until the next attempt; nil while none waits.
  public var nextAttempt: MediaDuration?

  /// Creates a report of one push.
  public init(
    id: Int, address: String, rendition: String = RenditionName.main, status: PushStatus,
    nextAttempt: MediaDuration? = nil
  ) {
    self.id = id
    self.address = address
    self.rendition = rendition
    self.status = status
    self.nextAttempt = nextAttempt
  }
}

/// Entry of a new list of pushes: one that continues, or one to start.
package enum PushEntry: Hashable, Sendable {
  /// The push of this number continues.
  case existing(Int)
  /// A push is started.
  case new(PushTarget)
}
