internal import Authentication
internal import Synchronization

/// The uploads of images in progress, with the memory that they take: at most one at a time of a client network, and
/// together at most ``maximumBytes``.
final class ImageUploads: Sendable {
  /// Maximum memory of all uploads in bytes: the largest image, 16 million pixels of 16 bytes while it is decoded, and its
  /// file twice.
  static let maximumBytes = (256 + 2 * 8) << 20

  /// Reason for which an upload cannot start.
  enum Refusal: Error, Hashable {
    /// The client's network uploads another image.
    case busy
    /// The other uploads take all of the memory.
    case full
  }

  /// An upload in progress; its end releases the memory.
  final class Upload: Sendable {
    private let uploads: ImageUploads
    private let network: IPAddress?
    private let byteCount: Mutex<Int>

    fileprivate init(of uploads: ImageUploads, from network: IPAddress?, byteCount: Int) {
      self.uploads = uploads
      self.network = network
      self.byteCount = Mutex(byteCount)
    }

    deinit {
      let byteCount = self.byteCount.withLock { $0 }
      self.uploads.state.withLock { state in
        state.byteCount -= byteCount
        state.networks.remove(self.network)
      }
    }

    /// Accounts for further memory; false when the other uploads leave too little.
    func reserve(_ byteCount: Int) -> Bool {
      let isReserved = self.uploads.state.withLock { state in
        guard state.byteCount + byteCount <= ImageUploads.maximumBytes else { return false }
        state.byteCount += byteCount
        return true
      }
      if isReserved { self.byteCount.withLock { $0 += byteCount } }
      return isReserved
    }
  }

  private struct State {
    var networks: Set<IPAddress?> = []
    var byteCount = 0
  }

  private let state = Mutex(State())

  /// Memory of all uploads in progress, in bytes.
  var byteCount: Int { self.state.withLock { $0.byteCount } }

  /// Starts an upload.
  ///
  /// - Parameters:
  ///   - network: Network of the client; nil stands for all clients without an IP address.
  ///   - length: `Content-Length` of the body in bytes, at most ``HTTPBodyLimits/imageBytes``; nil without that field.
  func start(from network: IPAddress?, length: Int?) throws(Refusal) -> Upload {
    let length = min(max(0, length ?? HTTPBodyLimits.imageBytes), HTTPBodyLimits.imageBytes)
    // The body exists twice: as received, and as passed to the decoder.
    let byteCount = 2 * length
    let refusal = self.state.withLock { state -> Refusal? in
      if state.networks.contains(network) { return .busy }
      if state.byteCount + byteCount > Self.maximumBytes { return .full }
      state.networks.insert(network)
      state.byteCount += byteCount
      return nil
    }
    if let refusal { throw refusal }
    return Upload(of: self, from: network, byteCount: byteCount)
  }
}

/// Maximum sizes of request bodies.
enum HTTPBodyLimits {
  /// Maximum size of an uploaded PNG or JPEG file: most images of 2000 × 2000 pixels fit.
  static let imageBytes = 8 << 20
  /// Maximum size of a configuration: that of its file.
  static let configurationBytes = 1 << 20

  /// Maximum size of an uploaded image or configuration in bytes; nil for a request with another body.
  static func maximumBytes(method: String, path: String) -> Int? {
    guard method == "PUT" else { return nil }
    if path == "/api/configuration" { return Self.configurationBytes }
    let isImage = path.hasPrefix("/api/streams/") && HTTPRoute.imageSuffixes.contains { path.hasSuffix($0) }
    return isImage ? Self.imageBytes : nil
  }
}
