// Shows how to:
// 1. write an effect: it receives each frame before it is encoded, and draws on it
// 2. combine it with the built-in effects that find and mask faces (scripts/setup has fetched their models)
// 3. receive face events: enter, leave, smile, blink

import Vidicon

/// Draws a bright bar along the upper edge: a tenth of the width per face.
final class FaceMeter: VideoEffect {
  func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let format = frame.buffer.format
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
try await server.serve(stream)
Task { for await event in stream.faceEvents { print("face \(event.face):", event.kind.rawValue) } }
try await server.run()
