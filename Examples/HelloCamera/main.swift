// Shows how to:
// 1. create a stream with a video source and an audio source
// 2. serve it, so that OBS, VLC and ffmpeg play rtsp://HOST:8554/hello
// 3. serve until Ctrl-C

import Vidicon

let stream = LiveStream("hello", video: .init(width: 1280, height: 720, frameRate: 30))
stream.attachVideo(PlasmaCapturer())  // or any type that conforms to VideoCapturer
stream.attachAudio(ToneCapturer())
let server = CameraServer(rtspPort: 8554, httpPort: 8080)
try await server.serve(stream)
try await server.run()  // until cancelled
