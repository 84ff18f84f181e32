// Shows how to:
// 1. write an effect: it sees each picture before it is encoded, and draws on it
// 2. use it beside those that are built in, which find faces (scripts/setup has fetched the nets for that)
// 3. hear of faces: who comes and goes, smiles and blinks

import StreamControl
import Vidicon

/// Draws a bright bar along the upper edge, as long as there are faces: a tenth of the width for each.
final class FaceMeter: VideoEffect {
  func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let format = frame.picture.format
    let length = min(format.width, frame.metadata.faces.count * format.width / 10)
    frame.withPlane(0) { luma in
      for row in 0..<min(8, format.height) {
        luma[row * format.bytesPerRow[0]..<row * format.bytesPerRow[0] + length].update(repeating: 235)
      }
    }
    return .keep
  }
}

let stream = LiveStream("faces")
let sources = try Sources(SourceSpecification(video: "v4l2:", audio: "none"), width: 1280, height: 720, frameRate: 30)
stream.attachVideo(sources.video)
stream.effects = [try FaceTracker(), FaceMask(style: .pixelate, part: .eyes), FaceMeter()]

let server = CameraServer()
try await server.publish(stream)
Task { for await event in stream.faceEvents { print("face \(event.face):", event.kind.rawValue) } }
try await server.run()
