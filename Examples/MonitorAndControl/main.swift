// Shows how to:
// 1. follow the events of a stream: its source ends, falls silent, returns
// 2. read the counters of a stream and of its viewers
// 3. change the bitrate while viewers watch
// 4. pause encoding: viewers stay connected and see a still frame
// 5. stop in order: every viewer's connection is closed with a goodbye

import Vidicon

let stream = LiveStream("live", video: VideoSettings(bitrate: 2_300_000))
stream.attachVideo(PlasmaCapturer())
stream.attachAudio(ToneCapturer())
let server = CameraServer(rtspPort: 0)  // any free port
try await server.serve(stream)
try await server.start()
print("rtsp://127.0.0.1:\(server.ports?.rtsp ?? 0)/live")

let monitoring = Task {
  for await event in stream.events {
    switch event {
    case .sourceEnded(let kind, let error):
      print("the \(kind) source has ended:", error?.description ?? "no more input")
    case .sourceSilent: print("no frames; viewers see the slate")
    case .sourceWaits(let reason): print("connected, and no frame yet:", reason)
    case .sourceBack(let kind): print("the \(kind) is back")
    case .sourceSwitched(let kind): print("the \(kind) was switched to another source")
    case .switchFailed(let kind, let error): print("the \(kind) source stays:", error)
    case .renditionFailed(let name, let error): print("the rendition \(name) cannot be encoded:", error)
    case .effect(let report): print(report)
    case .failed(let error): print("the stream has failed:", error)
    }
  }
}

for second in 1...30 {
  try await Task.sleep(for: .seconds(1))
  if second == 10 { stream.videoBitrate = 500_000 }
  stream.isEncodingPaused = (20..<25).contains(second)

  let counters = stream.statistics
  print(
    "\(second) s: \(counters.framesEncoded) of \(counters.framesIn) frames encoded,",
    "\(counters.totalFramesDropped) dropped, \(counters.videoBytes / 1000) kB, \(server.viewers(of: stream)) viewers")
}

await server.stop()
await monitoring.value
