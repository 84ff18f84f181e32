internal import Media

/// Associates the faces found in a frame with those of the previous frames. Pure: time is an argument, and callers run
/// the models.
struct FaceTracks {
  /// Time for which a face is reported after it was last seen.
  static let reportRetention = MediaDuration.milliseconds(300)
  /// Time for which a lost face can be found again.
  static let trackRetention = MediaDuration.milliseconds(1500)
  /// Maximum number of tracked faces; further ones are ignored.
  static let limit = 32

  private(set) var tracks: [FaceTrack] = []
  private var nextID = 1
  /// State of each face in the last report.
  private var reported: [Int: Reported] = [:]

  private struct Reported {
    var isSmiling = false
    var closedSince: MediaTime?
    var box: Face.Box
  }

  /// A face to compute a mesh for: its index in ``tracks``, and whether to compute the larger mesh for its eyes.
  typealias Turn = (index: Int, isFine: Bool)

  // Memory that is reused from frame to frame.
  private var pairs: [(distance: Float, track: Int, candidate: Int)] = []
  private var knownTracks: [Bool] = []
  private var knownCandidates: [Bool] = []
  private var order: [Int] = []
  private var turns: [Turn] = []
  private var faces: [Face] = []
  private var possible: [Face] = []

  /// Updates the tracks with the candidates of an area of the frame captured at `time`.
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
        // A lost face may have moved further; the penalty prefers a visible face for the candidate.
        let isLost = track.missCount > 0 || track.isHidden
        if distance < (isLost ? 0.9 : 0.5) { self.pairs.append((distance + (isLost ? 0.3 : 0), index, other)) }
      }
    }
    while let pair = self.nearestPair {
      self.knownTracks[pair.track] = true
      self.knownCandidates[pair.candidate] = true
      self.tracks[pair.track].find(candidates[pair.candidate], at: time)
    }
    // A second candidate on a known face is the same face.
    for pair in self.pairs where !self.tracks[pair.track].isHidden { self.knownCandidates[pair.candidate] = true }
    for index in candidates.indices where !self.knownCandidates[index] && self.tracks.count < Self.limit {
      self.tracks.append(FaceTrack(id: self.nextID, candidates[index], at: time))
      self.nextID += 1
    }
  }

  /// The pair with the minimum distance of which neither side is matched yet.
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

  /// Selects the faces whose meshes are computed in this frame, and those with precise eyes.
  ///
  /// The smaller mesh costs 1 unit, the larger one 3 more. Many faces take turns; unconfirmed ones come first.
  ///
  /// - Parameter units: Budget: more than 4 have no use, less than 1 counts as 1. With two faces one more may be used,
  ///   so that both are tracked in every frame.
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

  /// Inserts a face into ``order``, after those whose last mesh is older.
  private mutating func insert(_ index: Int) {
    func age(_ index: Int) -> Int64 { self.tracks[index].triedTime?.nanoseconds ?? .min }
    var place = self.order.count
    while place > 0, age(self.order[place - 1]) > age(index) { place -= 1 }
    self.order.insert(index, at: place)
  }

  private func fineAge(_ index: Int) -> Int64 { self.tracks[index].fineTime?.nanoseconds ?? .min }

  /// Whether precise eyes are due: in every third frame at 30 per second, with several faces in turn.
  private func isFineDue(_ index: Int, of count: Int, at time: MediaTime) -> Bool {
    guard let last = self.tracks[index].fineTime else { return true }
    return time - last >= .milliseconds(Int64(max(1, count)) * 90)
  }

  /// Region in which to compute a face's mesh.
  func region(of index: Int, at time: MediaTime) -> FaceRegion {
    let track = self.tracks[index]
    var region = track.region
    // Without a mesh in the last frames, the position is extrapolated.
    region.center += track.center(at: time) - track.center(at: track.triedTime ?? time)
    return region
  }

  /// Updates a face with its smaller mesh.
  mutating func update(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    let before = self.tracks[index].withoutPoints
    self.tracks[index].update(mesh, at: time)
    guard self.tracks[index].missCount == 0 else { return }
    // Two tracks at one face: the track that jumped there is taken for a face hidden behind it.
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

  /// Updates a face with its larger mesh.
  mutating func updateEyes(_ index: Int, _ mesh: FaceMesh, at time: MediaTime) {
    self.tracks[index].updateEyes(mesh, at: time)
  }

  /// Drops all tracks: frames have another size.
  mutating func forget() { self.tracks = [] }

  /// The faces of a frame and their events, after the planned meshes were computed.
  mutating func finish(at time: MediaTime) -> (faces: [Face], possible: [Face], events: [FaceEvent]) {
    self.tracks.removeAll { track in
      // A detection that no mesh confirms was not a face.
      if !track.isConfirmed {
        return track.missCount >= 2 || track.isHidden || time - track.seenTime > Self.reportRetention
      }
      return time - track.seenTime > Self.trackRetention
    }
    var events: [FaceEvent] = []
    // A caller that retained the previous frame's faces keeps their memory, and new memory is allocated.
    self.faces.removeAll(keepingCapacity: true)
    self.possible.removeAll(keepingCapacity: true)
    for index in self.tracks.indices {
      let face = self.tracks[index].face(at: time)
      guard self.tracks[index].isConfirmed, time - self.tracks[index].seenTime <= Self.reportRetention else {
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
      // A longer closing is not a blink.
      if time - since <= .milliseconds(500) { report(.blink) }
      reported.closedSince = nil
    }
    self.reported[face.id] = reported
  }
}
