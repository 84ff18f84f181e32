internal import CYUV
package import Codecs
package import Media

extension ReleasedFrame {
  /// A dark frame with a text in its middle, shown while a source delivers none.
  package static func slate(_ text: String, format: VideoFormat) -> ReleasedFrame {
    let buffer = PixelBuffer(format: format)
    buffer.cover()
    let plane = DrawingPlane(
      buffer.unsafePlane(0), width: format.width, height: format.height, bytesPerRow: format.bytesPerRow[0])
    let scale = BitmapFont.scale(of: text, fitting: format.width / 2, by: format.height / 4)
    BitmapFont.drawCentered(text, scale: scale, luma: 180, into: plane)
    return ReleasedFrame(notPrivate: VideoFrame(buffer: buffer, timestamp: .zero))
  }

  /// The same pixels at another time.
  package func at(_ timestamp: MediaTime) -> ReleasedFrame {
    var frame = self.frame
    frame.timestamp = timestamp
    return self.replacingFrame(by: frame)
  }

  /// A copy in memory of its own, so that the source can reuse its buffer.
  package var copy: ReleasedFrame {
    let format = self.frame.format
    // Outputs are I420 and upright.
    guard format.pixelFormat == .i420 else { return self }
    let buffer = PixelBuffer(
      format: VideoFormat(
        width: format.width, height: format.height, frameRate: format.frameRate, colorMatrix: format.colorMatrix))
    let (from, to) = (Canvas(self.frame.buffer).pointers(), Canvas(buffer).pointers())
    _ = I420Copy(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, Int32(format.width), Int32(format.height))
    defer { withExtendedLifetime(self.frame) {} }
    return self.replacingFrame(
      by: VideoFrame(
        buffer: buffer, timestamp: self.frame.timestamp, orientation: self.frame.orientation,
        isMirrored: self.frame.isMirrored, captureLatency: self.frame.captureLatency))
  }
}

/// Permission to output compressed samples of a source as they are; a chain with effects gives none.
package struct PassThroughPermission: Sendable {
  /// Internal: other modules have only the permission that a chain has given.
  init() {}
}

extension EffectChain {
  /// Whether frames must not be shown without a privacy effect.
  public var isPrivate: Bool { self.effects.contains { $0.isPrivacy } }

  /// The permission to output samples that no effect has seen; nil while the chain has effects.
  package var passThroughPermission: PassThroughPermission? { self.isEmpty ? PassThroughPermission() : nil }

  /// Releases a frame that no effect has seen: covered where frames must not be shown without one.
  package func release(_ frame: VideoFrame) -> ReleasedFrame {
    (self.isPrivate ? Clearance.awaited : .notPrivate).release(frame)
  }
}
