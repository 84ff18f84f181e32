public import Media
internal import Synchronization

/// Draws a mask over each face that a ``FaceTracker`` earlier in the chain has found.
public final class FaceMask: VideoEffect {
  /// Appearance of the mask: an image, a color, or the altered face.
  public enum Style: Hashable, Sendable {
    /// An image, rotated and scaled with the face; without anchors, the default ones.
    case image(OverlayImage, anchors: MaskAnchors? = nil)
    /// An oval of one color.
    case oval(FrameColor = FrameColor(luma: 40))
    /// A box of one color.
    case solid(FrameColor = FrameColor(luma: 40))
    /// The face, blurred. People who know the face may still recognize it.
    case blur
    /// The face, pixelated. People who know the face may still recognize it.
    case pixelate
  }

  /// Part of the face that a mask covers.
  public enum Part: String, Hashable, Sendable, CaseIterable {
    /// The whole face, from chin to forehead.
    case face
    /// Both eyes, like glasses.
    case eyes
    /// The mouth.
    case mouth
  }

  private let style: Style
  private let part: Part
  private let state: Mutex<State>

  private struct State {
    var painter = ShapePainter()
    var layers: (ColorMatrix, ImageLayers)?
    /// Indices of the faces, smallest first.
    var order: [Int] = []
  }

  /// Creates a mask of a style over a part of each face; an image is converted to the stream's colors here.
  public init(style: Style, part: Part = .face) {
    (self.style, self.part) = (style, part)
    // Converted here, since the first frame would otherwise be late.
    var layers: (ColorMatrix, ImageLayers)?
    if case .image(let image, _) = style { layers = (.bt601, ImageLayers(image, matrix: .bt601)) }
    self.state = Mutex(State(layers: layers))
  }

  /// Converts the image for frames with another matrix than BT.601.
  public func prepare(for format: VideoFormat) {
    guard case .image(let image, _) = self.style else { return }
    self.state.withLock { state in
      if state.layers?.0 != format.colorMatrix {
        state.layers = (format.colorMatrix, ImageLayers(image, matrix: format.colorMatrix))
      }
    }
  }

  /// Draws the mask over each face; the largest face, which is the nearest, last.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let (canvas, faces) = (Canvas(frame.buffer), frame.metadata.faces)
    self.state.withLock { state in
      state.order.removeAll(keepingCapacity: true)
      for index in faces.indices {
        var place = state.order.count
        while place > 0, faces[state.order[place - 1]].box.width > faces[index].box.width { place -= 1 }
        state.order.insert(index, at: place)
      }
      for index in state.order {
        let outline = FaceOutline(faces[index], self.part)
        switch self.style {
        case .image(let image, let anchors):
          guard let layers = state.layers?.1 else { continue }
          let anchors = anchors ?? MaskAnchors(for: self.part)
          let size = SIMD2(Float(image.width), Float(image.height))
          let (left, right) = outline.anchors
          canvas.draw(layers, ImagePlacement(anchors.left * size, anchors.right * size, upon: left, right))
        case .oval(let color): state.painter.paint(outline.shape(.oval), .solid(color), on: canvas)
        case .solid(let color): state.painter.paint(outline.shape(.box), .solid(color), on: canvas)
        case .blur: state.painter.paint(outline.shape(.oval, isSoft: true), .blur, on: canvas)
        case .pixelate: state.painter.paint(outline.shape(.oval), .pixelate, on: canvas)
        }
      }
    }
    return .keep
  }
}

/// Points of a mask image that are mapped to the eyes, or to the mouth's corners, as fractions of the image's width
/// and height from its top left corner. As JSON: `{"left": [0.3, 0.5], "right": [0.7, 0.5]}`.
public struct MaskAnchors: Hashable, Sendable, Codable {
  /// Point mapped to the eye, or mouth corner, on the left side of an upright frame.
  public var left: SIMD2<Float>
  /// Point mapped to the eye, or mouth corner, on the right side of an upright frame.
  public var right: SIMD2<Float>

  /// Creates anchors from two points, each a fraction of the image's width and height.
  public init(left: SIMD2<Float>, right: SIMD2<Float>) {
    (self.left, self.right) = (left, right)
  }

  /// Creates the default anchors for a part: those of most images made for it.
  public init(for part: FaceMask.Part) {
    switch part {
    // A face or head that fills the image.
    case .face: self.init(left: SIMD2(0.3, 0.42), right: SIMD2(0.7, 0.42))
    // Glasses that span the image.
    case .eyes: self.init(left: SIMD2(0.25, 0.5), right: SIMD2(0.75, 0.5))
    // Lips, or a beard, that span the image.
    case .mouth: self.init(left: SIMD2(0.1, 0.5), right: SIMD2(0.9, 0.5))
    }
  }
}
