import Capture
import Media

struct TempSources { var video: (any VideoCapturer)?; var audio: (any AudioCapturer)? }
extension StreamOptions {
  func openSources() throws(CaptureError) -> TempSources {
    let w = size?.width ?? 1280, h = size?.height ?? 720, f = frameRate ?? 30
    let v: any VideoCapturer
    if source == "bars" {
      v = BarsCapturer(width: w, height: h, frameRate: f)
    } else if source == "noise" {
      v = NoiseCapturer(width: w, height: h, frameRate: f)
    } else {
      v = PlasmaCapturer(width: w, height: h, frameRate: f)
    }
    return TempSources(video: v, audio: audio == "none" ? nil : ToneCapturer())
  }
}
