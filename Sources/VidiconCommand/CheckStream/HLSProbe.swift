import Authentication
import Containers
import HLS
import Media
import NIOCore
import Threading

/// Requests playlists and segments of an HLS stream as browsers do.
struct HLSProbe {
  /// Number of segments at the end of the playlist that are loaded.
  private static let segmentCount = 2
  /// Maximum length of a segment that is loaded, in bytes.
  private static let maximumSegmentLength = 32 << 20
  /// Maximum length of a key that is loaded, in bytes: those of AES-128 have 16, and a page in place of one is longer.
  private static let maximumKeyLength = 64 << 10
  /// Interval of the requests for a playlist that has not changed.
  private static let reloadInterval = MediaDuration.milliseconds(500)
  /// Minimum time in which a server responds.
  private static let responseTime = MediaDuration.seconds(2)
  /// Time that is kept for the last request before the deadline.
  private static let reserve = MediaDuration.milliseconds(700)

  private(set) var visit: HTTPVisit
  private let deadline: MediaTime
  private var facts = HLSObservation()

  /// - Parameters:
  ///   - visit: Requests to the server.
  ///   - tls: Facts about its TLS; nil without encryption.
  ///   - deadline: Time by which the probe has ended.
  init(visit: HTTPVisit, tls: TLSObservation?, deadline: MediaTime) {
    self.visit = visit
    self.deadline = deadline
    self.facts.isEncrypted = tls != nil
    self.facts.negotiatedProtocol = tls?.negotiatedProtocol
  }

  /// Plays a stream from the response to the request for its address.
  mutating func run(_ first: HTTPResult, from address: HTTPAddress) async -> HLSObservation {
    self.note(first, from: address)
    guard let playlist = self.parse(first) else { return self.facts }
    var (media, place) = (playlist, address)
    var audio: HLSPlaylistDocument.Rendition?
    if let variant = playlist.variants.first {
      audio = playlist.audio(of: variant)
      (self.facts.variantCount, self.facts.codecs) = (
        playlist.variants.count, variant.codecs.map { String($0.prefix(80)) }
      )
      switch await self.load(variant.address, from: address) {
      case .failure(let failure):
        self.facts.playlists.append(Self.resource(variant.address, failure))
        return self.facts
      case .success(let response):
        self.note(response.result, from: response.address)
        guard let parsed = self.parse(response.result) else { return self.facts }
        (media, place) = (parsed, response.address)
      }
    }
    media = await self.awaitSegments(of: media, from: place)
    let start = StreamClock.system.now()
    self.facts.media = media
    await self.loadSegments(of: media, from: place)
    await self.loadKeys(of: media, from: place)
    if let audio, let reference = audio.address { await self.loadAudio(audio, at: reference, from: address) }
    if !media.isEnded { await self.reload(media, from: place, since: start) }
    return self.facts
  }

  /// Requests what a playlist names.
  private mutating func load(
    _ reference: String, from place: HTTPAddress, limit: Int = HLSPlaylistDocument.maximumLength + 1
  ) async -> Result<HTTPVisit.Response, ConnectionFailure> {
    guard let address = place.resolved(reference) else { return .failure(.invalidAddress) }
    return await self.load(address, limit: limit)
  }

  /// Requests a resource as a page of another server does.
  private mutating func load(
    _ address: HTTPAddress, limit: Int = HLSPlaylistDocument.maximumLength + 1
  ) async -> Result<HTTPVisit.Response, ConnectionFailure> {
    let request = HTTPExchange.Request(
      address: address, isOfOtherOrigin: true, maximumLength: limit, end: self.deadline - Self.reserve)
    return await self.visit.request(request)
  }

  /// Records the response to a request for a playlist.
  private mutating func note(_ result: HTTPResult, from address: HTTPAddress) {
    self.facts.playlists.append(Self.resource(result, from: address))
  }

  /// Maximum length of a name that is noted.
  private static let maximumNameLength = 60

  /// A resource without a response.
  private static func resource(_ reference: String, _ failure: ConnectionFailure) -> HLSObservation.Resource {
    // A host may follow a password.
    let name = reference.prefix { $0 != "?" }.split { $0 == "/" || $0 == "@" }.last ?? "/"
    return HLSObservation.Resource(name: String(name.prefix(self.maximumNameLength)), failure: failure)
  }

  private static func resource(_ result: HTTPResult, from address: HTTPAddress) -> HLSObservation.Resource {
    HLSObservation.Resource(
      name: String(address.name.prefix(self.maximumNameLength)), status: result.status,
      contentType: result.contentType.map { String($0.prefix(60)) }, allowsOtherOrigins: result.allowsOtherOrigins,
      seconds: result.endTime, byteCount: result.body.readableBytes, ending: result.ending)
  }

  private mutating func parse(_ result: HTTPResult) -> HLSPlaylistDocument? {
    guard result.status == 200 else { return nil }
    do throws(ParsingError) {
      let playlist = try HLSPlaylistDocument(parsing: String(buffer: result.body))
      self.note(playlist.violations)
      return playlist
    } catch {
      self.facts.playlistError = error
      return nil
    }
  }

  private mutating func note(_ violations: [String]) {
    for violation in violations where !self.facts.violations.contains(violation) {
      self.facts.violations.append(violation)
    }
  }

  /// Whether a server has time to respond to a further request: one that the end of the check cuts off is not judged.
  private var hasTime: Bool { StreamClock.system.now() + Self.responseTime < self.deadline - Self.reserve }

