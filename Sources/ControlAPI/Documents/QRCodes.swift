internal import Authentication
internal import Cryptography
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// QR codes as SVG images: each takes a millisecond of an event loop, so that those made are kept, and the number of new ones
/// in a second is limited, by network and in all. Further ones wait for the next second.
final class QRCodes: Sendable {
  struct Image {
    let bytes: ByteBuffer
    let etag: String
  }

  enum Result {
    case image(Image)
    case textTooLong
    /// Too many requests wait already.
    case overLimit
  }

  /// Result of a request that does not wait.
  enum Attempt {
    case done(Result)
    /// The next codes are made at this time.
    case wait(until: MediaTime)
  }

  /// Number of codes that are kept.
  static let maximumCount = 64
  /// Maximum number of codes that are made for a network in a second.
  static let maximumRateOfNetwork = 4
  /// Maximum number of codes that are made in a second.
  static let maximumRate = 16
  /// Maximum number of requests of a network that wait.
  static let maximumWaitingOfNetwork = 8
  /// Maximum number of requests that wait.
  static let maximumWaiting = 32

  private struct State {
    /// Least recently requested first.
    var images: [(text: String, image: Image)] = []
    /// The second that is counted, and the codes made in it by network.
    var second: Int64 = 0
    var made: [String: Int] = [:]
    /// Number of waiting requests by network.
    var waiting: [String: Int] = [:]
  }

  private let state = Mutex(State())
  private let encode: @Sendable (String) -> String?

  /// - Parameter encode: Draws a code as SVG; nil for a text that is too long.
  init(encode: @escaping @Sendable (String) -> String?) {
    self.encode = encode
  }

  /// The code of a text, as soon as its network's share allows it.
  func code(for text: String, network: String, clock: StreamClock) async -> Result {
    var isWaiting = false
    defer { if isWaiting { self.endWaiting(network) } }
    while true {
      let now = clock.now()
      switch self.attempt(text, network: network, now: now) {
      case .done(let result): return result
      case .wait(let time):
        if !isWaiting { isWaiting = self.beginWaiting(network) }
        guard isWaiting, (try? await Task.sleep(nanoseconds: UInt64((time - now).nanoseconds))) != nil else {
          return .overLimit
        }
      }
    }
  }

  /// Counts a request that waits; false when too many do.
  func beginWaiting(_ network: String) -> Bool {
    self.state.withLock { state in
      guard state.waiting[network, default: 0] < Self.maximumWaitingOfNetwork,
        state.waiting.values.reduce(0, +) < Self.maximumWaiting
      else { return false }
      state.waiting[network, default: 0] += 1
      return true
    }
  }

  func endWaiting(_ network: String) {
    self.state.withLock { state in
      let count = state.waiting[network, default: 1] - 1
      state.waiting[network] = count > 0 ? count : nil
    }
  }

  /// The code of a text, if it was made or may be made now.
  func attempt(_ text: String, network: String, now: MediaTime) -> Attempt {
    self.state.withLock { state in
      if let index = state.images.firstIndex(where: { $0.text == text }) {
        let entry = state.images.remove(at: index)
        state.images.append(entry)
        return .done(.image(entry.image))
      }
      let second = now.nanoseconds / 1_000_000_000
      if second != state.second { (state.second, state.made) = (second, [:]) }
      guard state.made[network, default: 0] < Self.maximumRateOfNetwork,
        state.made.values.reduce(0, +) < Self.maximumRate
      else { return .wait(until: MediaTime(nanoseconds: (second + 1) * 1_000_000_000)) }
      state.made[network, default: 0] += 1
      guard let code = self.encode(text) else { return .done(.textTooLong) }
      let etag = Hexadecimal.encode(HashAlgorithm.sha256.digest(of: code.utf8).prefix(12))
      let image = Image(bytes: ByteBuffer(string: code), etag: "\"\(etag)\"")
      if state.images.count >= Self.maximumCount { state.images.removeFirst() }
      state.images.append((text, image))
      return .done(.image(image))
    }
  }
}
