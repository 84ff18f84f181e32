import Testing

/// GStreamer's RTSP client.
enum GStreamer {
  /// How many pictures a play decodes before it ends.
  static let pictureCount = 150

  /// Plays an address until ``pictureCount`` small pictures are decoded, its sound alongside.
  static func play(_ url: String, protocols: String, options: [String] = []) async throws -> Pictures {
    let source = ["-q", "rtspsrc", "name=s", "location=\(url)", "protocols=\(protocols)", "latency=100"] + options
    let video = [
      "s.", "!", "application/x-rtp,media=video", "!", "rtph264depay", "!", "avdec_h264", "!", "videoconvert",
    ]
    let raw = [
      "!", "videoscale", "!", "video/x-raw,format=GRAY8,width=160,height=90", "!", "fdsink", "fd=1", "sync=false",
    ]
    let audio = ["s.", "!", "application/x-rtp,media=audio", "!", "rtpmp4gdepay", "!", "avdec_aac", "!", "fakesink"]
    let run = try await Tool.run(
      "gst-launch-1.0", source + video + raw + audio, byteLimit: Self.pictureCount * 160 * 90, within: .seconds(30))
    try #require(run.exit != nil, "GStreamer decoded too few pictures in 30 s: \(run.errors)")
    return Pictures(width: 160, height: 90, bytes: run.output)
  }
}
