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
  /// Interval of the requests for a playlist that has not changed.
  private static let reloadInterval = MediaDuration.milliseconds(500)
  /// Time that is kept for the last request before the deadline.
  private static let reserve = MediaDuration.milliseconds(700)

  private var visit: HTTPVisit
  private let deadline: MediaTime
  private var facts = HLSObservation()
  /// Addresses of resources, for the requests of another origin.
  private var addresses: [HTTPAddress] = []

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
    if let variant = playlist.variants.first {
      (self.facts.variantCount, self.facts.codecs) = (
        playlist.variants.count, variant.codecs.map { String($0.prefix(80)) }
      )
      guard let next = address.resolved(variant.address), let result = await self.load(next) else {
        self.facts.playlists.append(.init(name: "variant", status: nil))
        return self.facts
      }
      self.note(result.result, from: result.address)
      guard let parsed = self.parse(result.result) else { return self.facts }
      (media, place) = (parsed, result.address)
    }
    media = await self.awaitSegments(of: media, from: place)
    let start = StreamClock.system.now()
    self.facts.media = media
    await self.loadSegments(of: media, from: place)
    await self.requestFromOtherOrigin()
    if !media.isEnded { await self.reload(media, from: place, since: start) }
    return self.facts
  }

  private mutating func load(_ address: HTTPAddress, limit: Int = HLSPlaylistDocument.maximumLength + 1) async
    -> (result: HTTPResult, address: HTTPAddress)?
  {
    let request = HTTPExchange.Request(address: address, maximumLength: limit, end: self.deadline - Self.reserve)
    return try? await self.visit.request(request).get()
  }

  /// Records the response to a request for a playlist.
  private mutating func note(_ result: HTTPResult, from address: HTTPAddress) {
    self.facts.playlists.append(Self.resource(result, from: address))
    self.addresses.append(address)
  }

  private static func resource(_ result: HTTPResult, from address: HTTPAddress) -> HLSObservation.Resource {
    HLSObservation.Resource(
      name: String(address.name.prefix(60)), status: result.status,
      contentType: result.contentType.map { String($0.prefix(60)) },
      seconds: result.endTime, byteCount: result.body.readableBytes, isComplete: result.isComplete)
  }

  private mutating func parse(_ result: HTTPResult) -> HLSPlaylistDocument? {
    guard result.status == 200 else { return nil }
    guard let playlist = try? HLSPlaylistDocument(parsing: String(buffer: result.body)) else {
      self.facts.isPlaylist = false
      return nil
    }
    self.note(playlist.violations)
    return playlist
  }

  private mutating func note(_ violations: [String]) {
    for violation in violations where !self.facts.violations.contains(violation) {
      self.facts.violations.append(violation)
    }
  }

  /// Loads the last segments, and the section that they need.
  private mutating func loadSegments(of media: HLSPlaylistDocument, from place: HTTPAddress) async {
    let segments = media.availableSegments.suffix(Self.segmentCount).filter { !$0.isByteRange }
    var initialization: ByteBuffer?
    if let map = segments.last?.map, let address = place.resolved(map) {
      let loaded = await self.load(address, limit: Self.maximumSegmentLength)
      self.facts.initializations.append(
        loaded.map { Self.resource($0.result, from: $0.address) }
          ?? .init(name: String(address.name.prefix(60)), status: nil))
      self.addresses.append(address)
      initialization = loaded?.result.body
    }
    for segment in segments {
      guard let address = place.resolved(segment.address) else { continue }
      guard let loaded = await self.load(address, limit: Self.maximumSegmentLength) else {
        self.facts.segments.append(
          .init(resource: .init(name: String(address.name.prefix(60)), status: nil), duration: segment.duration))
        return
      }
      self.addresses.append(address)
      var start: SegmentStart?
      if !segment.isEncrypted, loaded.result.isComplete {
        start = try? SegmentStart(parsing: loaded.result.body, initialization: initialization)
      }
      self.facts.segments.append(
        .init(
          resource: Self.resource(loaded.result, from: loaded.address), duration: segment.duration,
          startsWithKeyframe: start == .keyframe ? true : start == .otherFrame ? false : nil))
    }
  }

  /// Requests each resource as a page of another server does.
  private mutating func requestFromOtherOrigin() async {
    var allowed: [Bool] = []
    for address in self.addresses {
      var request = HTTPExchange.Request(address: address, maximumLength: 1, end: self.deadline - Self.reserve)
      request.isOfOtherOrigin = true
      let result = try? await self.visit.request(request).get().result
      allowed.append(result?.allowsOtherOrigins ?? false)
    }
    var rest = allowed[...]
    for index in self.facts.playlists.indices {
      self.facts.playlists[index].allowsOtherOrigins = rest.popFirst() ?? false
    }
    for index in self.facts.initializations.indices {
      self.facts.initializations[index].allowsOtherOrigins = rest.popFirst() ?? false
    }
    for index in self.facts.segments.indices where self.facts.segments[index].resource.status != nil {
      self.facts.segments[index].resource.allowsOtherOrigins = rest.popFirst() ?? false
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
      guard let result = await self.load(place)?.result, let later = self.parse(result) else { break }
      media = later
    }
    return media
  }

  /// Requests the media playlist until it has changed.
  private mutating func reload(_ media: HLSPlaylistDocument, from place: HTTPAddress, since start: MediaTime) async {
    while StreamClock.system.now() + Self.reloadInterval < self.deadline - Self.reserve {
      try? await Task.sleep(for: .nanoseconds(Self.reloadInterval.nanoseconds))
      guard let result = await self.load(place)?.result, result.status == 200,
        let later = try? HLSPlaylistDocument(parsing: String(buffer: result.body))
      else { continue }
      self.facts.reloadSpan = (StreamClock.system.now() - start).seconds
      guard later != media else { continue }
      self.note(media.violations(ofLater: later))
      self.facts.hasAdvanced = later.isEnded || later.lastNumber ?? 0 > media.lastNumber ?? 0
      if self.facts.hasAdvanced { return }
    }
  }
}
