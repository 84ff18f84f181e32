// Shows how to:
// 1. write a capturer: a class that is told to start with a consumer, and to stop
// 2. draw a plasma, RGB, 3 bytes a pixel, into frames from a pool of memory, stamped on the streams' clock
// 3. hear of the frames that were dropped, and why
// 4. publish it at rtsp://HOST:8554/plasma

import Capture
import Foundation
import Synchronization
import Threading
import Vidicon

final class MyPlasma: VideoCapturer {
  let format = VideoFormat(width: 640, height: 360, pixelFormat: .rgb24, frameRate: 30)
  private let queue = DispatchQueue(label: "plasma")
  private let started = Mutex(false)

  var isStarted: Bool { self.started.withLock { $0 } }

  func start(consumer: any VideoConsumer) {
    self.started.withLock { $0 = true }
    let (pool, clock) = (VideoFramePool(format: self.format), StreamClock.system)
    let beginning = clock.now()
    self.queue.async {
      for index in Int64(0)... {
        let time = self.format.frameRate.time(ofFrame: index, from: beginning)
        Thread.sleep(forTimeInterval: max(0, (time - clock.now()).seconds))
        guard self.isStarted else { return }
        // Without a frame, all memory waits to be encoded: this picture would come too late anyway.
        if let frame = pool.frame(at: time, draw: { Self.draw(at: time, into: $0) }) { consumer.consume(frame) }
      }
    }
  }

  func stop() {
    self.started.withLock { $0 = false }
    self.queue.sync {}  // A frame that is being drawn is the last one.
  }

  func didDrop(_ drop: FrameDrop) {
    print("the frame of \(drop.timestamp.seconds) s was not used: \(drop.reason)")
  }

  /// Three waves that move against each other, one for each colour.
  private static func draw(at time: MediaTime, into picture: PixelBuffer) {
    let (format, pixels) = (picture.format, picture.unsafePlane(0))
    let phase = Int(time.seconds * 100)
    for y in 0..<format.height {
      let row = UnsafeMutableRawBufferPointer(rebasing: pixels[(y * format.bytesPerRow[0])...].prefix(format.width * 3))
      for x in 0..<format.width {
        row[x * 3] = Self.wave[(x + phase) & 255]
        row[x * 3 + 1] = Self.wave[(y - phase) & 255]
        row[x * 3 + 2] = Self.wave[(x + y + phase * 2) / 2 & 255]
      }
    }
  }

  private static let wave = (0..<256).map { UInt8(127.5 + 127.5 * sin(Double($0) * .pi / 128)) }
}

let stream = LiveStream("plasma")
stream.attachVideo(MyPlasma())
let server = CameraServer(rtspPort: 8554)
try await server.publish(stream)
try await server.run()
