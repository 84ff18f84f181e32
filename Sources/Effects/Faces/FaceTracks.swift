internal import Media

/// The faces of a stream: which of those found in one frame is which of those in the frames before. Pure: time comes in
/// as an argument, and models are run by others.
struct FaceTracks {
  /// How long a face is still shown after it was last seen.
  static let showing = MediaDuration.milliseconds(300)
  /// How long it is remembered.
  static let remembering = MediaDuration.milliseconds(1500)
  /// Maximum number of faces at a time; those found later are left out.
  static let limit = 32

  private(set) var tracks: [FaceTrack] = []
  private var nextID = 1
  /// What was last reported each face.
  private var reported: [Int: Reported] = [:]

  private struct Reported {
    var isSmiling = false
    var closedSince: MediaTime?
    var box: Face.Box
  }

  /// A face to look for: its place in ``tracks``, and whether to look at its eyes as well.
  typealias Turn = (index: Int, isFine: Bool)

  // Memory that stays from frame to frame.
  private var pairs: [(distance: Float, track: Int, candidate: Int)] = []
  private var knownTracks: [Bool] = []
  private var knownCandidates: [Bool] = []
  private var order: [Int] = []
  private var turns: [Turn] = []
  private var faces: [Face] = []
  private var possible: [Face] = []

  /// A detector has looked at a part of the frame that was taken at `time`.
  mutating func see(_ candidates: [FaceCandidate], at time: MediaTime) {
    self.pairs.removeAll(keepingCapacity: true)
    Self.reset(&self.knownTracks, self.tracks.count)
    Self.reset(&self.knownCandidates, candidates.count)
    for index in self.tracks.indices {
      let track = self.tracks[index]
      let center = track.center(at: time)
      for other in candidates.indices {
        let candidate = candidates[other]
        let (offset, size) = (candidate.center - center, max(track.size, candidate.size.max()))
        let distance = (offset * offset).sum().squareRoot() / size
        // Who was lost may have gone further; but a box belongs to who is there rather than to who is behind.
        let isLost = track.missCount > 0 || track.isHidden
        if distance < (isLost ? 0.9 : 0.5) { self.pairs.append((distance + (isLost ? 0.3 : 0), index, other)) }
      }
    }
    while let pair = self.nearestPair {
      self.knownTracks[pair.track] = true
      self.knownCandidates[pair.candidate] = true
      self.tracks[pair.track].find(candidates[pair.candidate], at: time)
    }
    // A second candidate upon a face that is known is the same face.
    for pair in self.pairs where !self.tracks[pair.track].isHidden { self.knownCandidates[pair.candidate] = true }
    for index in candidates.indices where !self.knownCandidates[index] && self.tracks.count < Self.limit {
      self.tracks.append(FaceTrack(id: self.nextID, candidates[index], at: time))
      self.nextID += 1
    }
  }

  /// Of those pairs of which neither is known, the one with the least distance.
  private var nearestPair: (distance: Float, track: Int, candidate: Int)? {
    var nearest: (distance: Float, track: Int, candidate: Int)?
    for pair in self.pairs where !self.knownTracks[pair.track] && !self.knownCandidates[pair.candidate] {
      if pair.distance < nearest?.distance ?? .infinity { nearest = pair }
    }
    return nearest
  }

  private static func reset(_ values: inout [Bool], _ count: Int) {
    values.removeAll(keepingCapacity: true)
    for _ in 0..<count { values.append(false) }
  }

  /// Which faces to look for in this frame, and of which to look at the eyes as well.
  ///
  /// One mesh of few points costs 1, one of many costs 3 more. With many faces each has its turn less often; those that no
  /// mesh has confirmed yet come first.
  ///
  /// - Parameter units: What may be spent: 4 are all that is of use, less than 1 are 1. With two faces it may be one more,
  ///   so that both are looked for each time.
  mutating func plan(units: Int, at time: MediaTime) -> [Turn] {
    self.order.removeAll(keepingCapacity: true)
    for index in self.tracks.indices where self.tracks[index].isVisible { self.insert(index) }
    let count = self.order.count
    var fine: Int?
    var hasNew = false
    for index in self.order {
      hasNew = hasNew || self.tracks[index].points.isEmpty
      guard self.isFineDue(index, of: count, at: time) else { continue }
      if fine.map({ self.fineAge(index) < self.fineAge($0) }) ?? true { fine = index }
    }
    if units < 4 || hasNew { fine = nil }

    self.turns.removeAll(keepingCapacity: true)
    var rest = max(1, units)
    if let fine {
      self.turns.append((fine, true))
      rest = count <= 2 ? 1 : units - 4
    }
    for index in self.order where index != fine && rest > 0 {
      self.turns.append((index, false))
      rest -= 1
    }
    return self.turns
  }

