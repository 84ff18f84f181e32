import Media
import Testing

@testable import Effects

@Suite("Schedule of a complete search")
struct PrivacyScheduleTests {
  /// Frames of which everything changes, at 30 per second.
  private struct Dialogue {
    /// Each run searches one cell.
    var schedule = PrivacySchedule(
      isImmediate: [true] + Array(repeating: false, count: 30), runs: (0...30).map { [$0] })
    var number = 0

    mutating func add(completes: Bool = false, isChanged: Bool = true) -> PrivacySchedule.Batch {
      self.number += 1
      return self.schedule.add(
        number: self.number, time: MediaTime(ticks: Int64(self.number), timescale: 30), completes: completes
      ) { _, _ in isChanged }
    }

    mutating func released(completes: Bool = false) -> [(number: Int, uncertain: [Int])] {
      var frames: [(number: Int, uncertain: [Int])] = []
      while let frame = self.schedule.release(completes: completes) { frames.append(frame) }
      return frames
    }
  }

  @Test func `the work of a round is spread evenly, and the immediate part runs for each frame`() {
    var dialogue = Dialogue()
    var counts: [Int] = []
    var numbers: [Int] = []
    for _ in 0..<12 {
      let batch = dialogue.add()
      #expect(batch.runs.first == 0 && Set(batch.runs).count == batch.runs.count)
      counts.append(batch.requiredCount)
      dialogue.schedule.finish(batch.runs.prefix(batch.requiredCount))
      for frame in dialogue.released() {
        #expect(frame.uncertain == [])
        numbers.append(frame.number)
      }
    }
    #expect(counts.allSatisfy { $0 == 11 }, "\(counts)")
    #expect(numbers == Array(1...10))
  }

  @Test func `what was not searched in a round is uncertain`() {
    var dialogue = Dialogue()
    for _ in 0..<2 {
      #expect(!dialogue.add().runs.isEmpty)
      #expect(dialogue.released().isEmpty)
    }
    _ = dialogue.add()
    dialogue.schedule.finish([1, 2, 3])
    let released = dialogue.released()
    #expect(released.map(\.number) == [1])
    #expect(released.first?.uncertain == [0] + Array(4...30))
  }

  @Test func `an unchanged frame owes nothing for a second, and old tiles are searched before`() {
    var dialogue = Dialogue()
    let first = dialogue.add(completes: true)
    #expect(first.requiredCount == 31)
    dialogue.schedule.finish(first.runs)
    #expect(dialogue.released(completes: true).map(\.number) == [1])
    var runs = 0
    for _ in 0..<60 {
      let batch = dialogue.add(isChanged: false)
      #expect(batch.requiredCount == 0)
      runs += batch.runs.count
      dialogue.schedule.finish(batch.runs)
      #expect(dialogue.released().count == 1)
    }
    #expect((60...130).contains(runs))
    // Without these searches they are due after a second.
    for _ in 0..<40 { _ = dialogue.add(isChanged: false) }
    #expect(dialogue.schedule.held.last?.pendingCountForTests == 31)
  }

  @Test func `a frame that is to be shown at once has all of its search required`() {
    var dialogue = Dialogue()
    _ = dialogue.add()
    let batch = dialogue.add(completes: true)
    #expect(batch.requiredCount == 31)
    dialogue.schedule.finish(batch.runs)
    // The immediate part of the first frame did not run.
    let released = dialogue.released(completes: true)
    #expect(released.map(\.number) == [1, 2] && released.map(\.uncertain) == [[0], []])
    dialogue.schedule.reset()
    #expect(dialogue.schedule.held.isEmpty && dialogue.schedule.searched.allSatisfy { $0 == nil })
  }
}

extension PrivacySchedule.Held {
  fileprivate var pendingCountForTests: Int { self.pendingCells.count { $0 } }
}

