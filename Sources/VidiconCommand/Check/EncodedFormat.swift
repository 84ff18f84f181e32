import Media
import Streaming

/// Size and rate at which a stream is encoded, as far as they are known before its source is opened.
struct EncodedFormat: Equatable, Sendable {
  /// Width in pixels.
  let width: Int
  /// Height in pixels.
  let height: Int
  let frameRate: FrameRate
  /// Words for where the values are from that the stream does not set; nil where it sets them.
  let origin: String?

  /// The format of a stream, as its pipeline has it: the size of the settings, or else that of the source with even sides, and a rate that
  /// is not above the source's.
  ///
  /// - Parameter source: Video of the source; nil for an unknown one, for which the default stands.
  init(_ settings: VideoSettings, source: SourceVideo?) {
    let sourceRate = source?.frameRate ?? settings.frameRate ?? 30
    self.width = settings.width ?? max(16, (source?.width ?? 1280) & ~1)
    self.height = settings.height ?? max(16, (source?.height ?? 720) & ~1)
    self.frameRate = min(settings.frameRate ?? sourceRate, sourceRate)
    let isStated = settings.width != nil && settings.height != nil && self.frameRate == settings.frameRate
    let origin = source == nil ? "assumed, since the format of the source is not known yet" : source?.origin
    self.origin = isStated ? nil : origin
  }

  /// Text such as `1280x720 at 30 fps with libx264, as the file has it`.
  func text(encoder: String) -> String {
    "\(self.width)x\(self.height) at \(self.frameRate) fps with \(encoder)" + (self.origin.map { ", \($0)" } ?? "")
  }
}

extension VideoSettings {
  /// The settings with a size and rate.
  func with(_ format: EncodedFormat) -> VideoSettings {
    var settings = self
    settings.width = format.width
    settings.height = format.height
    settings.frameRate = format.frameRate
    return settings
  }
}
