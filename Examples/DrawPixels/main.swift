// Shows how to:
// 1. draw pixels in a closure, directly into the memory that is encoded
// 2. serve it at rtsp://HOST:8554/drawn and http://HOST:8080/drawn

import Vidicon

let stream = LiveStream("drawn")
let format = VideoFormat(width: 640, height: 360, pixelFormat: .rgb24, frameRate: 30)
stream.attachVideo(
  GeneratorCapturer(format) { frame, time in
    let shift = Int(time.seconds * 60)
    for y in 0..<frame.height {
      frame.withRow(y) { row in
        for x in 0..<row.count { row[x] = UInt8(truncatingIfNeeded: (x / 3 + shift) ^ (y * (x % 3 + 1))) }
      }
    }
  })
let server = CameraServer()
try await server.serve(stream)
try await server.run()
