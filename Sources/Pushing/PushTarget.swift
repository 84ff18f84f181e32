internal import Authentication
public import Media
public import RTMP

/// A server that a stream is pushed to, and what it gets.
///
/// The stream key is a secret: no description and no error shows it.
public struct PushTarget: Hashable, Sendable {
  /// Address and stream key.
  public var url: RTMPURL
  /// Name of the rendition that is sent; nil for the main one.
  public var rendition: String?
  /// Bitrate of an encoding of this push alone, in bits per second; nil sends what all viewers get.
  public var bitrate: Int?
  /// Whether an encoding of this push alone replaces what is sent while the link carries less; frames are dropped otherwise.
  public var isAdaptive: Bool

  /// Minimum and maximum ``bitrate``: 10 kb/s to 200 Mb/s.
  public static let bitrates = 10_000...200_000_000
  /// Maximum length of a URL, in bytes.
  public static let maximumURLLength = 2048

  /// Creates a target from a URL, `rtmp[s]://HOST[:PORT]/APP/KEY`.
  ///
  /// - Throws: `.invalidSpecification` for a malformed URL, one without a stream key, and a bitrate out of range.
  public init(
    url text: String, rendition: String? = nil, bitrate: Int? = nil, isAdaptive: Bool = true
  ) throws(VidiconError) {
    func failure(_ cause: String) -> VidiconError {
      VidiconError(
        .invalidSpecification, subject: "push", cause: cause,
        nextStep: "give rtmp://HOST/APP/KEY, or rtmps:// for an encrypted connection")
    }
    guard text.utf8.count <= Self.maximumURLLength else {
      throw failure("its URL has more than \(Self.maximumURLLength) bytes")
    }
    do throws(ParsingError) {
      self.url = try RTMPURL(parsing: text)
    } catch {
      switch error.field {
      case "scheme": throw failure("its URL is neither rtmp:// nor rtmps://")
      case "application": throw failure("its URL has no application and no stream key")
      case "user": throw failure("its URL has a user, which RTMP does not have")
      case "host", "port": throw failure("the \(error.field) of its URL is not valid")
      default: throw failure("its URL is not valid")
      }
    }
    guard !self.url.key.isEmpty else { throw failure("its URL has no stream key") }
    if let bitrate, !Self.bitrates.contains(bitrate) {
      throw VidiconError(
        .invalidSpecification, subject: "push", cause: "its bitrate is out of range", nextStep: "give 10k to 200000k")
    }
    self.rendition = rendition
    self.bitrate = bitrate
    self.isAdaptive = isAdaptive
  }

  /// The URL without the stream key, for users.
  public var address: String { self.url.connectionURL }
}

extension PushTarget: CustomStringConvertible {
  /// The ``address``, without its key.
  public var description: String { self.address }
}

/// A push as its owner sees it; has no stream key.
public struct PushReport: Hashable, Sendable {
  /// Number of the push, unique among those that the stream has had.
  public var id: Int
  /// URL of the server, without the stream key.
  public var address: String
  /// Name of the rendition that is sent; nil for the main one.
  public var rendition: String?
  /// State and counters at the time of the report.
  public var status: PushStatus
  /// Time until the next attempt; nil while none waits.
  public var nextAttempt: MediaDuration?

  /// Creates a report of one push.
  public init(
    id: Int, address: String, rendition: String? = nil, status: PushStatus, nextAttempt: MediaDuration? = nil
  ) {
    self.id = id
    self.address = address
    self.rendition = rendition
    self.status = status
    self.nextAttempt = nextAttempt
  }
}

/// A member of the list that replaces the pushes of a stream.
public enum PushEntry: Hashable, Sendable {
  /// The push of this number goes on.
  case existing(Int)
  /// A push is started.
  case new(PushTarget)
}
