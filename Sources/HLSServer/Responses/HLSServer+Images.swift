internal import Authentication
package import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Streaming
internal import Threading

extension HLSServer {
  /// Responds with the current frame as a JPEG image.
  package func snapshot(of name: String, _ target: HTTPTarget, user: HTTPUser) async throws(HTTPRefusal)
    -> ServerResponse
  {
    let rendition = self.streams[name] == nil ? self.streams.stream(withRendition: name) : nil
    guard let stream = self.streams[name] ?? rendition?.stream else { return .notFound() }
    let width = try target.number("width", in: 1...16_384)
    let network = user.network
    let transfer = stream.hls.transfers.transfer()
    let snapshot = Task { () -> Result<ByteBuffer, VidiconError> in
      do throws(VidiconError) {
        return .success(
          try await stream.stream.snapshots.snapshot(
            width: width, of: rendition?.rendition, from: network))
      } catch {
        return .failure(error)
      }
    }
    defer { snapshot.cancel() }
    switch await snapshot.result(within: Self.snapshotTimeout)?.get() {
    case .success(let file)?:
      stream.countBytes(file.readableBytes, of: .snapshot)
      var response = ServerResponse(.ok, [.contentType: "image/jpeg"], body: .bytes(file))
      response.transfer = transfer
      return response
    case .failure(let error)?:
      if error.code == .busy { self.policy.access.refusals.count(.overLimit) }
      return .text(.serviceUnavailable, error.description, [.retryAfter: "1"])
    case nil: return .text(.gatewayTimeout, "the source delivered no frame in time", [.retryAfter: "1"])
    }
  }

  /// Responds with JPEG images of the following frames as `multipart/x-mixed-replace`, RFC 2046 §5.1; browsers display
  /// the newest part.
  package func motionJPEG(
    of name: String, _ target: HTTPTarget, user: HTTPUser
  ) throws(HTTPRefusal) -> ServerResponse {
    let rendition = self.streams[name] == nil ? self.streams.stream(withRendition: name) : nil
    guard let stream = self.streams[name] ?? rendition?.stream else { return .notFound() }
    let width = try target.number("width", in: 1...16_384)
    let frameRate = try target.number("fps", in: 1...120)
    let images = stream.stream.snapshots.motionJPEG(
      width: width, of: rendition?.rendition, frameRate: frameRate ?? Self.motionJPEGFrameRate, from: user.network)
    return ServerResponse(
      .ok, [.contentType: "\(EndlessMediaType.replacedParts); boundary=\(MotionJPEGPart.boundary)"],
      body: .streamed(MotionJPEGBody(images, of: stream)))
  }

  /// Maximum time a snapshot request waits for a frame.
  private static let snapshotTimeout = Duration.seconds(2)
  /// Default frame rate of motion JPEG, in frames per second.
  private static let motionJPEGFrameRate = 10
}