@Suite("Layout of a complete search")
struct PrivacyLayoutTests {
  @Test(arguments: [(1280, 720), (1920, 1080), (720, 1280), (4096, 2160), (640, 360), (64, 48), (2, 2), (4096, 100)])
  func `each place is searched in each direction at each size`(width: Int, height: Int) {
    let layout = PrivacyLayout(width: width, height: height)
    let levels = Dictionary(grouping: layout.probes) { "\($0.model) \($0.tile.side) \($0.orientation)" }
    for probes in levels.values {
      let (tiles, side) = (probes.map(\.tile), probes[0].tile.side)
      // Beyond the edges too, for half faces; the model for near faces sees them without.
      let excess = probes[0].model == .shortRangeDetector ? 0 : side / 12
      for place in [
        SIMD2(-excess, -excess), SIMD2(layout.width - 1 + excess, -excess), SIMD2(-excess, layout.height - 1 + excess),
        SIMD2(layout.width / 2, layout.height / 2), SIMD2(layout.width - 1 + excess, layout.height - 1 + excess),
      ] {
        #expect(
          tiles.contains {
            ($0.x...$0.x + $0.side).contains(place.x) && ($0.y...$0.y + $0.side).contains(place.y)
          }, "\(place) of \(layout.width) × \(layout.height) in tiles of \(side)")
      }
      #expect(tiles.allSatisfy { $0.x % 2 == 0 && $0.y % 2 == 0 })
      // The cells of a size share the frame, and each is searched by a tile.
      let cells = Set(probes.flatMap(\.cells)).map { layout.cells[$0] }
      #expect(cells.reduce(0) { $0 + $1.core.x.count * $1.core.y.count } == layout.width * layout.height)
    }
    #expect(levels.count % 4 == 0)
    #expect(Set(layout.probes.flatMap(\.cells)).count == layout.cells.count)
    // Immediate: one model for near faces, and the largest tiles, upright.
    #expect(
      layout.probes.filter { $0.cells.contains { layout.cells[$0].isImmediate } }.allSatisfy { $0.orientation == .up })
  }

  @Test(arguments: [(1280, 720), (1920, 1080), (720, 1280), (4096, 2160), (640, 360), (4096, 100)])
  func `a tile contains its cells with a margin, and exceeds the frame where they are at its edge`(
    width: Int, height: Int
  ) {
    let layout = PrivacyLayout(width: width, height: height)
    for probe in layout.probes where probe.model == .fullRangeDetector {
      let (tile, face) = (probe.tile, probe.tile.side * 10 / 75)
      for cell in probe.cells.map({ layout.cells[$0] }) {
        for (core, length, start) in [(cell.core.x, layout.width, tile.x), (cell.core.y, layout.height, tile.y)] {
          // Half of the smallest face, whose center is at the cell's border, and something around it.
          let before = core.lowerBound == 0 ? tile.side / 12 : face * 6 / 10
          let after = core.upperBound == length ? tile.side / 12 : face * 6 / 10
          #expect(core.lowerBound - before >= start && core.upperBound + after <= start + tile.side)
        }
        #expect(cell.reach.x.lowerBound <= max(0, cell.core.x.lowerBound - face / 2 + 1))
        #expect(cell.cover.x.upperBound >= min(layout.width, cell.core.x.upperBound + tile.side / 5))
      }
    }
  }

  @Test func `a complete search needs the tiles of a grid, a changed area few of them`() {
    let layout = PrivacyLayout(width: 1280, height: 720)
    func schedule() -> PrivacySchedule {
      PrivacySchedule(
        isImmediate: layout.cells.map(\.isImmediate), runs: layout.probes.map(\.cells))
    }
    var complete = schedule()
    let all = complete.add(number: 1, time: .zero, completes: true) { _, _ in true }
    #expect(all.runs.count == layout.completeCount && layout.completeCount == 4 + 4 * (2 + 18))
    #expect(Set(all.runs.flatMap { layout.probes[$0].cells }).count == layout.cells.count)
    complete.finish(all.runs)
    #expect(complete.release(completes: true)?.uncertain == [])
    // A quarter of a tile in the corner of four tiles of the grid.
    let changed = complete.add(number: 2, time: MediaTime(ticks: 1, timescale: 30), completes: true) { cell, _ in
      let reach = layout.cells[cell].reach
      return reach.x.overlaps(370..<440) && reach.y.overlaps(120..<190)
    }
    let small = changed.runs.prefix(changed.requiredCount).filter { layout.probes[$0].tile.side == 192 }
    #expect(small.count == 4)
  }

  @Test func `the smallest face is 25 pixels wide for the detector, and fits into the overlap of two tiles`() {
    let layout = PrivacyLayout(width: 1280, height: 720)
    #expect(layout.probes.map(\.tile.side).min() == 192 && layout.minimumFace > 25)
    // Smaller faces cost more.
    #expect(PrivacyLayout(width: 1280, height: 720, minimumFace: 0.0275).completeCount > 200)
    // The promise is of the shorter side: a frame that stands has as many runs as one that lies.
    let standing = PrivacyLayout(width: 720, height: 1280)
    #expect(abs(standing.minimumFace * standing.scale.x - 39.6) < 0.5 && standing.completeCount == layout.completeCount)
  }
}

