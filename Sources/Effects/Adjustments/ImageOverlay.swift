public import Media
internal import Synchronization

/// Draws an image, such as a logo, at one place of each frame.
public final class ImageOverlay: VideoEffect {
  private let image: OverlayImage
  private let position: OverlayPosition
  private let opacity: Float
  private let part: Float?
  private let margin: Float
  private let layers: Mutex<(ColorMatrix, ImageLayers)>

  /// An overlay.
  ///
  /// - Parameters:
  ///   - image: What is drawn.
  ///   - position: Where.
  ///   - opacity: 0 (not to be seen) to 1.
  ///   - part: How much of the frame's width or height the image takes at most, 0 to 1; without it, it has its own size,
  ///     reduced to what the frame has room for.
  ///   - margin: How much of the frame's shorter side is left free at the edges, 0 to 0.5.
  public init(
    image: OverlayImage, position: OverlayPosition, opacity: Float = 1, part: Float? = nil, margin: Float = 0.03
  ) {
    (self.image, self.position, self.opacity, self.part, self.margin) = (image, position, opacity, part, margin)
    // Here rather than before the first frame, which would have to wait.
    self.layers = Mutex((.bt601, ImageLayers(image, matrix: .bt601)))
  }

  /// Brings the image into the frames' colours, where they are not BT.601's.
  public func prepare(for format: VideoFormat) {
    self.layers.withLock { layers in
      if layers.0 != format.colorMatrix {
        layers = (format.colorMatrix, ImageLayers(self.image, matrix: format.colorMatrix))
      }
    }
  }

  /// Draws the image.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let layers = self.layers.withLock { $0.1 }
    let canvas = Canvas(frame.buffer)
    let frameSize = SIMD2(Float(canvas.width), Float(canvas.height))
    let margin = frameSize.min() * max(0, min(0.5, self.margin))
    let room = pointwiseMax(frameSize - 2 * margin, SIMD2(1, 1))
    let own = SIMD2(Float(self.image.width), Float(self.image.height))
    // Limits of the scale, such that the image is within them both ways.
    let fit = (room / own).min()
    let scale = self.part.map { min(fit, (frameSize * max(0, min(1, $0)) / own).min()) } ?? min(1, fit)
    let size = own * scale
    let corner = self.position.corner(size: size, in: frameSize, margin: margin)
    // On whole pixels an image in its own size stays as sharp as it is.
    let place = corner.rounded(.toNearestOrAwayFromZero)
    canvas.draw(
      layers,
      ImagePlacement(
        x: place.x, y: place.y, width: size.x, height: size.y, of: (self.image.width, self.image.height)),
      opacity: self.opacity)
    return .keep
  }
}
