internal import Media

/// The faces of a stream: which of those found in one picture is which of those in the pictures before. Pure: time comes in
/// as an argument, and nets are run by others.
struct FaceTracks {
  /// How long a face is still shown after it was last seen.
  static let showing = MediaDuration.milliseconds(300)
  /// How long it is remembered.
  static let remembering = MediaDuration.milliseconds(1500)
  /// The most faces at a time; those found later are left out.
  static let limit = 32

  private(set) var tracks: [FaceTrack] = []
  private var nextID = 1
  /// What was last told of each face.
  private var told: [Int: Told] = [:]

  private struct Told {
    var isSmiling = false
    var closedSince: MediaTime?
    var box: Face.Box
  }

  /// A detector has looked at a part of the picture that was taken at `time`.
  mutating func see(_ candidates: [FaceCandidate], at time: MediaTime) {
    var pairs: [(distance: Float, track: Int, candidate: Int)] = []
    for (index, track) in self.tracks.enumerated() {
      let center = track.center(at: time)
      for (other, candidate) in candidates.enumerated() {
        let (offset, size) = (candidate.center - center, max(track.size, candidate.size.max()))
        let distance = (offset * offset).sum().squareRoot() / size
        // Who was lost may have gone further; but a box belongs to who is there rather than to who is behind.
        let isLost = track.missCount > 0 || track.isHidden
        if distance < (isLost ? 0.9 : 0.5) { pairs.append((distance + (isLost ? 0.3 : 0), index, other)) }
      }
    }
    var (knownTracks, knownCandidates) = (Set<Int>(), Set<Int>())
    for pair in pairs.sorted(by: { $0.distance < $1.distance })
    where !knownTracks.contains(pair.track) && !knownCandidates.contains(pair.candidate) {
      knownTracks.insert(pair.track)
      knownCandidates.insert(pair.candidate)
      self.tracks[pair.track].find(candidates[pair.candidate], at: time)
    }
    // A second candidate upon a face that is known is the same face.
    let doubtful = Set(pairs.filter { !self.tracks[$0.track].isHidden }.map(\.candidate))
    for (index, candidate) in candidates.enumerated()
    where !knownCandidates.contains(index) && !doubtful.contains(index) && self.tracks.count < Self.limit {
      self.tracks.append(FaceTrack(id: self.nextID, candidate, at: time))
      self.nextID += 1
    }
  }

  /// Which faces to look for in this picture, and of which to look at the eyes as well.
  ///
  /// One mesh of few points costs 1, one of many costs 3 more. With many faces each has its turn less often; those that no
  /// mesh has confirmed yet come first.
  ///
  /// - Parameter units: What may be spent: 4 are all that is of use, less than 1 are 1. With two faces it may be one more,
  ///   so that both are looked for each time.
  func plan(units: Int, at time: MediaTime) -> [(index: Int, isFine: Bool)] {
    let visible = self.tracks.indices.filter { self.tracks[$0].isVisible }
    func age(_ index: Int) -> Int64 { self.tracks[index].triedTime?.nanoseconds ?? .min }
    var order = visible.sorted { (age($0), $0) < (age($1), $1) }
    let hasNew = order.contains { !self.tracks[$0].isConfirmed }
    let due = order.filter { self.isFineDue($0, of: visible.count, at: time) }
    guard units >= 4, !hasNew, let fine = due.min(by: { self.fineAge($0) < self.fineAge($1) }) else {
      return order.prefix(max(1, units)).map { ($0, false) }
    }
    order.removeAll { $0 == fine }
    return [(fine, true)] + order.prefix(visible.count <= 2 ? 1 : units - 4).map { ($0, false) }
  }

  private func fineAge(_ index: Int) -> Int64 { self.tracks[index].fineTime?.nanoseconds ?? .min }

  /// Eyes are looked at in every third picture of 30 a second, with several faces in turn.
  private func isFineDue(_ index: Int, of count: Int, at time: MediaTime) -> Bool {
    guard let last = self.tracks[index].fineTime else { return true }
    return time - last >= .milliseconds(Int64(max(1, count)) * 90)
  }

  /// Where to look for a face's mesh.
  func region(of index: Int, at time: MediaTime) -> FaceRegion {
    var region = self.tracks[index].region
    // A face that was not looked for in the last pictures has gone on.
    let track = self.tracks[index]
    region.center += track.center(at: time) - track.center(at: track.triedTime ?? time)
    return region
  }

  /// The mesh of few points was looked for.
  mutating func update(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    let before = self.tracks[index]
    self.tracks[index].update(mesh, at: time)
    guard self.tracks[index].missCount == 0 else { return }
    // Two upon one face: the one that has jumped there is hidden behind it.
    for other in self.tracks.indices where other != index && self.tracks[other].isVisible {
      let (own, theirs) = (self.tracks[index], self.tracks[other])
      let offset = own.center(at: time) - theirs.center(at: time)
      guard theirs.isConfirmed, (offset * offset).sum().squareRoot() < 0.3 * max(own.size, theirs.size) else {
        continue
      }
      if !before.isConfirmed || own.surprise >= theirs.surprise {
        self.tracks[index].hide(as: before)
      } else {
        self.tracks[other].hide(as: theirs)
      }
      return
    }
  }

  /// The mesh of many points was looked for.
  mutating func updateEyes(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    self.tracks[index].updateEyes(mesh, at: time)
  }

  /// Pictures of another size come: whoever is in them is new.
  mutating func forget() { self.tracks = [] }

  /// The faces of a picture, after all that was planned is done; and what has happened to them.
  mutating func finish(at time: MediaTime) -> (faces: [Face], possible: [Face], events: [FaceEvent]) {
    self.tracks.removeAll { track in
      // What no mesh confirms was no face.
      if !track.isConfirmed { return track.missCount >= 2 || track.isHidden || time - track.seenTime > Self.showing }
      return time - track.seenTime > Self.remembering
    }
    var events: [FaceEvent] = []
    var (faces, possible) = ([Face](), [Face]())
    for track in self.tracks {
      let face = track.face(at: time)
      guard track.isConfirmed, time - track.seenTime <= Self.showing else {
        possible.append(face)
        continue
      }
      faces.append(face)
      self.tell(face, track.eyes.areBothClosed, at: time, &events)
    }
    let known = Set(self.tracks.map(\.id))
    for (id, told) in self.told where !known.contains(id) {
      events.append(FaceEvent(.left, face: id, time: time, box: told.box))
      self.told[id] = nil
    }
    return (faces, possible, events)
  }

  private mutating func tell(_ face: Face, _ areEyesClosed: Bool, at time: MediaTime, _ events: inout [FaceEvent]) {
    func tell(_ kind: FaceEvent.Kind) { events.append(FaceEvent(kind, face: face.id, time: time, box: face.box)) }
    if self.told[face.id] == nil { tell(.entered) }
    var told = self.told[face.id] ?? Told(box: face.box)
    told.box = face.box
    if face.isSmiling, !told.isSmiling { tell(.smile) }
    told.isSmiling = face.isSmiling
    if areEyesClosed {
      told.closedSince = told.closedSince ?? time
    } else if !face.leftEyeClosed, !face.rightEyeClosed, let since = told.closedSince {
      // Longer is no blink: the eyes were closed.
      if time - since <= .milliseconds(500) { tell(.blink) }
      told.closedSince = nil
    }
    self.told[face.id] = told
  }
}
