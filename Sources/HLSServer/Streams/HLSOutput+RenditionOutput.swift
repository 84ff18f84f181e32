internal import Media
internal import Streaming

extension HLSOutput {
  /// The output of another rendition: its video, beside the audio of the stream.
  final class RenditionOutput: StreamOutput {
    private let rendition: Rendition
    private let hls: HLSOutput

    init(_ rendition: Rendition, of hls: HLSOutput) {
      self.rendition = rendition
      self.hls = hls
    }

    func consume(_ sample: EncodedSample) {
      if sample.kind == .video { self.hls.consume(sample, of: self.rendition.name) }
    }

    func descriptionChanged(to description: CodecDescription) {
      self.hls.change(to: description, of: self.rendition.name)
    }

    func streamEnded() {
      // At the end of the stream playlists get a last line.
      if self.rendition.failure?.code != .wrongState { self.hls.remove(self.rendition) }
    }
  }
}
