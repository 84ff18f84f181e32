import Testing

/// GStreamer's RTSP client.
enum GStreamer {
  /// Number of frames after which a play ends by default.
  static let frameCount = 150

  /// Plays a URL with video and audio until a number of frames of 160×90 are decoded.
  static func play(
    _ url: String, frames count: Int = frameCount, protocols: String, options: [String] = []
  ) async throws -> LumaFrames {
    let source = ["-q", "rtspsrc", "name=s", "location=\(url)", "protocols=\(protocols)", "latency=100"] + options
    let video = [
      "s.", "!", "application/x-rtp,media=video", "!", "rtph264depay", "!", "avdec_h264", "!", "videoconvert",
    ]
    let raw = [
      "!", "videoscale", "!", "video/x-raw,format=GRAY8,width=160,height=90", "!", "fdsink", "fd=1", "sync=false",
    ]
    let audio = ["s.", "!", "application/x-rtp,media=audio", "!", "rtpmp4gdepay", "!", "avdec_aac", "!", "fakesink"]
    let run = try await Tool.run(
      "gst-launch-1.0", source + video + raw + audio, byteLimit: count * 160 * 90, within: .seconds(30))
    try #require(run.exit != nil, "GStreamer decoded too few frames in 30 s: \(run.errors)")
    return LumaFrames(width: 160, height: 90, bytes: run.output)
  }
}
