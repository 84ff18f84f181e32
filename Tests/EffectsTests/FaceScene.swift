import Foundation
import Media
import Synchronization

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
  /// Rooms without faces by their size, each decoded once.
  private static let rooms = Mutex<[SIMD2<Int>: PixelBuffer]>([:])

  let buffer: PixelBuffer
  private(set) var labels: [Label] = []

  /// A room without faces.
  init(width: Int, height: Int) throws {
    let room = try Self.rooms.withLock { rooms in
      if let room = rooms[SIMD2(width, height)] { return room }
      let room = try RealImage.frame("no_face.mp4", width: width, height: height, at: 0).buffer
      rooms[SIMD2(width, height)] = room
      return room
    }
    self.init(copying: room)
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
    let size = max(1, Int(factor))
    // Numbers instead of vectors in the loop, and no generic functions, which are slow in debug builds.
    let (right, down) = (Self.turned(SIMD2(1, 0), orientation), Self.turned(SIMD2(0, 1), orientation))
    for plane in 0..<3 {
      let unit = plane == 0 ? 1 : 2
      let (source, target) = (photo.unsafePlane(plane), self.buffer.unsafePlane(plane))
      let (sourceStride, rowLength) = (photo.format.bytesPerRow[plane], self.buffer.format.bytesPerRow[plane])
      let (width, height) = (self.buffer.format.width / unit, self.buffer.format.height / unit)
      let (middle, scale) = (SIMD2(Int(center.x) / unit, Int(center.y) / unit), Float(unit) * factor)
      let columns = max(-reach / unit, -middle.x)..<min(reach / unit + 1, width - middle.x)
      for y in max(-reach / unit, -middle.y)..<min(reach / unit + 1, height - middle.y) {
        for x in columns {
          // An oval: its corners would be those of a photo.
          let radius = Float(x * x + y * y).squareRoot() * Float(unit) / Float(reach)
          if radius >= 1 { continue }
          let column = (model.center.x + (right.x * Float(x) + down.x * Float(y)) * scale) / Float(unit)
          let row = (model.center.y + (right.y * Float(x) + down.y * Float(y)) * scale) / Float(unit)
          let value = Self.mean(source, sourceStride, Int(column), Int(row), size)
          let weight = radius > 0.875 ? (1 - radius) * 8 : 1
          let index = (middle.y + y) * rowLength + middle.x + x
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

  /// Mean of the square around a position; all heads are inside of the photo.
  private static func mean(
    _ plane: UnsafeMutableRawBufferPointer, _ stride: Int, _ x: Int, _ y: Int, _ size: Int
  ) -> Int {
    var sum = 0
    let first = (y - size / 2) * stride + x - size / 2
    for row in 0..<size {
      for column in 0..<size { sum += Int(plane[first + row * stride + column]) }
    }
    return sum / (size * size)
  }

  /// Divides the luma of the whole frame.
  func darken(by divisor: UInt8) {
    let luma = self.buffer.unsafePlane(0)
    for index in 0..<luma.count {
      let value = luma[index]
      luma[index] = value > 16 ? 16 + (value - 16) / divisor : 16
    }
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
