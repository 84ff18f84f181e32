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
  /// Whether the next response is kept from the demuxers where it has images.
  private var keepsImages: Bool
  /// A response that was kept from the demuxers.
  private var images: ImageResponse?

  /// - Parameters:
  ///   - entries: Names and values of options of protocols, as `tls_verify`.
  ///   - keepsImages: Whether a first response with images ends the opening with an error, and is kept for ``takeImages()``.
  init(_ entries: KeyValuePairs<String, String>, keepsImages: Bool = false) {
    self.entries = entries
    self.keepsImages = keepsImages
  }

  /// Removes and returns a response with images; nil without one.
  func takeImages() -> ImageResponse? { self.images.take() }

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
      guard status >= 0, self.keepsImages, let body = io?.pointee else { return status }
      self.keepsImages = false
      guard let response = ImageResponse(body) else {
        if ImageResponse.isJPEGStream(body) { context?.pointee.iformat = av_find_input_format("mjpeg") }
        return status
      }
      self.images = response
      io?.pointee = nil
      return -ECANCELED
    }
  }
}
