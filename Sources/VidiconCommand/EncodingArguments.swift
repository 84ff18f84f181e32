import ArgumentParser

/// The command-line options of a stream's encodings.
struct EncodingArguments: ParsableArguments {
  @Option(help: "Size, bitrate and audio settings at once: portrait (720x1280 at 2300k, AAC mono 44.1 kHz at 64k).")
  var preset: String?

  @Option(help: "The video size, WIDTHxHEIGHT; by default the source's, 1280x720 for generated video.")
  var size: String?

  @Option(help: "The maximum frame rate; by default the source's, 30 for generated video.")
  var fps: String?

  @Option(help: "The video bitrate in bits per second, with k or M.")
  var bitrate: String?

  @Option(help: "How a source of another aspect ratio fills the size: fit (with bars) or fill (with crop).")
  var scaling: String?

  @Option(help: "libavcodec's H.264 encoder: libx264, h264_vaapi, h264_v4l2m2m, h264_nvenc, ….")
  var encoder: String?

  @Option(
    help: """
      The H.264 profile: baseline (Constrained Baseline), main, high, or auto: high, and for viewers of WebRTC that do \
      not decode it, and them alone, baseline. (default: auto)
      """)
  var profile: String?

  @Option(
    help: """
      Length of the encoder's rate control buffer, 0.25 to 2 seconds; a short one makes small keyframes. (default: 1)
      """)
  var vbv: String?

  @Option(help: "Whether H.264 of the source is sent as it is: auto (decided at the start), on or off.")
  var passThrough: String?

  @Option(
    help: """
      A further, smaller encoding for slow networks, made while it has viewers: name=low,size=640x360,bitrate=450k,fps=15; \
      repeatable. auto: 360p named low, for streams of 720p and more. none: no further one. (default: auto)
      """)
  var rendition: [String] = []

  @Option(help: "The audio bitrate in bits per second, with k.")
  var audioBitrate: String?
}
