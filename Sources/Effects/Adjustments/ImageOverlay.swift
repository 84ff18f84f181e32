public import Media
internal import Synchronization

/// Draws an image, such as a logo, at a fixed position of each frame.
public final class ImageOverlay: VideoEffect {
  private let image: OverlayImage
  private let position: OverlayPosition
  private let opacity: Float
  private let part: Float?
  private let margin: Float
  private let layers: Mutex<(ColorMatrix, ImageLayers)>

  /// Creates an overlay.
  ///
  /// - Parameters:
  ///   - image: The image to draw.
  ///   - position: Its position in the frame.
  ///   - opacity: 0 (invisible) to 1.
  ///   - part: Maximum fraction of the frame's width and height that the image takes, 0 to 1; nil draws it in its own
  ///     size, reduced to fit the frame.
  ///   - margin: Distance from the edges, as a fraction of the frame's shorter side, 0 to 0.5.
  public init(
    image: OverlayImage, position: OverlayPosition, opacity: Float = 1, part: Float? = nil, margin: Float = 0.03
  ) {
    (self.image, self.position, self.opacity, self.part, self.margin) = (image, position, opacity, part, margin)
    // Converted here, since the first frame would otherwise be late.
    self.layers = Mutex((.bt601, ImageLayers(image, matrix: .bt601)))
  }

  /// Converts the image for frames with another matrix than BT.601.
  public func prepare(for format: VideoFormat) {
    self.layers.withLock { layers in
      if layers.0 != format.colorMatrix {
        layers = (format.colorMatrix, ImageLayers(self.image, matrix: format.colorMatrix))
      }
    }
  }

  /// Draws the image on the frame, scaled and positioned for the frame's size.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let layers = self.layers.withLock { $0.1 }
    let canvas = Canvas(frame.buffer)
    let frameSize = SIMD2(Float(canvas.width), Float(canvas.height))
    let margin = frameSize.min() * max(0, min(0.5, self.margin))
    let room = pointwiseMax(frameSize - 2 * margin, SIMD2(1, 1))
    let own = SIMD2(Float(self.image.width), Float(self.image.height))
    // Maximum scales at which the image fits in both directions.
    let fit = (room / own).min()
    let scale = self.part.map { min(fit, (frameSize * max(0, min(1, $0)) / own).min()) } ?? min(1, fit)
    let size = own * scale
    let corner = self.position.corner(size: size, in: frameSize, margin: margin)
    // Aligned to whole pixels, so that an unscaled image stays sharp.
    let place = corner.rounded(.toNearestOrAwayFromZero)
    canvas.draw(
      layers,
      ImagePlacement(
        x: place.x, y: place.y, width: size.x, height: size.y, of: (self.image.width, self.image.height)),
      opacity: self.opacity)
    return .keep
  }
}
