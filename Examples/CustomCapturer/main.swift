// Shows how to:
// 1. write a capturer: a class that is started with a consumer, delivers frames to it, and is stopped
// 2. draw a plasma, RGB, 3 bytes per pixel, into pooled frames stamped on the stream's clock
// 3. receive a call for each dropped frame, with the reason
// 4. serve it at rtsp://HOST:8554/plasma

import Foundation
import Synchronization
import Vidicon

final class MyPlasma: VideoCapturer {
  let format = VideoFormat(width: 640, height: 360, pixelFormat: .rgb24, frameRate: 30)
  private let queue = DispatchQueue(label: "plasma")
  private let started = Mutex(false)

  var isStarted: Bool { self.started.withLock { $0 } }

  func start(consumer: any VideoConsumer) {
    self.started.withLock { $0 = true }
    let (pool, clock) = (VideoFramePool(format: self.format), StreamClock.system)
    let startTime = clock.now()
    self.queue.async {
      for index in Int64(0)... {
        let time = self.format.frameRate.time(ofFrame: index, from: startTime)
        Thread.sleep(forTimeInterval: max(0, (time - clock.now()).seconds))
        guard self.isStarted else { return }
        // The pool is empty while all of its frames wait for the encoder: a further frame would be late anyway.
        if let frame = pool.frame(at: time, draw: { Self.draw(at: time, into: $0) }) { consumer.consume(frame) }
      }
    }
  }

  func stop() {
    self.started.withLock { $0 = false }
    self.queue.sync {}  // Returns after the last frame was delivered.
  }

  func didDrop(_ drop: FrameDrop) {
    print("dropped the frame of \(drop.timestamp.seconds) s: \(drop.reason)")
  }

  /// Draws three waves that move against each other, one per color.
  private static func draw(at time: MediaTime, into buffer: PixelBuffer) {
    let (format, pixels) = (buffer.format, buffer.unsafePlane(0))
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
try await server.serve(stream)
try await server.run()
