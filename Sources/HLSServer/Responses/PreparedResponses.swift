internal import HLS
internal import HTTPServer
internal import HTTPTypes
internal import Synchronization

/// Targets of plain GETs for files of HLS, and the heads of their responses: resolved and made once for all viewers.
///
/// The response to a plain GET depends on its ``Key`` and the time only.
final class PreparedResponses: Sendable {
  /// The parts of a plain GET on which its response depends.
  struct Key: Hashable {
    /// The target in origin form.
    let path: String
    let authority: String
    let acceptEncoding: String?
  }

  /// A file of HLS.
  struct Target {
    weak var stream: ServedStream?
    /// The request, with the arrival of the first one.
    var request: HLSRequest
    var sharing: HTTPSharing
    var acceptsGzip: Bool
  }

  /// The parts of a file on which the head of its response depends in one second.
  struct Variant: Hashable {
    var etag: String
    var caching: HLSContent.Caching
    var acceptsGzip: Bool
  }

  private struct State {
    /// The ``ServedStreams/version`` of `targets`.
    var version = 0
    var targets: [Key: Target] = [:]
    /// Unix time of `responses`, in seconds.
    var second: Int64 = 0
    /// Finished responses with their heads; only compressed bodies are kept.
    var responses: [Variant: ServerResponse] = [:]
  }

  /// Maximum number of targets, and of responses; at the limit all are dropped.
  static let maximumCount = 64

  private let state = Mutex(State())

  /// Number of targets and of responses, for tests.
  var counts: (targets: Int, responses: Int) {
    self.state.withLock { ($0.targets.count, $0.responses.count) }
  }

  /// The target of a key; nil when it is not known, or streams have changed.
  func target(for key: Key, version: Int) -> Target? {
    self.state.withLock { state in
      if state.version != version {
        state.targets.removeAll(keepingCapacity: true)
        state.version = version
      }
      return state.targets[key]
    }
  }

  /// Keeps a target that was resolved while the streams had a version.
  func insert(_ target: Target, for key: Key, version: Int) {
    self.state.withLock { state in
      guard state.version == version else { return }
      if state.targets.count >= Self.maximumCount { state.targets.removeAll(keepingCapacity: true) }
      state.targets[key] = target
    }
  }

  /// The response with a file in a second; nil when it is not known.
  func response(for variant: Variant, second: Int64) -> ServerResponse? {
    self.state.withLock { state in state.second == second ? state.responses[variant] : nil }
  }

  /// Keeps the response with a file in a second.
  func insert(_ response: ServerResponse, for variant: Variant, second: Int64) {
    self.state.withLock { state in
      if state.second != second || state.responses.count >= Self.maximumCount {
        state.responses.removeAll(keepingCapacity: true)
        state.second = second
      }
      state.responses[variant] = response
    }
  }
}

extension PreparedResponses.Key {
  /// Maximum length of target, authority and `Accept-Encoding` together, in bytes: others are not kept.
  static let maximumLength = 1024

  /// The key of a request; nil unless it is a plain GET.
  init?(_ request: HTTPRequest) {
    guard request.method == .get, let path = request.path, let authority = request.authority, !authority.isEmpty else {
      return nil
    }
    var acceptEncoding: String?
    for field in request.headerFields {
      if field.name == .acceptEncoding, acceptEncoding == nil {
        acceptEncoding = field.value
      } else if !Self.irrelevantFields.contains(field.name) {
        return nil
      }
    }
    let length = path.utf8.count + authority.utf8.count + (acceptEncoding?.utf8.count ?? 0)
    guard length <= Self.maximumLength else { return nil }
    self.init(path: path, authority: authority, acceptEncoding: acceptEncoding)
  }

  /// Fields on which no response with a file of HLS depends. Others, such as conditions, ranges, credentials, origins and those of
  /// proxies, make a request one that is not plain.
  private static let irrelevantFields = Set<HTTPField.Name>(
    [.userAgent, .accept, .acceptLanguage, .connection, .referer, .cacheControl, .priority]
      + [
        "Pragma", "DNT", "Icy-MetaData", "X-Playback-Session-Id", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
        "Sec-Fetch-User", "Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform",
      ].map { HTTPField.Name($0)! })  // Safe because they are tokens.
}
