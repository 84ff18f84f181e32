// Shows how to:
// 1. make a stream out of a picture and a sound
// 2. publish it, so that OBS, VLC and ffmpeg play rtsp://HOST:8554/hello
// 3. serve until the program is ended with Ctrl-C

import Capture
import Vidicon

let stream = LiveStream("hello", video: .init(width: 1280, height: 720, frameRate: 30))
stream.attachVideo(PlasmaCapturer())  // or any type that meets VideoCapturer
stream.attachAudio(ToneCapturer())
let server = CameraServer(rtspPort: 8554, httpPort: 8080)
try await server.publish(stream)
try await server.run()  // until cancelled
