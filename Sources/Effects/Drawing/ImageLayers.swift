internal import CEffects
internal import Media

/// An image converted to a stream's colors, with a mipmap chain for drawing it reduced.
final class ImageLayers: Sendable {
  private struct Layer {
    var width: Int
    var height: Int
    var pixels: [UInt8]
  }

  let width: Int
  let height: Int
  private let layers: [Layer]

  init(_ image: OverlayImage, matrix: ColorMatrix) {
    (self.width, self.height) = (image.width, image.height)
    var weights = matrix.weights
    let first = [UInt8](unsafeUninitializedCapacity: image.pixels.count) { target, count in
      image.pixels.withUnsafeBufferPointer {
        vidicon_make_layer(target.baseAddress, $0.baseAddress, image.width * image.height, &weights)
      }
      count = image.pixels.count
    }
    var layers = [Layer(width: image.width, height: image.height, pixels: first)]
    while let last = layers.last, last.width > 1 || last.height > 1 {
      let (width, height) = ((last.width + 1) / 2, (last.height + 1) / 2)
      let pixels = [UInt8](unsafeUninitializedCapacity: 4 * width * height) { target, count in
        last.pixels.withUnsafeBufferPointer { source in
          var layer = vidicon_layer(pixels: source.baseAddress, width: last.width, height: last.height)
          vidicon_halve_layer(target.baseAddress, &layer)
        }
        count = 4 * width * height
      }
      layers.append(Layer(width: width, height: height, pixels: pixels))
    }
    self.layers = layers
  }

  /// Calls `body` with the mipmap level to draw, and its reduction relative to the image.
  ///
  /// - Parameter reduction: Image pixels per frame pixel.
  func withLayer(for reduction: Float, _ body: (vidicon_layer, _ scale: Float) -> Void) {
    var (index, scale) = (0, Float(1))
    // Up to this reduction bilinear interpolation of four pixels has little aliasing.
    while reduction / scale > 1.5, index + 1 < self.layers.count { (index, scale) = (index + 1, scale * 2) }
    let layer = self.layers[index]
    layer.pixels.withUnsafeBufferPointer {
      body(vidicon_layer(pixels: $0.baseAddress, width: layer.width, height: layer.height), scale)
    }
  }
}

extension ColorMatrix {
  /// Weights of red, green and blue (0 to 255) for Y, Cb and Cr, in 65536ths: limited range, ITU-T H.273 §8.3.
  var weights: [Int32] {
    let (red, blue) = self == .bt709 ? (0.2126, 0.0722) : (0.299, 0.114)
    let green = 1 - red - blue
    let luma = 219.0 / 255, chroma = 112.0 / 255
    let rows = [
      [red, green, blue].map { $0 * luma },
      [-red / (1 - blue), -green / (1 - blue), 1].map { $0 * chroma },
      [1, -green / (1 - red), -blue / (1 - red)].map { $0 * chroma },
    ]
    return rows.flatMap { $0.map { Int32(($0 * 65536).rounded()) } }
  }
}
