import ArgumentParser

/// The command-line options of a stream.
struct StreamArguments: ParsableArguments {
  @Option(
    help: """
      The video source: v4l2: or v4l2:CAMERA, screen:, plasma, noise, bars, file:PATH, pipe: (YUV4MPEG2 on standard input), \
      rtsp://…, http://…, rtmp://…. "vidicon devices" lists cameras and screens. By default serve uses the first \
      camera that opens, else plasma.
      """)
  var source: String?

  @Option(
    help: """
      The audio source: auto (the source's own, a microphone with a camera, else a tone), mic: or mic:NAME, tone, silence, \
      file:PATH, rtsp://…, none.
      """)
  var audio: String?

  @Option(help: "The stream's name, which is the path of its addresses.")
  var name: String?

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
      Length of the encoder's rate control buffer, 0.25 to 2 seconds; a short one makes small keyframes. (default: 0.5, \
      1 with --webrtc off and in recordings without a server)
      """)
  var vbv: String?

  @Option(help: "Whether H.264 of the source is sent as it is: auto (decided at the start), on or off.")
  var passThrough: String?

  @Option(
    name: .customLong("rendition"),
    help: """
      A further, smaller encoding for slow networks, made while it has viewers: name=low,size=640x360,bitrate=450k,fps=15; \
      repeatable. auto: 360p named low, for streams of 720p and more. none: no further one. (default: auto)
      """)
  var renditions: [String] = []

  @Option(help: "The audio bitrate in bits per second, with k.")
  var audioBitrate: String?

  @Option(help: "Size, bitrate and audio settings at once: portrait (720x1280 at 2300k, AAC mono 44.1 kHz at 64k).")
  var preset: String?

  @OptionGroup var effects: EffectArguments

  @Option(
    name: .customLong("stream"),
    help: "A stream as KEY=VALUE pairs: name=…,source=…,audio=…,size=…; repeatable.")
  var streams: [String] = []

  @Option(help: "A YAML file with these settings; command-line options override it.")
  var config: String?

  /// The options of one stream in the order of their application.
  var values: [(StreamOptions.Key, String?)] {
    [
      (.preset, self.preset), (.name, self.name), (.source, self.source), (.audio, self.audio), (.size, self.size),
      (.fps, self.fps), (.bitrate, self.bitrate), (.scaling, self.scaling), (.encoder, self.encoder),
      (.profile, self.profile), (.vbv, self.vbv), (.passThrough, self.passThrough),
      (.rendition, self.renditions.isEmpty ? nil : self.renditions.joined(separator: ";")),
      (.audioBitrate, self.audioBitrate),
    ] + self.effects.values
  }
}
