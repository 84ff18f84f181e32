internal import Media
internal import Streaming

/// Whether a publisher's frames are upright and the stream is not, or the other way round: black bars fill most of the frame then, which the
/// owner of a phone did not expect.
///
/// ``WebRTCHub`` asks with the first frames of a publisher, and reports the advice once for each stream:
///
/// ```swift
/// if let advice = PublishedShape(width: 720, height: 1280).advice(for: stream) { self.report("WebRTC of \(stream.name): \(advice)") }
/// ```
struct PublishedShape: Hashable {
  /// Size of a publisher's frames in pixels.
  var width: Int
  var height: Int

  /// Advice for the owner of a stream; nil where the shape fits, frames are cropped or rotated, or the stream has no size yet.
  func advice(for stream: LiveStream) -> String? {
    let settings = stream.videoSettings
    guard settings.scaling == .fit, !stream.rotation.swapsWidthAndHeight else { return nil }
    if let width = settings.width, let height = settings.height { return self.advice(width: width, height: height) }
    for case .h264(let video) in stream.descriptions { return self.advice(width: video.width, height: video.height) }
    return nil
  }

  /// Advice for the owner of a stream of a size; nil where the shape fits.
  func advice(width: Int, height: Int) -> String? {
    guard (self.width - self.height).signum() * (width - height).signum() < 0 else { return nil }
    return
      "a publisher sends \(self.width)×\(self.height) to a stream of \(width)×\(height), which shows it between black bars: turn the camera, "
      + "or start with --size \(height)x\(width), or with --scaling fill"
  }
}
