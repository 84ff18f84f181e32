import Foundation
import Media

@testable import Effects

/// Frames composed of real faces at known places.
struct FaceScene {
  /// A face of the photo of five: center and side of its box, from the eyebrows to the chin, in 1000 × 666 pixels.
  struct Model {
    var center: SIMD2<Float>
    var side: Float
  }

  /// A face in the scene.
  struct Label {
    var center: SIMD2<Float>
    /// Side of its box.
    var side: Float

    /// Points of the box, seven in each direction.
    var points: [SIMD2<Int>] {
      (0..<49).map { index in
        let offset = SIMD2(Float(index % 7) - 3, Float(index / 7) - 3) / 6 * self.side
        let point = self.center + offset
        return SIMD2(Int(point.x), Int(point.y))
      }
    }
  }

  static let models = [
    Model(center: SIMD2(736, 362), side: 112), Model(center: SIMD2(580, 376), side: 107),
    Model(center: SIMD2(477, 264), side: 86), Model(center: SIMD2(367, 304), side: 117),
    Model(center: SIMD2(266, 124), side: 101),
  ]
  private static let photo = Result { try RealImage.frame("multi_face.jpg", width: 1000, height: 666).buffer }

  let buffer: PixelBuffer
  private(set) var labels: [Label] = []

  /// A room without faces.
  init(width: Int, height: Int) throws {
    self.buffer = try RealImage.frame("no_face.mp4", width: width, height: height, at: 0).buffer
  }

  /// A copy of a buffer.
  init(copying buffer: PixelBuffer) {
    let copy = PixelBuffer(format: buffer.format)
    for plane in 0..<3 { copy.unsafePlane(plane).copyMemory(from: UnsafeRawBufferPointer(buffer.unsafePlane(plane))) }
    self.buffer = copy
  }

  /// Puts a head into the frame.
  ///
  /// - Parameters:
  ///   - index: Index of the face in ``models``.
  ///   - center: Center of the face's box.
  ///   - side: Side of the face's box.
  ///   - orientation: Rotation that makes it upright.
  mutating func add(_ index: Int, at center: SIMD2<Float>, side: Float, orientation: Orientation = .up) throws {
    let model = Self.models[index % Self.models.count]
    let photo = try Self.photo.get()
    let factor = model.side / side
    let reach = Int(0.95 * side)
    for plane in 0..<3 {
      let unit = plane == 0 ? 1 : 2
      let (source, target) = (photo.unsafePlane(plane), self.buffer.unsafePlane(plane))
      let (sourceStride, rowLength) = (photo.format.bytesPerRow[plane], self.buffer.format.bytesPerRow[plane])
      let (width, height) = (self.buffer.format.width / unit, self.buffer.format.height / unit)
      for y in stride(from: -reach / unit, through: reach / unit, by: 1) {
        for x in stride(from: -reach / unit, through: reach / unit, by: 1) {
          let place = SIMD2(Int(center.x) / unit + x, Int(center.y) / unit + y)
          // An oval: its corners would be those of a photo.
          let radius = Float(x * x + y * y).squareRoot() * Float(unit) / Float(reach)
          guard (0..<width).contains(place.x), (0..<height).contains(place.y), radius < 1 else { continue }
          let offset = Self.turned(SIMD2(Float(x), Float(y)), orientation) * Float(unit) * factor
          let value = Self.mean(
            source, sourceStride, photo.format.width / unit, photo.format.height / unit,
            (model.center + offset) / Float(unit), max(1, Int(factor)))
          let weight = min(1, (1 - radius) * 8)
          let index = place.y * rowLength + place.x
          target[index] = UInt8(Float(value) * weight + Float(target[index]) * (1 - weight))
        }
      }
    }
    self.labels.append(Label(center: center, side: side))
  }

  /// Position of an offset of a rotated face in the upright one.
  private static func turned(_ offset: SIMD2<Float>, _ orientation: Orientation) -> SIMD2<Float> {
    switch orientation {
    case .up: offset
    case .right: SIMD2(-offset.y, offset.x)
    case .down: -offset
    case .left: SIMD2(offset.y, -offset.x)
    }
  }

  private static func mean(
    _ plane: UnsafeMutableRawBufferPointer, _ stride: Int, _ width: Int, _ height: Int, _ center: SIMD2<Float>,
    _ size: Int
  ) -> Int {
    var (sum, count) = (0, 0)
    for y in 0..<size {
      for x in 0..<size {
        let column = max(0, min(width - 1, Int(center.x) + x - size / 2))
        let row = max(0, min(height - 1, Int(center.y) + y - size / 2))
        sum += Int(plane[row * stride + column])
        count += 1
      }
    }
    return sum / count
  }

  /// The faces of which a part is to be seen in a frame that privacy has covered.
  func uncovered(in frame: PixelBuffer, luma: UInt8 = 40) -> [Label] {
    let (plane, stride) = (frame.unsafePlane(0), frame.format.bytesPerRow[0])
    return self.labels.filter { label in
      label.points.contains { point in
        guard (0..<frame.format.width).contains(point.x), (0..<frame.format.height).contains(point.y) else {
          return false
        }
        return plane[point.y * stride + point.x] != luma
      }
    }
  }

  /// Part of a frame that is covered, 0 to 1.
  static func coveredPart(of frame: PixelBuffer, luma: UInt8 = 40) -> Double {
    let (plane, stride) = (frame.unsafePlane(0), frame.format.bytesPerRow[0])
    var count = 0
    for y in Swift.stride(from: 0, to: frame.format.height, by: 8) {
      for x in Swift.stride(from: 0, to: frame.format.width, by: 8) where plane[y * stride + x] == luma { count += 1 }
    }
    return Double(count) * 64 / Double(frame.format.width * frame.format.height)
  }
}
