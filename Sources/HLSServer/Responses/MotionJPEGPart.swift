/// Framing of JPEG images in a `multipart/x-mixed-replace` response, RFC 2046 §5.1.1.
enum MotionJPEGPart {
  /// Boundary between parts. Clients use `Content-Length`, so an occurrence inside an image does no harm.
  static let boundary = "vidicon-image"

  /// Head of a part. The delimiter after an image is sent together with it, not with the next image: clients display an
  /// image when they receive that delimiter.
  static func head(length: Int) -> String {
    "Content-Type: image/jpeg\r\nContent-Length: \(length)\r\n\r\n"
  }

  /// Sent before the first part.
  static let opening = "--\(boundary)\r\n"
  /// Sent after each image.
  static let delimiter = "\r\n--\(boundary)\r\n"
  /// Sent at the end of the stream: an empty part, since its delimiter has already been sent, and the close delimiter.
  static let ending = "\r\n--\(boundary)--\r\n"
}
