// Test program that records bars and a tone to a file; tests kill it or fill its disk.
//
//   RecordingProbe PATH FRAMES
//   RecordingProbe tape SECONDS PATTERN...
//   RecordingProbe repair PATH...
//   RecordingProbe snapshot FOLDER...
//
// The second form records so many seconds to each pattern, at the same time, as fast as the disk is. Files are finished by a copy
// where the pattern contains "-copied", in place elsewhere; existing files are overwritten where it contains "-overwritten". Each
// second begins with a keyframe, or every fourth one where it contains "-rare". Frames have at least 200 kB where it contains "-large".
// For each pattern it prints "start PATTERN", the result, and "ended UNFINISHED SECONDS".
//
// The last form writes two snapshots of the same second into each folder, and prints "saved PATH" or "refused ERROR" for each.
//
// The first form prints "frame MICROSECONDS" for each encoded video frame, with the time in its timecode strip, and "event TEXT"
// for each recording event. Stops the recording and exits after FRAMES frames.

import Capture
import Foundation
import Media
import NIOCore
import Recording
import Streaming
import Synchronization
import Threading

final class FrameLog: StreamOutput {
  private let left: Mutex<Int>
  private let end: AsyncStream<Void>.Continuation

  init(count: Int, end: AsyncStream<Void>.Continuation) {
    self.left = Mutex(count)
    self.end = end
  }

  func consume(_ sample: EncodedSample) {
    guard sample.kind == .video else { return }
    say("frame \(StreamClock.system.unixTime(at: sample.presentationTime) / 1000)")
    let isLast = self.left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { self.end.finish() }
  }

  func streamEnded() {
    self.end.finish()
  }
}

/// Writes a line without buffering.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

let arguments = CommandLine.arguments
if arguments.count > 3, arguments[1] == "tape", let seconds = Int64(arguments[2]) {
  let tape = try Tape()
  await withTaskGroup(of: Void.self) { group in
    for (index, pattern) in arguments.dropFirst(3).enumerated() {
      // A recording waits a second for late audio when it is stopped.
      if index >= 32 { await group.next() }
      group.addTask {
        guard let parsed = try? FilePattern(pattern) else { return }
        var settings = RecordingSettings(parsed)
        if pattern.contains("-overwritten") { settings.existingFiles = .overwrite }
        // The samples come at once, and share their bytes.
        settings.queueByteCount = .max
        settings.maximumCopiedByteCount = pattern.contains("-copied") ? .max : 0
        let lines = await tape.record(
          settings, seconds: seconds, keyframeInterval: pattern.contains("-rare") ? 4 : 1,
          fillerByteCount: pattern.contains("-large") ? 200_000 : 0)
        say((["start \(pattern)"] + lines).joined(separator: "\n"))
      }
    }
  }
  exit(0)
}
if arguments.count > 2, arguments[1] == "repair" {
  for path in arguments.dropFirst(2) {
    say("start \(path)")
    do throws(VidiconError) {
      say("repaired \(try await Recordings.repair(path))")
    } catch {
      say("refused \(error)")
    }
  }
  exit(0)
}
if arguments.count > 2, arguments[1] == "snapshot" {
  for folder in arguments.dropFirst(2) {
    for number in 1...2 {
      do throws(VidiconError) {
        let bytes = ByteBuffer(string: "snapshot \(number)")
        say("saved \(try SnapshotFolder(folder).write(bytes, of: "live", atUnixTime: 1_700_000_000_000_000_000))")
      } catch {
        say("refused \(error.code) \(error)")
      }
    }
  }
  exit(0)
}
guard arguments.count == 3, let count = Int(arguments[2]) else {
  say("usage: RecordingProbe PATH FRAMES")
  exit(64)
}
let stream = LiveStream("probe", video: VideoSettings(width: 320, height: 180, bitrate: 400_000))
stream.attachVideo(BarsCapturer(width: 320, height: 180))
stream.attachAudio(ToneCapturer())
try await stream.start()
let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern(arguments[1])))
let events = Task {
  // Safe because the test that started this program ends it, here and below.
  for await event in recorder.events {
    switch event {
    case .failed(let error), .partNotFinished(let error): say("event \(error.code): \(error)")
    case .partFinished(let finished): say("event finished \(finished.path)")
    case .ended: return
    default: break
    }
  }
}
let (frameLogEnd, end) = AsyncStream.makeStream(of: Void.self)
let log = FrameLog(count: count, end: end)
do {
  try await recorder.start()
} catch {
  say("event refused \(error)")
  exit(1)
}
stream.add(log)
// Safe because the test ends this program.
for await _ in frameLogEnd {}
await recorder.stop()
await events.value
await stream.stop()