@Suite("Changes of a frame, by block")
struct FrameChangesTests {
  @Test func `noise is no change, a face is one, and so is a slow change`() {
    var changes = FrameChanges(width: 32, height: 16)
    var luma = [UInt8](repeating: 100, count: 32 * 16)
    changes.add(luma, stride: 32)
    #expect(changes.changes.allSatisfy { $0 == 1 } && changes.changes.count == 32)
    for index in luma.indices { luma[index] = index % 2 == 0 ? 98 : 102 }
    changes.add(luma, stride: 32)
    #expect(changes.changes.allSatisfy { $0 == 1 })
    for y in 4..<8 { for x in 4..<8 { luma[y * 32 + x] = 110 } }
    changes.add(luma, stride: 32)
    #expect(changes.changes[8 + 1] == 3 && changes.changes.count { $0 == 3 } == 1)
    for step in 0..<4 {
      for index in luma.indices { luma[index] = UInt8(100 - step) }
      changes.add(luma, stride: 32)
    }
    #expect(changes.changes[0] == 7)
  }
}

@Suite("Covers over candidates")
struct PrivacyCoversTests {
  private static func time(_ milliseconds: Int64) -> MediaTime { MediaTime(ticks: milliseconds, timescale: 1000) }

  private func isCovered(_ covers: PrivacyCovers, _ x: Float, _ y: Float, at milliseconds: Int64) -> Bool {
    guard let boxes = covers.boxes(at: Self.time(milliseconds)) else { return true }
    return boxes.contains { $0.low.x <= x && x <= $0.high.x && $0.low.y <= y && y <= $0.high.y }
  }

  @Test func `each candidate is covered, also a small one on a large one, from the start of its round on`() {
    var covers = PrivacyCovers(minimumFace: 20)
    let faces = [
      FaceCandidateTests.candidate(100, 100, side: 80), FaceCandidateTests.candidate(130, 160, side: 24),
      FaceCandidateTests.candidate(400, 100, side: 30, score: 0.31),
    ]
    covers.add(faces, at: Self.time(100), from: Self.time(34))
    for time: Int64 in [34, 67, 100, 1300] {
      #expect(self.isCovered(covers, 100, 100, at: time) && self.isCovered(covers, 135, 175, at: time))
      #expect(self.isCovered(covers, 400, 100, at: time))
    }
    #expect(!self.isCovered(covers, 100, 100, at: 33) && !self.isCovered(covers, 300, 300, at: 100))
    #expect(!self.isCovered(covers, 400, 100, at: 1400) && self.isCovered(covers, 100, 100, at: 1400))
    #expect(!self.isCovered(covers, 100, 100, at: 1700))
  }

  @Test func `five hundred faces are all covered, more than can be handled cover the whole frame`() {
    var covers = PrivacyCovers(minimumFace: 20)
    covers.add((0..<500).map { FaceCandidateTests.candidate(Float($0) * 200, 0, side: 30) }, at: .zero, from: .zero)
    #expect(covers.boxes(at: .zero)?.count == 500)
    covers.add(
      (0..<1000).map { FaceCandidateTests.candidate(Float($0) * 200, 900, side: 30) }, at: .zero, from: .zero)
    #expect(covers.boxes(at: .zero) == nil && covers.boxes(at: Self.time(1400)) == nil)
    covers.reset()
    #expect(covers.boxes(at: .zero) == [])
  }

