internal import Authentication
internal import Media
internal import RTP
internal import Serving
internal import Streaming
internal import Synchronization
internal import WebRTC

/// The served streams of a server of WebRTC, with encodings in place of those that not every client decodes.
typealias WebRTCDirectory = OutputDirectory<WebRTCOutput>

extension WebRTCDirectory {
  /// A directory without streams, whose viewers are a hub's.
  static func webRTC(_ hub: WebRTCHub, refusals: RefusalCounters) -> WebRTCDirectory {
    let transcodings = Transcodings()
    @Sendable func make(
      _ directory: WebRTCDirectory, _ rendition: Rendition, original: Rendition?, _ descriptions: [CodecDescription]
    ) -> WebRTCOutput {
      let onEnd = directory.onEnd
      return WebRTCOutput(
        rendition, original: original, descriptions: descriptions, hub: hub, refusals: directory.refusals,
        lowerRenditions: { [weak directory] in
          rendition.stream.renditions.filter { $0.failure == nil }.map { lower in
            WebRTCLowerRendition(bitrate: lower.bitrate) { [weak directory] completion in
              guard let directory else { return completion(nil) }
              directory.find(lower, completion)
            }
          }
        },
        transcode: { [weak directory] output, mode, completion in
          let original = output.rendition
          guard let directory, let rendition = transcodings.rendition(inPlaceOf: original, for: mode) else {
            return completion(nil)
          }
          directory.find(rendition, making: { make($0, $1, original: original, $2) }, completion)
        },
        onEnd: { ended in
          if ended.rendition.isMain { transcodings.remove(of: ended.stream) }
          onEnd(ended)
        })
    }
    return WebRTCDirectory(eventLoops: [hub.eventLoop], refusals: refusals) { make($0, $1, original: nil, $2) }
  }
}

/// Encodings of the frames of renditions as Constrained Baseline, which every browser decodes.
final class Transcodings: Sendable {
  private struct Transcoding {
    /// The rendition that it replaces.
    var original: Rendition
    var rendition: Rendition
  }

  private let transcodings = Mutex<[Transcoding]>([])

  /// The frames of a rendition as Constrained Baseline: encoded only while there are viewers of it; those of the rendition keep what
  /// they have.
  ///
  /// - Parameter mode: In mode 0 each slice is a packet, for clients without fragments.
  /// - Returns: Nil when the stream has ended.
  func rendition(inPlaceOf original: Rendition, for mode: H264PacketizationMode) -> Rendition? {
    self.transcodings.withLock { all in
      // An encoder that failed is opened again by another one.
      all.removeAll { transcoding in
        guard transcoding.original.failure != nil || transcoding.rendition.failure != nil else { return false }
        transcoding.rendition.stream.removePrivateRendition(transcoding.rendition)
        return true
      }
      let maximumSliceLength = mode == .singleNALUnit ? WebRTCMedia.maximumPayloadLength : nil
      let present = all.first {
        $0.original == original && $0.rendition.encoding?.maximumSliceLength == maximumSliceLength
      }
      if let present { return present.rendition }
      let made = original.stream.makePrivateRendition(
        like: original, bitrate: WebRTCOutput.transcodingBitrate(of: original), profile: .baseline,
        maximumSliceLength: maximumSliceLength, isForViewers: true)
      if let made { all.append(Transcoding(original: original, rendition: made)) }
      return made
    }
  }

  /// Forgets those of a stream that has ended, and has ended its encodings.
  func remove(of stream: LiveStream) {
    self.transcodings.withLock { $0.removeAll { $0.original.stream === stream } }
  }
}

/// A smaller rendition of a stream, for viewers with slower networks.
struct WebRTCLowerRendition: Sendable {
  /// Bits per second of its video.
  var bitrate: Int
  /// Finds its output, after its encoder was opened if need be; completes on any thread, with nil when it has failed.
  var find: @Sendable (_ completion: @escaping @Sendable (WebRTCOutput?) -> Void) -> Void
}
