import ArgumentParser

/// The command-line options of streams and their sources.
struct SourceArguments: ParsableArguments {
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

  @Option(help: "A stream as KEY=VALUE pairs: name=…,source=…,audio=…,size=…; repeatable.")
  var stream: [String] = []
}
