internal import HLS
internal import HTTPServer
internal import Media

extension HTTPCaching {
  /// The policy of an HLS file, rounded down to whole seconds and at least one: with zero a cache would forward the playlist
  /// request of every viewer to the origin. RFC 8216bis advises half the target duration, which is one second here.
  init(_ caching: HLSContent.Caching) {
    switch caching {
    case .immutable: self = .immutable
    case .media(let time): self = .shared(max(1, Int(time.nanoseconds / 1_000_000_000)))
    case .short(let time), .blocking(let time): self = .seconds(max(1, Int(time.nanoseconds / 1_000_000_000)))
    }
  }
}
