// Shows how to:
// 1. follow what happens to a stream: its source ends, falls silent, comes back
// 2. read the counters of a stream and of its viewers
// 3. change the bitrate while viewers watch
// 4. pause encoding: viewers stay, and their picture stands still
// 5. end in order: viewers are told goodbye

import Capture
import Vidicon

LibavLog.silence()  // else FFmpeg's libraries write to standard error
let stream = LiveStream("live", video: VideoSettings(bitrate: 2_300_000))
stream.attachVideo(PlasmaCapturer())
stream.attachAudio(ToneCapturer())
let server = CameraServer(rtspPort: 0)  // any free port
try await server.publish(stream)
try await server.start()
print("rtsp://127.0.0.1:\(server.ports?.rtsp ?? 0)/live")

let watching = Task {
  for await event in stream.events {
    switch event {
    case .sourceEnded(let kind, let error):
      print("the \(kind) source has ended:", error?.description ?? "no more input")
    case .sourceSilent: print("no pictures; viewers see the slate")
    case .sourceBack(let kind): print("the \(kind) is back")
    case .sourceSwitched(let kind): print("the \(kind) comes from another source")
    case .effect(let report): print(report)
    case .failed(let error): print("the stream cannot go on:", error)
    }
  }
}

for second in 1...30 {
  try await Task.sleep(for: .seconds(1))
  if second == 10 { stream.videoBitrate = 500_000 }
  stream.isEncodingPaused = (20..<25).contains(second)

  let pictures = stream.statistics
  print(
    "\(second) s: \(pictures.framesEncoded) of \(pictures.framesIn) pictures encoded,",
    "\(pictures.framesDroppedInAll) dropped, \(pictures.videoBytes / 1000) kB, \(server.viewers(of: stream)) viewers")
}

await server.stop()
await watching.value
