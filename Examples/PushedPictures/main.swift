// Shows how to:
// 1. feed a stream with pictures that arrive from elsewhere, here on standard input: 320 by 180 pixels of RGB
// 2. copy what has arrived into memory of the stream's, on a thread of one's own
// 3. leave the rest to the stream: what comes too fast is dropped, and while nothing comes viewers see the slate
//
//   ffmpeg -re -f lavfi -i testsrc=size=320x180:rate=30 -f rawvideo -pix_fmt rgb24 - | PushedPictures

import Capture
import Foundation
import Vidicon

let pictures = PushCapturer(VideoFormat(width: 320, height: 180, pixelFormat: .rgb24, frameRate: 30))
let stream = LiveStream("pushed")
stream.attachVideo(pictures)
let server = CameraServer()

Thread.detachNewThread {
  while let bytes = try? FileHandle.standardInput.read(upToCount: 320 * 180 * 3), bytes.count == 320 * 180 * 3 {
    pictures.push { frame in
      frame.withPlane { plane in plane.withUnsafeMutableBytes { $0.copyBytes(from: bytes) } }
    }
  }
  pictures.finish()
}

try await server.publish(stream)
try await server.run()
