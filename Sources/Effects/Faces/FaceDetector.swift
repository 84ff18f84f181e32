internal import CInference
internal import CYUV
internal import Inference
public import Media
internal import Synchronization

/// Finds faces in a square of a frame with one of the detector models. Used by one thread at a time; allocates nothing
/// but the result.
///
/// ```swift
/// var detector = try FaceDetector(.fullRangeDetector, models: FaceModels())
/// var faces: [FaceCandidate] = []
/// for tile in FaceTile.covering(width: 1280, height: 720) { faces += detector.detect(in: frame, tile: tile) }
/// faces = FaceCandidate.suppress(faces)
/// ```
public struct FaceDetector: ~Copyable, Sendable {
  private var executor: InferenceExecutor
  private let output: FaceDetectorOutput
  private let side: Int
  /// The tile scaled to the model's input size: as I420, then as red, green and blue.
  private let scaled: PixelBuffer
  private let packed: PixelBuffer

  /// Creates a detector.
  ///
  /// - Parameter model: One of the three detectors.
  /// - Throws: ``VidiconError`` when the model file is missing or invalid.
  public init(_ model: FaceModel, models: FaceModels) throws(VidiconError) {
    try self.init(model, models: models, threshold: nil)
  }

  /// Creates a detector with a minimum score.
  init(_ model: FaceModel, models: FaceModels, threshold: Float?) throws(VidiconError) {
    self.init(model, plan: try models.plan(for: model), threshold: threshold)
  }

  /// Creates a detector with the plan of its model.
  init(_ model: FaceModel, plan: InferencePlan, threshold: Float?) {
    precondition(model != .mesh && model != .fineMesh, "a mesh finds no faces")
    self.executor = InferenceExecutor(plan)
    self.output = FaceDetectorOutput(model, threshold: threshold)
    self.side = model.inputSide
    self.scaled = PixelBuffer(format: VideoFormat(width: model.inputSide, height: model.inputSide, pixelFormat: .i420))
    self.packed = PixelBuffer(format: VideoFormat(width: model.inputSide, height: model.inputSide, pixelFormat: .rgb24))
  }

  /// Detects faces in a tile of an I420 frame. Returns several overlapping candidates for each face, in pixels of the
  /// frame, to be reduced by ``FaceCandidate/suppress(_:limit:)`` over all tiles.
  ///
  /// - Parameter tile: A square within the frame.
  public mutating func detect(in frame: VideoFrame, tile: FaceTile) -> [FaceCandidate] {
    Self.shrink(frame, tile, into: self.scaled)
    let side = Float(tile.side)
    var found: [FaceCandidate] = []
    self.detect(in: self.scaled, into: &found)
    return found.map { $0.moved(by: SIMD2(Float(tile.x), Float(tile.y)), scaledBy: SIMD2(side, side)) }
  }

  /// Adds the candidates in a frame of the model's input size, in units from 0 to 1.
  ///
  /// - Parameter threshold: Minimum score, where it is above the detector's own.
  mutating func detect(in shrunk: PixelBuffer, threshold: Float = 0, into found: inout [FaceCandidate]) {
    self.fillInput(shrunk)
    self.executor.run()
    self.executor.withOutput(0) { values in
      self.executor.withOutput(1) {
        self.output.addCandidates(values: values, scores: $0, threshold: threshold, to: &found)
      }
    }
  }

  /// Scales a tile of an I420 frame to a model's input size.
  static func shrink(_ frame: VideoFrame, _ tile: FaceTile, into target: PixelBuffer) {
    let format = frame.format
    precondition(format.pixelFormat == .i420, "a stream's frames are I420")
    precondition(
      tile.x >= 0 && tile.y >= 0 && tile.side > 0 && tile.x % 2 == 0 && tile.y % 2 == 0
        && tile.side <= format.width - tile.x && tile.side <= format.height - tile.y, "a tile lies in the frame")
    let (from, to) = (Canvas(frame.buffer).pointers(x: tile.x, y: tile.y), Canvas(target).pointers())
    let (side, small) = (Int32(tile.side), Int32(target.format.width))
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, side, side, to.luma,
      to.lumaStride, to.cb, to.chromaStride, to.cr, to.chromaStride, small, small, kFilterBox)
    withExtendedLifetime(frame) {}
  }

  private mutating func fillInput(_ shrunk: PixelBuffer) {
    let (source, packed) = (Canvas(shrunk).pointers(), self.packed)
    let (rowLength, stride) = (3 * self.side, packed.format.bytesPerRow[0])
    guard let pixels = packed.unsafePlane(0).baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    I420ToRAW(
      source.luma, source.lumaStride, source.cb, source.chromaStride, source.cr, source.chromaStride, pixels,
      Int32(stride), Int32(self.side), Int32(self.side))
    self.executor.withInput(0) { input in
      guard let input = input.baseAddress else { return }
      for row in 0..<self.side {
        vidicon_bytes_to_floats(input + row * rowLength, pixels + row * stride, rowLength, 2 / 255, -1)
      }
    }
    withExtendedLifetime((shrunk, packed)) {}
  }
}

/// Shares a ``FaceDetector`` among closures; a lock admits one caller at a time.
final class FaceDetectorBox: Sendable {
  private let detector: Mutex<FaceDetector>

  init(_ detector: consuming FaceDetector) {
    self.detector = Mutex(detector)
  }

  func detect(in shrunk: PixelBuffer, threshold: Float = 0, into found: inout [FaceCandidate]) {
    self.detector.withLock { $0.detect(in: shrunk, threshold: threshold, into: &found) }
  }
}