  @Test func `many faces that are smaller than promised cover the whole frame, a few only themselves`() {
    var covers = PrivacyCovers(minimumFace: 20)
    func small(_ count: Int) -> [FaceCandidate] {
      (0..<count).map { FaceCandidateTests.candidate(Float($0) * 50, 0, side: 12) }
    }
    covers.add(small(3) + small(3), at: .zero, from: .zero)
    #expect(covers.boxes(at: .zero)?.isEmpty == false)
    covers.add(small(4), at: .zero, from: .zero)
    #expect(covers.boxes(at: .zero) == nil)
  }

  @Test func `the cover of a moving face follows it, and covers its way`() {
    var covers = PrivacyCovers(minimumFace: 20)
    for step: Int64 in 0..<10 {
      let place = FaceCandidateTests.candidate(100 + Float(step) * 20, 100, side: 60)
      covers.add([place], at: Self.time(step * 100), from: Self.time(max(0, step * 100 - 66)))
    }
    #expect(self.isCovered(covers, 280, 100, at: 900) && self.isCovered(covers, 250, 100, at: 850))
    #expect(!self.isCovered(covers, 100, 100, at: 900))
  }

  @Test
  func `unlikely candidates continue a face up to twice its size, and their chain does not grow or shrink further`() {
    var covers = PrivacyCovers(minimumFace: 20)
    covers.add([FaceCandidateTests.candidate(100, 100, side: 40, score: 0.7)], at: .zero, from: .zero)
    // Each is less than twice as large as the one before.
    let sides: [(side: Float, continues: Bool)] = [
      (55, true), (70, true), (90, false), (50, true), (26, true), (19, false),
    ]
    for (step, (side, continues)) in sides.enumerated() {
      let (time, unlikely) = (
        Self.time(33 * Int64(step + 1)), FaceCandidateTests.candidate(100, 100, side: side, score: 0.3)
      )
      #expect(covers.sightings(ofFaceContinuedBy: unlikely, at: time) == (continues ? 1 : 0), "\(side)")
      if continues { covers.add([unlikely], at: time, from: time) }
    }
  }

  @Test func `a face is known by the frames in which it was likely, however many candidates each had`() {
    var covers = PrivacyCovers(minimumFace: 20)
    func candidate(_ x: Float, score: Float) -> FaceCandidate {
      FaceCandidateTests.candidate(x, 100, side: 40, score: score)
    }
    for (step, scores) in [[0.3], [0.8, 0.7, 0.3], [0.3], [0.6, 0.9], [0.3]].enumerated() {
      let time = Self.time(33 * Int64(step))
      #expect(covers.sightings(ofFaceContinuedBy: candidate(104, score: 0.3), at: time) == [0, 0, 1, 1, 2][step])
      covers.add(scores.map { candidate(100 + 10 * Float($0), score: Float($0)) }, at: time, from: time)
    }
    #expect(covers.sightings(ofFaceContinuedBy: candidate(104, score: 0.3), at: Self.time(150)) == 2)
    #expect(covers.sightings(ofFaceContinuedBy: candidate(150, score: 0.3), at: Self.time(150)) == 0)
    // One that moves leaves covers behind; what was likely most often counts.
    covers.reset()
    for (step, x) in [Float(100), 120, 130].enumerated() {
      covers.add([candidate(x, score: 0.8)], at: Self.time(33 * Int64(step)), from: Self.time(33 * Int64(step)))
    }
    #expect(covers.sightings(ofFaceContinuedBy: candidate(130, score: 0.3), at: Self.time(99)) == 3)
  }

  @Test func `a candidate at no place covers the whole frame`() {
    var covers = PrivacyCovers(minimumFace: 20)
    covers.add([FaceCandidateTests.candidate(.nan, 0, side: 30)], at: .zero, from: .zero)
    #expect(covers.boxes(at: .zero) == nil)
  }
}
