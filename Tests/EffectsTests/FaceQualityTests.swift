import Foundation
import Media
import Testing

@testable import Effects

/// Short excerpts of what `Benchmarks/run faces privacy` measures on whole films.
@Suite("Quality of face tracking and privacy", .serialized)
struct FaceQualityTests {
  /// A face's center in a frame, labeled by hand.
  private struct Label {
    var frame: Int
    var center: SIMD2<Float>
    var width: Float

    static func all() throws -> [Label] {
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "Labels/WolfgangLanger_Pexels.csv")
      return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
        let numbers = line.split(separator: ",").compactMap { Float($0) }
        return numbers.count == 4
          ? Label(frame: Int(numbers[0]), center: SIMD2(numbers[1], numbers[2]), width: numbers[3]) : nil
      }
    }
  }

  @Test(arguments: [22..<46, 388..<404])
  func `a mask stays on the face while the head moves`(frames: Range<Int>) throws {
    let labels = try Label.all()
    #expect(labels.count == 60)
    var errors: [Float] = []
    try FaceTrackerTests.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, frames: frames) {
      index, frame in
      guard let label = labels.first(where: { $0.frame == index }) else { return }
      let face = try #require(frame.metadata.faces.first)
      let offset = FaceOutline(face, .face).center - label.center
      errors.append((offset * offset).sum().squareRoot() / label.width)
    }
    #expect(errors.count >= 8 && errors.allSatisfy { $0 <= 0.08 })
  }

  @Test(arguments: [8..<24, 86..<96]) func `a face that cries does not smile`(frames: Range<Int>) throws {
    try FaceTrackerTests.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, frames: frames) { index, frame in
      #expect(frame.metadata.faces.map(\.isSmiling) == [false], "frame \(index)")
    }
  }

  /// Composed frames of a woman's face, 110 to 206 pixels wide, and rooms.
  private static func film(_ faces: String, frames: Int, _ body: (Int, EffectFrame) throws -> Void) throws {
    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    let chain = EffectChain([tracker, try PrivacyMask(models: FaceModels())])
    let woman =
      "movie=\(RealImage.path("WolfgangLanger_Pexels.mp4")):seek_point=8.5,crop=320:360:270:0,setpts=N/30/TB"
    try RealImage.forEach(
      "no_face.mp4", width: 1280, height: 720,
      filter: "setpts=N/30/TB[back];\(woman)[face];\(faces.replacing("FACE", with: "[face]"))"
    ) { index, buffer in
      guard index < frames else { return false }
      let time = MediaTime(ticks: Int64(index), timescale: 30)
      var frame = EffectFrame(buffer: buffer, timestamp: time, budget: .seconds(10))
      #expect(chain.process(&frame, now: { .zero }).reports == [])
      try body(index, frame)
      return true
    }
  }

  @Test
  func `a small face that enters at the edge is hidden from its first complete frame`()
    throws
  {
    var entered: Int?
    try Self.film("FACEscale=172:-2[small];[back][small]overlay=x='-172+n*24':y=300", frames: 57) { index, frame in
      if frame.metadata.faceEvents.contains(where: { $0.kind == .entered }) { entered = entered ?? index }
      let place = SIMD2(-172 + index * 24 + 86, 300 + 96)
      guard (100..<1180).contains(place.x) else { return }
      #expect(DrawingTests.sample(frame.buffer, 0, place.x, place.y) == 40)
    }
    #expect((3...16).contains(entered ?? -1))
  }

  @Test func `faces that cross are both hidden, and keep their identifiers`() throws {
    var ids: Set<Int> = []
    let two =
      "FACEsplit[one][two];[two]hflip[other];[back][one]overlay=x='100+n*28':y=120[first];"
      + "[first][other]overlay=x='860-n*28':y=200"
    try Self.film(two, frames: 26) { index, frame in
      ids.formUnion(frame.metadata.faces.map(\.id))
      for place in [SIMD2(100 + index * 28 + 160, 310), SIMD2(860 - index * 28 + 160, 390)] {
        #expect(DrawingTests.sample(frame.buffer, 0, place.x, place.y) == 40)
      }
    }
    // The face that was behind may get a new identifier.
    #expect((2...3).contains(ids.count))
  }

  @Test func `only faces are reported where the privacy mask lowers the threshold`() throws {
    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    try RealImage.forEach("bigbuckbunny.mp4", width: 1280, height: 720) { index, buffer in
      var frame = EffectFrame(
        buffer: buffer, timestamp: MediaTime(ticks: Int64(index), timescale: 25), budget: .seconds(10))
      let verdict = try tracker.process(&frame)
      #expect(verdict == .keep)
      #expect(frame.metadata.faces.isEmpty)
      return index < 12
    }
  }

  @Test func `an uncertain face is hidden but not reported`() {
    var tracks = FaceTracks()
    var candidate = FaceTracksTests.candidate(200, 200)
    candidate.score = 0.4
    for index in 0..<6 {
      let time = MediaTime(ticks: Int64(index), timescale: 30)
      tracks.see([candidate], at: time)
      for (index, _) in tracks.plan(units: 4, at: time) {
        tracks.update(index, FaceTracksTests.mesh(200, 200), at: time)
      }
      let (faces, possible, events) = tracks.finish(at: time)
      #expect(faces.isEmpty && possible.count == 1 && events.isEmpty)
    }
    // Once the detector was certain, the candidate is a face.
    candidate.score = 0.7
    let time = MediaTime(ticks: 6, timescale: 30)
    tracks.see([candidate], at: time)
    for (index, _) in tracks.plan(units: 4, at: time) {
      tracks.update(index, FaceTracksTests.mesh(200, 200), at: time)
    }
    let (faces, possible, events) = tracks.finish(at: time)
    #expect(faces.count == 1 && possible.isEmpty && events.map(\.kind) == [.entered])
  }
}
