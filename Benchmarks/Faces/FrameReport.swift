import Effects
import Foundation

/// Metadata of one frame, as a line of JSON.
struct FrameReport: Codable {
  struct OneFace: Codable {
    var id: Int
    var box: [Float]
    var roll: Float
    var isSmiling: Bool
    var areEyesClosed: Bool
    /// The measures from which smiles and closed eyes are derived; nil without a mesh.
    var smile: Float?
    var eyeOpening: Float?
  }

  struct Event: Codable {
    var kind: String
    var face: Int
  }

  var frame: Int
  var tracking: String
  var faces: [OneFace]
  var possible: [OneFace]
  var events: [Event]

  init(_ frame: EffectFrame, index: Int) {
    self.frame = index
    self.tracking = frame.metadata.faceTracking.map { "\($0)" } ?? "none"
    func report(_ face: Face) -> OneFace {
      let mesh = face.mesh.isEmpty ? nil : FaceMesh(points: face.mesh, presence: 1)
      return OneFace(
        id: face.id, box: [face.box.x, face.box.y, face.box.width, face.box.height], roll: face.roll,
        isSmiling: face.isSmiling, areEyesClosed: face.leftEyeClosed && face.rightEyeClosed,
        smile: mesh?.smile, eyeOpening: mesh.map { min($0.leftEyeOpening, $0.rightEyeOpening) })
    }
    self.faces = frame.metadata.faces.map(report)
    self.possible = frame.metadata.possibleFaces.map(report)
    self.events = frame.metadata.faceEvents.map { Event(kind: $0.kind.rawValue, face: $0.face) }
  }

  var line: Data {
    get throws { try JSONEncoder().encode(self) + Data("\n".utf8) }
  }
}
