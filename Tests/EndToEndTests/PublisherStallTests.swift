import Foundation
import Testing

extension EndToEnd {
  @Suite("A publisher over TCP that stalls, and then sends everything at once")
  struct PublisherStalls {
    private static let key = "0123456789abcdef0123"
    /// A flash and a beep in each second.
    private static let flashes = [
      "-f", "lavfi", "-i", "color=black:s=640x360:r=30,drawbox=c=white:t=fill:enable='lt(mod(t,1),.1)'",
      "-re", "-f", "lavfi", "-i", "aevalsrc='.5*sin(2*PI*1000*t)*lt(mod(t,1),.1)':s=48000",
    ]

    @Test(.tags(.pacing)) func `after a stall of 8 s each frame is recorded at its time, and flash and beep together`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--source", "rtmp:?key=\(Self.key)", "--size", "640x360", "--fps", "30", "--rtmp-port", "0"]
        try await VidiconProcess.serving(options + ["--record", "\(folder)/{name}.mp4"]) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == true }
          let arguments = Self.flashes + RTMPPublisher.encodingVideo + RTMPPublisher.encodingAudio
          try await RTMPPublisher.publishing(arguments, to: vidicon.rtmp("live/\(Self.key)")) { publisher in
            let before = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 150 }
            publisher.signal(SIGSTOP)
            let end = ContinuousClock.now + .milliseconds(7500)
            let stalled = try await vidicon.status { _ in ContinuousClock.now >= end }
            publisher.signal(SIGCONT)
            #expect((stalled.framesIn ?? 0) - (before.framesIn ?? 0) < 120, "it stands still")
            // Frames of the stall, and of six seconds more.
            _ = try await vidicon.status(within: .seconds(60)) { ($0.framesIn ?? 0) > (stalled.framesIn ?? 0) + 400 }
            #expect(publisher.isRunning, "\(publisher.errors.text)")
          }
        }
        // The slate before the publisher is a part of its own.
        let parts = try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
        func size(_ path: String) throws -> Int {
          try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        }
        let largest = try parts.max { try size($0) < size($1) }
        let file = try await RecordedFile(#require(largest))
        #expect(file.complaints == "")
        let steps = zip(file.times.dropFirst(), file.times).map { $0 - $1 }
        #expect(try #require(steps.min()) > 0.005, "\(steps.count { $0 <= 0.005 }) frames come closer than 5 ms")
        // No hole either: without a viewer nothing was shown meanwhile.
        #expect(try #require(steps.max()) < 0.5)
        try #require(file.flashes.count >= 15, "\(file.flashes)")
        for (flash, next) in zip(file.flashes, file.flashes.dropFirst()) {
          #expect(abs(next - flash - 1) < 0.05, "flashes at \(flash) s and \(next) s")
        }
        // Audio is silent where none came.
        let gaps = zip(file.beeps, file.beeps.dropFirst()).map { (start: $0, end: $1) }
        let silence = try #require(gaps.max { $0.end - $0.start < $1.end - $1.start })
        #expect(silence.end - silence.start > 5, "\(file.beeps)")
        try #require(file.beeps.count { $0 <= silence.start } >= 3 && file.beeps.count { $0 >= silence.end } >= 3)
        for beep in file.beeps.dropFirst().dropLast() {
          let nearest = try #require(file.flashes.min { abs($0 - beep) < abs($1 - beep) })
          #expect(abs(nearest - beep) < 0.040, "beep at \(beep) s, flash at \(nearest) s")
        }
      }
    }
  }
}
