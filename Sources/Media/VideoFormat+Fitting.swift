extension VideoFormat {
  /// The largest even size with this format's aspect ratio in another format, in pixels; the rest of the other one is bars.
  /// Differences of up to two pixels are no reason for bars.
  package func fittedSize(in target: VideoFormat) -> (width: Int, height: Int) {
    let width = min(target.width, (target.height * self.width + self.height / 2) / self.height & ~1)
    let height = min(target.height, (target.width * self.height + self.width / 2) / self.width & ~1)
    return (
      target.width - width <= 2 ? target.width : max(2, width),
      target.height - height <= 2 ? target.height : max(2, height)
    )
  }
}
