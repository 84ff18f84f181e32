import Foundation
import Media
import Testing

@testable import Effects

/// Short parts of what `Benchmarks/run faces privacy` measures on whole films.
@Suite("How well faces are followed and hidden", .serialized)
struct FaceQualityTests {
  /// A face's middle in a frame, as somebody has read it off.
  private struct Label {
    var picture: Int
    var center: SIMD2<Float>
    var width: Float

    static func all() throws -> [Label] {
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "Labels/WolfgangLanger_Pexels.csv")
      return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
        let numbers = line.split(separator: ",").compactMap { Float($0) }
        return numbers.count == 4
          ? Label(picture: Int(numbers[0]), center: SIMD2(numbers[1], numbers[2]), width: numbers[3]) : nil
      }
    }
  }

  @Test(arguments: [22..<46, 388..<404])
  func `a mask lies where the face is while the head moves`(pictures: Range<Int>) throws {
    let labels = try Label.all()
    #expect(labels.count == 60)
    var errors: [Float] = []
    try FaceTrackerTests.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, pictures: pictures) {
      index, frame in
      guard let label = labels.first(where: { $0.picture == index }) else { return }
      let face = try #require(frame.metadata.faces.first)
      let offset = FaceOutline(face, .face).center - label.center
      errors.append((offset * offset).sum().squareRoot() / label.width)
    }
    #expect(errors.count >= 8 && errors.allSatisfy { $0 <= 0.08 })
  }

  @Test(arguments: [8..<24, 86..<96]) func `who cries with closed eyes does not smile`(pictures: Range<Int>) throws {
    try FaceTrackerTests.track("WolfgangLanger_Pexels.mp4", width: 640, height: 360, pictures: pictures) { _, frame in
      #expect(frame.metadata.faces.allSatisfy { !$0.isSmiling })
    }
  }

  /// Frames put together of a woman's face and rooms, 110 to 206 pixels wide.
  private static func film(_ faces: String, pictures: Int, _ body: (Int, EffectFrame) throws -> Void) throws {
    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    let chain = EffectChain([tracker, PrivacyMask()])
    let woman =
      "movie=\(RealImage.path("WolfgangLanger_Pexels.mp4")):seek_point=8.5,crop=320:360:270:0,setpts=N/30/TB"
    try RealImage.forEach(
      "no_face.mp4", width: 1280, height: 720,
      filter: "setpts=N/30/TB[back];\(woman)[face];\(faces.replacing("FACE", with: "[face]"))"
    ) { index, picture in
      guard index < pictures else { return false }
      let time = MediaTime(ticks: Int64(index), timescale: 30)
      var frame = EffectFrame(buffer: picture, timestamp: time, budget: .seconds(10))
      #expect(chain.process(&frame, now: { .zero }).reports == [])
      try body(index, frame)
      return true
    }
  }

  @Test
  func `a small face that enters at the edge is hidden from its first whole frame on`()
    throws
  {
    var entered: Int?
    try Self.film("FACEscale=172:-2[small];[back][small]overlay=x='-172+n*24':y=300", pictures: 57) { index, frame in
      if frame.metadata.faceEvents.contains(where: { $0.kind == .entered }) { entered = entered ?? index }
      let place = SIMD2(-172 + index * 24 + 86, 300 + 96)
      guard (100..<1180).contains(place.x) else { return }
      #expect(DrawingTests.sample(frame.buffer, 0, place.x, place.y) == 40)
    }
    #expect((3...16).contains(entered ?? -1))
  }

  @Test func `faces that cross are both hidden, and keep their numbers`() throws {
    var ids: Set<Int> = []
    let two =
      "FACEsplit[one][two];[two]hflip[other];[back][one]overlay=x='100+n*28':y=120[first];"
      + "[first][other]overlay=x='860-n*28':y=200"
    try Self.film(two, pictures: 26) { index, frame in
      ids.formUnion(frame.metadata.faces.map(\.id))
      for place in [SIMD2(100 + index * 28 + 160, 310), SIMD2(860 - index * 28 + 160, 390)] {
        #expect(DrawingTests.sample(frame.buffer, 0, place.x, place.y) == 40)
      }
    }
    // Who was behind the other one may be new afterwards.
    #expect((2...3).contains(ids.count))
  }

  @Test func `nothing but faces is told where the privacy mask looks more closely`() throws {
    let tracker = try FaceTracker(settings: .init(detection: .everyFrame))
    try RealImage.forEach("bigbuckbunny.mp4", width: 1280, height: 720) { index, picture in
      var frame = EffectFrame(
        buffer: picture, timestamp: MediaTime(ticks: Int64(index), timescale: 25), budget: .seconds(10))
      #expect(tracker.process(&frame) == .keep)
      #expect(frame.metadata.faces.isEmpty)
      return index < 12
    }
  }

  @Test func `what is not sure to be a face is hidden, but not told`() {
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
    // Once a detector was sure, it is one.
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
