internal import CInference
internal import CYUV
internal import Inference
public import Media

/// Finds faces in a part of a picture with one of the detector nets. Used by one thread at a time; looking allocates
/// nothing but the result.
///
/// ```swift
/// var detector = try FaceDetector(.fullRangeDetector, models: FaceModels())
/// var faces: [FaceCandidate] = []
/// for tile in FaceTile.covering(width: 1280, height: 720) { faces += detector.detect(in: frame, tile: tile) }
/// faces = FaceCandidate.suppress(faces)
/// ```
public struct FaceDetector: ~Copyable {
  private var executor: InferenceExecutor
  private let output: FaceDetectorOutput
  private let side: Int
  /// The tile in the size of the net's input: as I420, then as red, green, blue.
  private let scaled: PixelBuffer
  private let packed: PixelBuffer

  /// A detector.
  ///
  /// - Parameter net: One of the three detectors.
  /// - Throws: A ``FaceModelError`` where the net's file is missing or broken.
  public init(_ net: FaceNet, models: FaceModels) throws(FaceModelError) {
    precondition(net != .mesh && net != .fineMesh, "a mesh finds no faces")
    self.executor = InferenceExecutor(try models.plan(for: net))
    self.output = FaceDetectorOutput(net)
    self.side = net.inputSide
    self.scaled = PixelBuffer(format: VideoFormat(width: net.inputSide, height: net.inputSide, pixelFormat: .i420))
    self.packed = PixelBuffer(format: VideoFormat(width: net.inputSide, height: net.inputSide, pixelFormat: .rgb24))
  }

  /// The likely faces in a tile of an I420 picture, in pixels of the picture; each face several times, for
  /// ``FaceCandidate/suppress(_:limit:)`` to choose from all tiles.
  ///
  /// - Parameter tile: A square within the picture.
  public mutating func detect(in frame: VideoFrame, tile: FaceTile) -> [FaceCandidate] {
    let format = frame.format
    precondition(format.pixelFormat == .i420, "I420 is what goes through a stream")
    precondition(
      tile.x >= 0 && tile.y >= 0 && tile.side > 0 && tile.x % 2 == 0 && tile.y % 2 == 0
        && tile.side <= format.width - tile.x && tile.side <= format.height - tile.y, "a tile lies in the picture")
    self.fillInput(frame, tile)
    self.executor.run()
    let found = self.executor.withOutput(0) { values in
      self.executor.withOutput(1) { self.output.candidates(values: values, scores: $0) }
    }
    let side = Float(tile.side)
    return found.map { $0.moved(by: SIMD2(Float(tile.x), Float(tile.y)), scaledBy: SIMD2(side, side)) }
  }

  private mutating func fillInput(_ frame: VideoFrame, _ tile: FaceTile) {
    let (source, target, side) = (frame.buffer, self.scaled, Int32(self.side))
    func bytes(_ buffer: PixelBuffer, _ plane: Int) -> UnsafeMutablePointer<UInt8>? {
      buffer.unsafePlane(plane).baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
    func stride(_ buffer: PixelBuffer, _ plane: Int) -> Int { buffer.format.bytesPerRow[plane] }
    func corner(_ plane: Int) -> UnsafeMutablePointer<UInt8>? {
      let (x, y) = plane == 0 ? (tile.x, tile.y) : (tile.x / 2, tile.y / 2)
      return bytes(source, plane).map { $0 + y * stride(source, plane) + x }
    }
    I420Scale(
      corner(0), Int32(stride(source, 0)), corner(1), Int32(stride(source, 1)), corner(2), Int32(stride(source, 2)),
      Int32(tile.side), Int32(tile.side), bytes(target, 0), Int32(stride(target, 0)), bytes(target, 1),
      Int32(stride(target, 1)), bytes(target, 2), Int32(stride(target, 2)), side, side, kFilterBox)
    I420ToRAW(
      bytes(target, 0), Int32(stride(target, 0)), bytes(target, 1), Int32(stride(target, 1)), bytes(target, 2),
      Int32(stride(target, 2)), bytes(self.packed, 0), Int32(stride(self.packed, 0)), side, side)
    let packed = self.packed
    let rowLength = 3 * self.side
    self.executor.withInput(0) { input in
      guard let input = input.baseAddress, let pixels = bytes(packed, 0) else { return }
      for row in 0..<Int(side) {
        vidicon_bytes_to_floats(input + row * rowLength, pixels + row * stride(packed, 0), rowLength, 2 / 255, -1)
      }
    }
  }
}
