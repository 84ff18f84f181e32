// Shows how to:
// 1. write a capturer: a class that draws, told to start with a consumer and to stop
// 2. hand over frames from a pool of memory, stamped on the streams' clock
// 3. hear of the frames that were dropped, and why
// 4. publish it at rtsp://HOST:8554/sweep

import Foundation
import Synchronization
import Vidicon

/// A bright bar that sweeps over a dark picture, once in two seconds.
final class SweepCapturer: VideoCapturer {
  let format = VideoFormat(width: 640, height: 360, pixelFormat: .bgra, frameRate: 30)
  private let queue = DispatchQueue(label: "sweep")
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

  private static func draw(at time: MediaTime, into picture: PixelBuffer) {
    let (format, pixels) = (picture.format, picture.unsafePlane(0))
    let left = Int(time.nanoseconds / 1_000_000 % 2_000) * (format.width - 40) / 2_000
    for y in 0..<format.height {
      let row = UnsafeMutableRawBufferPointer(rebasing: pixels[(y * format.bytesPerRow[0])...].prefix(format.width * 4))
      row.initializeMemory(as: UInt8.self, repeating: 0x30)
      UnsafeMutableRawBufferPointer(rebasing: row[(left * 4)..<((left + 40) * 4)])
        .initializeMemory(as: UInt8.self, repeating: 0xF0)
    }
  }
}

let stream = LiveStream("sweep")
stream.attachVideo(SweepCapturer())
let server = CameraServer(rtspPort: 8554)
try await server.publish(stream)
try await server.run()
