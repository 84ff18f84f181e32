// Shows how to:
// 1. push frames that arrive from elsewhere, here 320 × 180 pixels of RGB on standard input
// 2. copy them into the stream's memory on a thread of the program's own
// 3. rely on the stream for pacing: frames that arrive too fast are dropped; without frames viewers see the slate
//
//   ffmpeg -re -f lavfi -i testsrc=size=320x180:rate=30 -f rawvideo -pix_fmt rgb24 - | PushFrames

import Foundation
import Vidicon

let capturer = PushCapturer(VideoFormat(width: 320, height: 180, pixelFormat: .rgb24, frameRate: 30))
let stream = LiveStream("pushed")
stream.attachVideo(capturer)
let server = CameraServer()

Thread.detachNewThread {
  while let bytes = try? FileHandle.standardInput.read(upToCount: 320 * 180 * 3), bytes.count == 320 * 180 * 3 {
    capturer.push { frame in
      frame.withPlane { plane in plane.withUnsafeMutableBytes { $0.copyBytes(from: bytes) } }
    }
  }
  capturer.finish()
}

try await server.serve(stream)
try await server.run()