  /// Puts a face into ``order``, behind those that were looked for longer ago.
  private mutating func insert(_ index: Int) {
    func age(_ index: Int) -> Int64 { self.tracks[index].triedTime?.nanoseconds ?? .min }
    var place = self.order.count
    while place > 0, age(self.order[place - 1]) > age(index) { place -= 1 }
    self.order.insert(index, at: place)
  }

  private func fineAge(_ index: Int) -> Int64 { self.tracks[index].fineTime?.nanoseconds ?? .min }

  /// Eyes are looked at in every third frame of 30 a second, with several faces in turn.
  private func isFineDue(_ index: Int, of count: Int, at time: MediaTime) -> Bool {
    guard let last = self.tracks[index].fineTime else { return true }
    return time - last >= .milliseconds(Int64(max(1, count)) * 90)
  }

  /// Where to look for a face's mesh.
  func region(of index: Int, at time: MediaTime) -> FaceRegion {
    let track = self.tracks[index]
    var region = track.region
    // A face that was not looked for in the last frames has gone on.
    region.center += track.center(at: time) - track.center(at: track.triedTime ?? time)
    return region
  }

  /// The mesh of few points was looked for.
  mutating func update(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    let before = self.tracks[index].withoutPoints
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
        self.tracks[other].hide()
      }
      return
    }
  }

  /// The mesh of many points was looked for.
  mutating func updateEyes(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    self.tracks[index].updateEyes(mesh, at: time)
  }

  /// Frames of another size come: a face in them is new.
  mutating func forget() { self.tracks = [] }

  /// The faces of a frame, after all that was planned is done; and what has happened to them.
  mutating func finish(at time: MediaTime) -> (faces: [Face], possible: [Face], events: [FaceEvent]) {
    self.tracks.removeAll { track in
      // What no mesh confirms was no face.
      if !track.isConfirmed { return track.missCount >= 2 || track.isHidden || time - track.seenTime > Self.showing }
      return time - track.seenTime > Self.remembering
    }
    var events: [FaceEvent] = []
    // Who keeps the faces of the frame before has their memory, and these get other.
    self.faces.removeAll(keepingCapacity: true)
    self.possible.removeAll(keepingCapacity: true)
    for index in self.tracks.indices {
      let face = self.tracks[index].face(at: time)
      guard self.tracks[index].isConfirmed, time - self.tracks[index].seenTime <= Self.showing else {
        self.possible.append(face)
        continue
      }
      self.faces.append(face)
      self.report(face, self.tracks[index].eyes.areBothClosed, at: time, &events)
    }
    for (id, reported) in self.reported where !self.tracks.contains(where: { $0.id == id }) {
      events.append(FaceEvent(.left, face: id, time: time, box: reported.box))
      self.reported[id] = nil
    }
    return (self.faces, self.possible, events)
  }

  private mutating func report(_ face: Face, _ areEyesClosed: Bool, at time: MediaTime, _ events: inout [FaceEvent]) {
    func report(_ kind: FaceEvent.Kind) { events.append(FaceEvent(kind, face: face.id, time: time, box: face.box)) }
    if self.reported[face.id] == nil { report(.entered) }
    var reported = self.reported[face.id] ?? Reported(box: face.box)
    reported.box = face.box
    if face.isSmiling, !reported.isSmiling { report(.smile) }
    reported.isSmiling = face.isSmiling
    if areEyesClosed {
      reported.closedSince = reported.closedSince ?? time
    } else if !face.leftEyeClosed, !face.rightEyeClosed, let since = reported.closedSince {
      // Longer is no blink: the eyes were closed.
      if time - since <= .milliseconds(500) { report(.blink) }
      reported.closedSince = nil
    }
    self.reported[face.id] = reported
  }
}