  /// Loads the last segments, and the section that they need.
  private mutating func loadSegments(of media: HLSPlaylistDocument, from place: HTTPAddress) async {
    let segments = media.availableSegments.suffix(Self.segmentCount).filter { !$0.isByteRange }
    var initialization: ByteBuffer?
    if self.hasTime, let map = segments.last?.map {
      switch await self.load(map, from: place, limit: Self.maximumSegmentLength) {
      case .failure(let failure): self.facts.initializations.append(Self.resource(map, failure))
      case .success(let response):
        self.facts.initializations.append(Self.resource(response.result, from: response.address))
        initialization = response.result.body
      }
    }
    for segment in segments where self.hasTime {
      switch await self.load(segment.address, from: place, limit: Self.maximumSegmentLength) {
      case .failure(let failure):
        self.facts.segments.append(
          .init(resource: Self.resource(segment.address, failure), duration: segment.duration))
        return
      case .success(let response):
        var start: SegmentStart?
        if !segment.isEncrypted, response.result.ending == .complete {
          start = try? SegmentStart(parsing: response.result.body, initialization: initialization)
        }
        self.facts.segments.append(
          .init(
            resource: Self.resource(response.result, from: response.address), duration: segment.duration,
            startsWithKeyframe: start == .keyframe ? true : start == .otherFrame ? false : nil))
      }
    }
  }

  /// Loads the keys of the last segments, but for licenses and keys that are no resources of HTTP.
  private mutating func loadKeys(of media: HLSPlaylistDocument, from place: HTTPAddress) async {
    var addresses: [HTTPAddress] = []
    for segment in media.availableSegments.suffix(Self.segmentCount) {
      guard let key = segment.key, key.isIdentity, let reference = key.address, !reference.hasPrefix("data:"),
        let address = place.resolved(reference), !addresses.contains(address)
      else { continue }
      addresses.append(address)
    }
    for address in addresses where self.hasTime {
      switch await self.load(address, limit: Self.maximumKeyLength) {
      case .failure(let failure): self.facts.keys.append(Self.resource(address.name, failure))
      case .success(let response): self.facts.keys.append(Self.resource(response.result, from: response.address))
      }
    }
  }

  /// Loads the playlist of a rendition, and its last segment.
  private mutating func loadAudio(
    _ audio: HLSPlaylistDocument.Rendition, at reference: String, from place: HTTPAddress
  ) async {
    guard self.hasTime else { return }
    let name = String(audio.name.prefix(Self.maximumNameLength)).withoutControls()
    let response: HTTPVisit.Response
    switch await self.load(reference, from: place) {
    case .failure(let failure):
      self.facts.audio = HLSObservation.Audio(name: name, playlist: Self.resource(reference, failure))
      return
    case .success(let value): response = value
    }
    var found = HLSObservation.Audio(name: name, playlist: Self.resource(response.result, from: response.address))
    defer { self.facts.audio = found }
    guard response.result.status == 200,
      var playlist = try? HLSPlaylistDocument(parsing: String(buffer: response.result.body))
    else { return }
    // Audio that begins with the first viewer may come after the video.
    while playlist.availableSegments.isEmpty, !playlist.isEnded, self.hasTime {
      try? await Task.sleep(for: .nanoseconds(Self.reloadInterval.nanoseconds))
      guard let later = try? await self.load(response.address).get(), later.result.status == 200,
        let next = try? HLSPlaylistDocument(parsing: String(buffer: later.result.body))
      else { break }
      playlist = next
    }
    self.note(playlist.violations)
    guard let segment = playlist.availableSegments.last else { return }
    found.hasSegments = true
    guard self.hasTime, !segment.isByteRange else { return }
    switch await self.load(segment.address, from: response.address, limit: Self.maximumSegmentLength) {
    case .failure(let failure): found.segment = Self.resource(segment.address, failure)
    case .success(let response): found.segment = Self.resource(response.result, from: response.address)
    }
  }

  /// Requests the media playlist until it has segments: a server may begin with the first viewer, with gaps and parts at first.
  private mutating func awaitSegments(of media: HLSPlaylistDocument, from place: HTTPAddress) async
    -> HLSPlaylistDocument
  {
    var media = media
    while media.availableSegments.isEmpty, !media.isEnded,
      StreamClock.system.now() + Self.reloadInterval < self.deadline - Self.reserve
    {
      try? await Task.sleep(for: .nanoseconds(Self.reloadInterval.nanoseconds))
      guard let response = try? await self.load(place).get(), let later = self.parse(response.result) else { break }
      media = later
    }
    return media
  }

  /// Requests the media playlist until it has changed.
  private mutating func reload(_ media: HLSPlaylistDocument, from place: HTTPAddress, since start: MediaTime) async {
    while StreamClock.system.now() + Self.reloadInterval < self.deadline - Self.reserve {
      try? await Task.sleep(for: .nanoseconds(Self.reloadInterval.nanoseconds))
      guard let response = try? await self.load(place).get(), response.result.status == 200,
        let later = try? HLSPlaylistDocument(parsing: String(buffer: response.result.body))
      else { continue }
      self.facts.reloadSpan = (StreamClock.system.now() - start).seconds
      guard later != media else { continue }
      self.note(media.violations(ofLater: later))
      self.facts.hasAdvanced = later.isEnded || later.lastNumber ?? 0 > media.lastNumber ?? 0
      if self.facts.hasAdvanced { return }
    }
  }
}
