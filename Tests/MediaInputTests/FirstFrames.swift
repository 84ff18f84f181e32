import Capture
import Media
import MediaInput
import TestSupport
import Testing

/// The first frames of a file of which only the video track is played.
func firstFrames(of path: String, count: Int = 1) throws -> [VideoFrame] {
  let source = try FileSource(path: path)
  let video = try #require(source.video)
  let collector = FrameCollector(keep: count)
  try video.start(consumer: collector)
  defer { video.stop() }
  return collector.frames(count)
}
