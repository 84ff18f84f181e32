internal import HTTPServer
internal import NIOCore
internal import Streaming

/// Motion JPEG: JPEG images as `multipart/x-mixed-replace` until the client disconnects or the stream ends.
final class MotionJPEGBody: StreamedBody {
  private let images: AsyncStream<MotionJPEGImage>
  private let stream: ServedStream

  /// - Parameters:
  ///   - images: The images of one viewer; it keeps only the newest.
  ///   - stream: The stream that they are of, which counts the viewer.
  init(_ images: AsyncStream<MotionJPEGImage>, of stream: ServedStream) {
    self.images = images
    self.stream = stream
  }

  @concurrent func write(to writer: inout BodyWriter) async throws {
    self.stream.countMotionJPEGViewers(1)
    defer { self.stream.countMotionJPEGViewers(-1) }
    try await writer.write(ByteBuffer(string: MotionJPEGPart.opening))
    // A write waits until the client reads; meanwhile `images` keeps only the newest image.
    for await image in self.images {
      if self.stream.isOver { break }
      // Before the look at the image: where earlier ones are discarded after it, the connection is reset.
      let transfer = self.stream.hls.transfers.transfer()
      guard self.stream.stream.snapshots.isCurrent(image) else { continue }
      let length = image.file.readableBytes
      let parts = [
        ByteBuffer(string: MotionJPEGPart.head(length: length)), image.file,
        ByteBuffer(string: MotionJPEGPart.delimiter),
      ]
      guard try await writer.write(contentsOf: parts, in: transfer) else { continue }
      self.stream.countBytes(length, of: .mjpeg)
    }
    try await writer.write(ByteBuffer(string: MotionJPEGPart.ending))
  }
}

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
