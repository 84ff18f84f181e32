internal import Media
internal import MediaInput
internal import NIOCore
internal import Serving
internal import Streaming
internal import WebRTC

/// One publisher: its session, on the hub's event loop.
final class WebRTCPublisher {
  /// Identifies the session in its URL.
  let id: String
  /// The stream that it sends.
  let stream: LiveStream
  /// The source of the stream.
  let input: PublishedInput
  var session: WebRTCPublisherSession
  /// ICE as the session's URL shows it.
  var ice: ICESessionParameters
  /// Codecs of the answer.
  let videoCodec: WebRTCPublishAnswer.Codec?
  let audioCodec: WebRTCPublishAnswer.Codec?
  /// The publication of the source; nil before media may flow.
  var publication: Publication?
  /// Whether media could flow once.
  var wasReady = false
  /// Whether the source knows the codec of the audio.
  var isAudioDescribed = false
  /// The next look at the session's deadline.
  var timer: (time: MediaTime, task: Scheduled<Void>)?
  /// Time at which the publisher's counters are noted again.
  var nextNote: MediaTime?

  init(
    id: String, stream: LiveStream, input: PublishedInput, session: WebRTCPublisherSession, ice: ICESessionParameters,
    answer: WebRTCPublishAnswer
  ) {
    self.id = id
    self.stream = stream
    self.input = input
    self.session = session
    self.ice = ice
    self.videoCodec = answer.video?.codec
    self.audioCodec = answer.audio?.codec
  }

  /// Adds the counters of its session.
  func add(to statistics: inout WebRTCPublisherStatistics) {
    let session = self.session.statistics
    statistics.packetsReceived += session.packetsReceived
    statistics.bytesReceived += session.bytesReceived
    statistics.datagramsDropped += self.session.droppedDatagramCount
    for track in [self.session.videoStatistics, self.session.audioStatistics].compactMap(\.self) {
      statistics.packetsLost += track.packetsLost
      statistics.packetsRecovered += track.packetsRecovered
    }
    guard let video = self.session.videoStatistics else { return }
    statistics.framesReceived += video.frames
    statistics.framesDropped += video.framesDropped
    statistics.keyframesRequested += video.keyframesRequested
  }
}
