internal import Codecs
internal import Media
internal import Synchronization

/// Opens the encoders of a stream's renditions; tests replace it by one that fails or hangs.
final class RenditionEncoders: Sendable {
  typealias Open = @Sendable (VideoEncoderSettings) throws(VidiconError) -> any VideoEncoder

  private let body: Mutex<Open>

  init(_ body: @escaping Open = { (settings) throws(VidiconError) in try LibavH264Encoder(settings) }) {
    self.body = Mutex(body)
  }

  /// Replaces how encoders are opened.
  func replace(with body: @escaping Open) {
    self.body.withLock { $0 = body }
  }

  /// Opens an encoder; blocks, indefinitely where a driver hangs.
  func open(_ settings: VideoEncoderSettings) throws(VidiconError) -> any VideoEncoder {
    try self.body.withLock { $0 }(settings)
  }
}
