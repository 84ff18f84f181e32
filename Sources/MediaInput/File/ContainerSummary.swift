internal import CLibav
package import Media

/// Format of a media container, and the codecs of the tracks that a player would choose, as libavformat finds them at its beginning.
package struct ContainerSummary: Hashable, Sendable {
  /// Names of the format, such as `mpegts`, or `mov,mp4,m4a,3gp,3g2,mj2`.
  package var format: String
  /// Name of the video's codec, such as `h264`; nil without video.
  package var videoCodec: String?
  /// Width and height of the video in pixels, as it is encoded; nil without video, and where the beginning does not say.
  package var videoSize: Size?
  /// Frame rate of the video; nil without video.
  package var frameRate: FrameRate?
  /// Name of the audio's codec, such as `aac`; nil without audio.
  package var audioCodec: String?

  /// Width and height in pixels, at least 1.
  package struct Size: Hashable, Sendable {
    package var width: Int
    package var height: Int
  }

  /// Opens a file of this machine, which may be the beginning of one; blocks. Playlists are not opened: they could lead elsewhere.
  ///
  /// - Throws: ``VidiconError`` where it is no container, or has neither video nor audio.
  package init(path: String) throws(VidiconError) {
    let file = try MediaFile(path: path, isConfined: true, interrupt: LibavInterrupt())
    func codec(_ index: Int?) throws(VidiconError) -> String? {
      guard let index else { return nil }
      return String(cString: avcodec_get_name(try file.stream(index).pointee.codecpar.pointee.codec_id))
    }
    self.format = String(cString: file.context.pointee.iformat.pointee.name)
    self.videoCodec = try codec(file.choice.video.first)
    self.audioCodec = try codec(file.choice.audio.first)
    guard let index = file.choice.video.first else { return }
    let parameters = try file.stream(index).pointee.codecpar.pointee
    if parameters.width > 0, parameters.height > 0 {
      self.videoSize = Size(width: Int(parameters.width), height: Int(parameters.height))
    }
    self.frameRate = try file.frameRate(index)
  }
}
