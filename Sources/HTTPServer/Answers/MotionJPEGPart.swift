internal import NIOCore

/// One picture of a motion JPEG answer: a part of `multipart/x-mixed-replace`.
enum MotionJPEGPart {
  /// What separates the parts; it does not occur in them, and clients go by the length anyway.
  static let boundary = "vidicon-picture"

  /// What comes before a picture. The boundary that ends it is sent with it, at its end: clients show a picture when they
  /// see that one, which must not wait for the next picture.
  static func head(length: Int) -> String {
    "Content-Type: image/jpeg\r\nContent-Length: \(length)\r\n\r\n"
  }

  /// What comes before the first picture.
  static let opening = "--\(boundary)\r\n"
  /// What comes behind each picture.
  static let delimiter = "\r\n--\(boundary)\r\n"
  /// What comes behind the last picture, at the end of the stream: the delimiter before the next part has been sent, so
  /// that one is empty, and then comes the one that closes, RFC 2046 §5.1.1.
  static let ending = "\r\n--\(boundary)--\r\n"
}
