internal import CEffects
internal import Inference
public import Media

/// Computes the mesh of a face in a region of a frame with one of the mesh models. Used by one thread at a time.
///
/// ```swift
/// var mesher = try FaceMesher(.mesh, models: FaceModels())
/// var mesh = mesher.mesh(in: frame, region: FaceRegion(candidate))
/// // In the next frame the face is near the same place, while the presence is high.
/// mesh = mesher.mesh(in: next, region: FaceRegion(mesh))
/// ```
public struct FaceMesher: ~Copyable, Sendable {
  private var executor: InferenceExecutor
  private let side: Int

  /// Creates a mesher.
  ///
  /// - Parameter model: `mesh` or `fineMesh`.
  /// - Throws: ``VidiconError`` when the model file is missing or invalid.
  public init(_ model: FaceModel, models: FaceModels) throws(VidiconError) {
    precondition(model == .mesh || model == .fineMesh, "a detector has no mesh")
    self.executor = InferenceExecutor(try models.plan(for: model))
    self.side = model.inputSide
  }

  /// Computes the mesh in a region of an I420 frame, in pixels of the frame; ``FaceMesh/presence`` is the confidence
  /// that it is a face. The region may extend beyond the frame.
  public mutating func mesh(in frame: VideoFrame, region: FaceRegion) -> FaceMesh {
    var mesh = FaceMesh(pointCount: self.pointCount)
    self.find(&mesh, in: frame, region: region)
    return mesh
  }

  /// Number of points of its meshes.
  var pointCount: Int { self.executor.withOutput(0) { $0.count / 3 } }

  /// Computes the mesh into an existing one with ``pointCount`` points.
  mutating func find(_ mesh: inout FaceMesh, in frame: VideoFrame, region: FaceRegion) {
    precondition(frame.format.pixelFormat == .i420, "a stream's frames are I420")
    let pixel = region.side / Float(self.side)
    let (right, down) = (region.right * pixel, region.down * pixel)
    let half = Float(self.side) / 2
    // The region's corner in the model's coordinates, in which the first pixel extends from 0 to 1.
    let corner = region.center - (right + down) * half
    self.fillInput(frame, from: corner, right: right, down: down)
    self.executor.run()
    self.executor.withOutput(0) { values in
      self.executor.withOutput(1) { mesh.fill(values, logit: $0[0]) }
    }
    for index in mesh.points.indices {
      let point = mesh.points[index]
      mesh.points[index] = SIMD3(corner + right * point.x + down * point.y, point.z * pixel)
    }
  }

  private mutating func fillInput(
    _ frame: VideoFrame, from corner: SIMD2<Float>, right: SIMD2<Float>, down: SIMD2<Float>
  ) {
    let (side, format) = (self.side, frame.format)
    // From the corner of the first pixel to its center, then to the frame's coordinates, in which pixel centers are
    // integers.
    let origin = corner + (right + down) / 2 - 0.5
    self.executor.withInput(0) { input in
      frame.withPlane(0) { luma in
        frame.withPlane(1) { cb in
          frame.withPlane(2) { cr in
            var planes = vidicon_i420()
            planes.luma = luma.baseAddress?.assumingMemoryBound(to: UInt8.self)
            planes.cb = cb.baseAddress?.assumingMemoryBound(to: UInt8.self)
            planes.cr = cr.baseAddress?.assumingMemoryBound(to: UInt8.self)
            planes.luma_stride = format.bytesPerRow[0]
            planes.chroma_stride = format.bytesPerRow[1]
            (planes.width, planes.height) = (format.width, format.height)
            var placement = vidicon_placement(
              origin_x: origin.x, origin_y: origin.y, right_x: right.x, right_y: right.y, down_x: down.x, down_y: down.y
            )
            vidicon_sample(input.baseAddress, side, &planes, &placement)
          }
        }
      }
    }
  }
}
