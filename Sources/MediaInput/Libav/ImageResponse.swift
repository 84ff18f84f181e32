internal import Bitstreams
internal import CLibav
internal import Codecs
internal import Libc
internal import Media
internal import NIOCore

/// Response of an HTTP server with images of JPEG, PNG or WebP: parts that replace each other, as Motion JPEG has, or one image, a
/// snapshot. libavformat performs the request. Used by one thread at a time.
final class ImageResponse {
  /// Content by the field `Content-Type`, RFC 9110 §8.3.
  enum Content {
    /// `multipart/x-mixed-replace` and the like.
    case parts
    /// An image of JPEG.
    case jpeg
    /// An image of PNG or WebP.
    case otherImage
    /// None, or bytes of any type.
    case unstated
    case other

    fileprivate init(_ body: UnsafeMutablePointer<AVIOContext>) {
      var value: UnsafeMutablePointer<UInt8>?
      guard av_opt_get(body, "mime_type", AV_OPT_SEARCH_CHILDREN, &value) >= 0, let value else {
        self = .unstated
        return
      }
      defer { av_free(value) }
      let type = String(cString: value).lowercased()
      if type.hasPrefix("multipart/") {
        self = .parts
      } else if Self.jpegTypes.contains(where: { type.hasPrefix($0) }) {
        self = .jpeg
      } else if type.hasPrefix("image/png") || type.hasPrefix("image/webp") {
        self = .otherImage
      } else {
        self = type.isEmpty || type.hasPrefix("application/octet-stream") ? .unstated : .other
      }
    }

    /// `image/jpeg`, and names that are no standard's.
    private static let jpegTypes = ["image/jpeg", "image/jpg", "image/pjpeg"]
  }

  let content: Content
  /// Closed with this object.
  private let body: UnsafeMutablePointer<AVIOContext>

  private static let receiveByteCount = 64 << 10

  /// The response to a demuxer's request; nil, and the body is left to the demuxer, where it does not say that it has images.
  init?(_ body: UnsafeMutablePointer<AVIOContext>) {
    let content = Content(body)
    guard [.parts, .jpeg, .otherImage].contains(content) else { return nil }
    (self.content, self.body) = (content, body)
  }

  /// Whether a body of unknown length begins with an image of JPEG (ITU-T T.81 §B.1.1.3), which stays to be read. Without knowing,
  /// libavformat collects some kilobytes to find out, for which small images at a few in a second take longer than it may.
  static func isJPEGStream(_ body: UnsafeMutablePointer<AVIOContext>) -> Bool {
    guard avio_size(body) < 0 else { return false }
    let signature = ImageSignature.jpeg
    var bytes = [UInt8](repeating: 0, count: signature.count)
    let count = avio_read_partial(body, &bytes, Int32(signature.count))
    guard count > 0 else { return false }
    return avio_seek(body, Int64(-count), SEEK_CUR) >= 0 && bytes == signature
  }

  /// Requests an address, which takes at most 10 seconds.
  init(requesting specification: NetworkSpecification, interrupt: LibavInterrupt) throws(VidiconError) {
    let isGuarded = !specification.allowsLinkLocal
    guard !isGuarded || ConnectGuard.isEffective else { throw .uncheckedConnections(specification.description) }
    var options = LibavConnection.options(of: specification)
    defer { av_dict_free(&options) }
    var callback = interrupt.callback
    var opened: UnsafeMutablePointer<AVIOContext>?
    interrupt.callBegins()
    LibavLog.silence()
    let (status, isRefused) = ConnectGuard.run(isActive: isGuarded) {
      avio_open2(&opened, specification.url, AVIO_FLAG_READ, &callback, &options)
    }
    guard status >= 0, let body = opened else {
      throw isRefused
        ? .refusedLinkLocal(specification.description) : VidiconError(network: status, of: specification)
    }
    (self.content, self.body) = (Content(body), body)
  }

  deinit {
    avio_close(self.body)
  }

  /// Receives the bytes that have arrived; waits for the first one.
  ///
  /// - Throws: ``VidiconError``, also at the end of the response.
  func receive(
    of specification: NetworkSpecification, _ interrupt: LibavInterrupt, within timeout: MediaDuration
  ) throws(VidiconError) -> ByteBuffer {
    interrupt.callBegins(limit: timeout)
    var buffer = ByteBuffer()
    var status: Int32 = 0
    let (_, isRefused) = ConnectGuard.run(isActive: !specification.allowsLinkLocal) {
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.receiveByteCount) { space in
        status = avio_read_partial(
          self.body, space.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(clamping: space.count))
        return Int(max(0, status))
      }
    }
    if isRefused { throw .refusedLinkLocal(specification.description) }
    guard status > 0 else {
      throw VidiconError(network: status == 0 ? vidicon_averror_eof : status, of: specification)
    }
    return buffer
  }
}

extension NetworkSpecification {
  /// Whether its name is that of an image.
  var namesImage: Bool {
    guard self.scheme.hasPrefix("http") else { return false }
    let path = self.url.prefix { $0 != "?" }.lowercased()
    return [".jpg", ".jpeg", ".png", ".webp"].contains { path.hasSuffix($0) }
  }
}
