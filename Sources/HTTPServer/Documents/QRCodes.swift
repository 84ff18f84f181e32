internal import Authentication
internal import Crypto
internal import Media
internal import NIOCore
internal import Synchronization

/// QR codes as SVG images: each takes a millisecond of an event loop, so that those made are kept, and the number of new ones
/// is limited, by network and in all.
final class QRCodes: Sendable {
  struct Image {
    let bytes: ByteBuffer
    let etag: String
  }

  enum Result {
    case image(Image)
    case textTooLong
    /// Too many codes of other texts were requested in the last second.
    case overLimit
  }

  /// Number of codes that are kept.
  static let maximumCount = 64
  /// Maximum number of codes that are made for a network in a second.
  static let maximumRateOfNetwork = 4
  /// Maximum number of codes that are made in a second.
  static let maximumRate = 16

  private struct State {
    /// Least recently requested first.
    var images: [(text: String, image: Image)] = []
    /// The second that is counted, and the codes made in it by network.
    var second: Int64 = 0
    var made: [String: Int] = [:]
  }

  private let state = Mutex(State())
  private let encode: @Sendable (String) -> String?

  /// - Parameter encode: Draws a code as SVG; nil for a text that is too long.
  init(encode: @escaping @Sendable (String) -> String?) {
    self.encode = encode
  }

  /// The code of a text.
  func code(for text: String, network: String, now: MediaTime) -> Result {
    self.state.withLock { state in
      if let index = state.images.firstIndex(where: { $0.text == text }) {
        let entry = state.images.remove(at: index)
        state.images.append(entry)
        return .image(entry.image)
      }
      let second = now.nanoseconds / 1_000_000_000
      if second != state.second { (state.second, state.made) = (second, [:]) }
      guard state.made[network, default: 0] < Self.maximumRateOfNetwork,
        state.made.values.reduce(0, +) < Self.maximumRate
      else { return .overLimit }
      state.made[network, default: 0] += 1
      guard let code = self.encode(text) else { return .textTooLong }
      let etag = hexadecimal(SHA256.hash(data: Array(code.utf8)).prefix(12))
      let image = Image(bytes: ByteBuffer(string: code), etag: "\"\(etag)\"")
      if state.images.count >= Self.maximumCount { state.images.removeFirst() }
      state.images.append((text, image))
      return .image(image)
    }
  }
}
