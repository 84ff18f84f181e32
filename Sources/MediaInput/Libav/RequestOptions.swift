internal import CLibav

/// Options of every request that a demuxer makes. HLS passes few of its own on: its segments and keys would be requested
/// without `tls_verify`, and any certificate accepted.
final class RequestOptions {
  private typealias Opening =
    @convention(c) (
      UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?,
      UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32

  private let entries: KeyValuePairs<String, String>
  /// The callback of libavformat; nil before ``attach(to:)``.
  private var original: Opening?
  /// Whether the next response is kept from the demuxers where it is of several parts.
  private var keepsMultipart: Bool
  /// Body of a response that was kept from the demuxers.
  private var multipart: UnsafeMutablePointer<AVIOContext>?

  /// - Parameters:
  ///   - entries: Names and values of options of protocols, as `tls_verify`.
  ///   - keepsMultipart: Whether a first response of several parts, as Motion JPEG is, ends the opening with an error, and its
  ///     body is kept for ``takeMultipart()``.
  init(_ entries: KeyValuePairs<String, String>, keepsMultipart: Bool = false) {
    self.entries = entries
    self.keepsMultipart = keepsMultipart
  }

  deinit {
    avio_closep(&self.multipart)
  }

  /// Removes and returns the body of a response of several parts, which the caller closes; nil without one.
  func takeMultipart() -> UnsafeMutablePointer<AVIOContext>? { self.multipart.take() }

  /// Sets the callback of a new context, which must be closed before this object is released.
  func attach(to context: UnsafeMutablePointer<AVFormatContext>) {
    self.original = context.pointee.io_open
    context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    context.pointee.io_open = { context, io, url, flags, options in
      guard let opaque = context?.pointee.opaque else { return -EINVAL }
      let requests = Unmanaged<RequestOptions>.fromOpaque(opaque).takeUnretainedValue()
      return requests.open(context, io, url, flags, options)
    }
  }

  private func open(
    _ context: UnsafeMutablePointer<AVFormatContext>?,
    _ io: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?, _ url: UnsafePointer<CChar>?, _ flags: Int32,
    _ options: UnsafeMutablePointer<OpaquePointer?>?
  ) -> Int32 {
    guard let original else { return -EINVAL }
    var own: OpaquePointer?
    defer { av_dict_free(&own) }
    return withUnsafeMutablePointer(to: &own) { own in
      let options = options ?? own
      for (name, value) in self.entries { av_dict_set(options, name, value, 0) }
      let status = original(context, io, url, flags, options)
      guard status >= 0, self.keepsMultipart, let body = io?.pointee else { return status }
      self.keepsMultipart = false
      guard Self.isMultipart(body) else { return status }
      self.multipart = body
      io?.pointee = nil
      return -ECANCELED
    }
  }

  /// Whether a response is one of parts that replace each other: its media type is that of Motion JPEG.
  private static func isMultipart(_ body: UnsafeMutablePointer<AVIOContext>) -> Bool {
    var value: UnsafeMutablePointer<UInt8>?
    guard av_opt_get(body, "mime_type", AV_OPT_SEARCH_CHILDREN, &value) >= 0, let value else { return false }
    defer { av_free(value) }
    return String(cString: value).lowercased().hasPrefix("multipart/")
  }
}
