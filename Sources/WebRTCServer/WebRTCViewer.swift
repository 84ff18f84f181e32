internal import Authentication
internal import Media
internal import Serving
internal import Streaming
internal import Synchronization
internal import WebRTC

/// One viewer: its session, on the hub's event loop.
final class WebRTCViewer {
  /// Identifies the session in its URL.
  let id: String
  /// Number among all viewers since the start, from 1: unlike ``id`` no secret.
  let number: Int
  /// Output of the session's URL: the main rendition's, or one that was requested by name.
  let home: WebRTCOutput
  /// The best that it gets: ``home``, or the transcoding of that for a client that does not decode it.
  var top: WebRTCOutput
  /// Output that it gets.
  var output: WebRTCOutput
  /// Output that it gets from the next keyframe of that on.
  var next: WebRTCOutput?
  /// Choice of the rendition; nil for a viewer that has requested one by name.
  var choice: ViewerRendition?
  /// Whether it gets audio without video, since no rendition fits.
  var isAudioOnly = false
  /// Whether video is left out until a rendition comes that the client decodes.
  var isVideoHeld = false
  /// Whether it is among those that have more to send later.
  var isWaiting = false
  /// The path of the URL that it was opened with.
  let path: String
  var session: WebRTCSession
  /// ICE as the session's URL shows it.
  var ice: ICESessionParameters
  /// Whether media could flow once.
  var wasReady = false
  /// The visit, for the log; nil before media could flow.
  var visit: ViewerVisit?
  /// Address from which the session was requested.
  let client: IPAddress
  /// The part of the session's counters that the output has.
  private var counted = WebRTCSessionStatistics()

  init(
    id: String, number: Int, client: IPAddress, home: WebRTCOutput, top: WebRTCOutput, path: String,
    session: WebRTCSession, ice: ICESessionParameters
  ) {
    self.id = id
    self.number = number
    self.client = client
    self.home = home
    self.top = top
    self.output = top
    self.path = path
    self.session = session
    self.ice = ice
  }

  /// The name of the rendition that it gets; `audio` for audio without video.
  var rendition: String { self.isAudioOnly ? "audio" : self.output.rendition.name }

  /// Whether the client decodes the video of an output, or was answered no video.
  func decodes(_ output: WebRTCOutput) -> Bool {
    guard self.session.hasVideo, let video = output.video else { return true }
    return self.session.decodes(video, output.packetizationMode)
  }

  /// Counters of the viewer.
  var statistics: WebRTCViewerStatistics {
    let session = self.session.statistics
    var statistics = WebRTCViewerStatistics(number: self.number, rendition: self.rendition)
    statistics.roundTrip = session.roundTrip
    statistics.fractionLost = session.fractionLost
    statistics.estimatedBitrate = session.estimatedBitrate
    statistics.queueingDelay = session.queueingDelay
    statistics.packetsLost = session.packetsLost
    statistics.packetsSent = session.packetsSent
    statistics.packetsRetransmitted = session.packetsRetransmitted
    statistics.framesSkipped = session.framesDropped
    statistics.keyframesRequested = session.keyframesRequested
    let drops = self.session.dropCounts
    statistics.feedbackDropped = session.feedbackDropped + drops.excess
    statistics.datagramsDropped = drops.rejected
    return statistics
  }

  /// The value of `ETag`.
  var entityTag: String { self.ice.entityTag }

  /// Addresses in the answer.
  var candidates: [TransportAddress] { self.ice.candidates }

  /// Adds what happened since the last call to the counters of the stream.
  func count() {
    let new = self.session.statistics
    let old = self.counted
    self.counted = new
    let counters = self.output
    counters.retransmittedPackets.add(new.packetsRetransmitted - old.packetsRetransmitted, ordering: .relaxed)
    counters.requestedKeyframes.add(new.keyframesRequested - old.keyframesRequested, ordering: .relaxed)
    counters.counters.framesSkipped.add(new.framesDropped - old.framesDropped, ordering: .relaxed)
  }
}
