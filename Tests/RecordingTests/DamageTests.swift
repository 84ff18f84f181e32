import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Recording

@Suite("Damaged recordings")
struct DamageTests {
  private let stream: EncodedStream

  init() throws { self.stream = try EncodedStream.shared.get() }

  /// Bytes of an unfinished file of some seconds, and the ranges of its fragments, `moof` and `mdat`.
  private func openFile(seconds: Double) async throws -> (bytes: Data, fragments: [Range<Int>]) {
    let bytes = try await self.stream.unfinishedFile(seconds: seconds)
    var starts: [Int] = []
    var offset = 0
    while offset < bytes.count {
      if bytes[offset + 4..<offset + 8] == Data("moof".utf8) { starts.append(offset) }
      offset += bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    return (bytes, zip(starts, starts.dropFirst() + [bytes.count]).map { $0..<$1 })
  }

  /// Repairs bytes, and returns the result with the frames that the repaired file shows.
  private func repair(_ bytes: Data) async throws -> (FinishedRecording, frames: [Int]) {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try bytes.write(to: URL(filePath: path))
      guard case .finished(let finished) = try await Recordings.repair(path) else {
        throw VidiconError(.failed, subject: path, cause: "not finished", nextStep: "")
      }
      if finished.damage.isEmpty {
        #expect(names(in: folder) == ["out.mp4"] && finished.original == nil)
      } else {
        #expect(names(in: folder) == ["out.damaged.mp4", "out.mp4"])
        #expect(finished.original == "\(folder)/out.damaged.mp4")
        #expect(try Data(contentsOf: URL(filePath: "\(folder)/out.damaged.mp4")) == bytes)
      }
      #expect(try await Recordings.repair(path) == .wasFinished(path: path))
      #expect(await Recordings.repairAll(in: folder) == [], "the damaged file is not repaired again")
      return (finished, try Self.shown.frames(of: path))
    }
  }

  /// Frames that repaired files show. Damage at different places has equal results, which are decoded once.
  private final class Shown: Sendable {
    private let frames = Mutex<[Data: [Int]]>([:])

    func frames(of path: String) throws -> [Int] {
      let bytes = try Data(contentsOf: URL(filePath: path))
      if let known = self.frames.withLock({ $0[bytes] }) { return known }
      let frames = try Tools.play(path).frames.map(\.number)
      self.frames.withLock { $0[bytes] = frames }
      return frames
    }
  }

  private static let shown = Shown()

  @Test func `four damaged bytes in the fourth fragment cost one second of ten`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 10)
    try #require(fragments.count == 10)
    let whole = Array(0..<300)
    let third = fragments[3]
    // Sizes and types of boxes, sequence number, track, time, counts.
    for offset in stride(from: 0, to: 120, by: 16) {
      var damaged = bytes
      for index in 0..<4 { damaged[third.lowerBound + offset + index] ^= 0xA5 }
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames.count >= 270, "offset \(offset): \(frames.count) frames")
      #expect(
        frames.filter { !(90..<120).contains($0) } == whole.filter { !(90..<120).contains($0) }, "offset \(offset)")
      if frames.count == 270 {
        #expect(finished.damage.count == 1)
        #expect(finished.damage.first?.offset == third.lowerBound && finished.lostByteCount == third.count)
        let lost = try #require(finished.damage.first?.lostDuration)
        #expect(abs(lost.seconds - 1) < 0.05)
        // The lost time stays in the timeline, so that audio and video stay together.
        #expect(abs(finished.duration.seconds - 10) < 0.05)
      }
    }
  }

  @Test func `a damaged header of the media data loses nothing`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 4)
    let data = try #require(bytes.range(of: Data("mdat".utf8), in: fragments[1])).lowerBound - 4
    for index in 0..<8 {
      var damaged = bytes
      damaged[data + index] ^= 0xFF
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames == Array(0..<120))
      #expect(finished.damage == [.init(offset: data, byteCount: 8, lostDuration: .zero)])
    }
  }

  @Test func `overwritten, removed and inserted blocks cost the fragments that they touch`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 8)
    let middle = fragments[2].lowerBound + 100..<fragments[4].lowerBound + 200
    for (name, change) in [
      ("zeros", { $0.replaceSubrange(middle, with: Data(count: middle.count)) }),
      ("removed", { $0.removeSubrange(middle) }),
      ("inserted", { $0.insert(contentsOf: Data(repeating: 0x6D, count: 9999), at: fragments[3].lowerBound) }),
      (
        "two places",
        {
          $0[fragments[1].lowerBound + 5] = 0; $0[fragments[6].lowerBound + 5] = 0
        }
      ),
    ] as [(String, (inout Data) -> Void)] {
      var damaged = bytes
      change(&damaged)
      let (finished, frames) = try await self.repair(damaged)
      let lost: [Range<Int>] =
        switch name {
        case "inserted": []
        case "two places": [30..<60, 180..<210]
        default: [60..<150]
        }
      #expect(frames == (0..<240).filter { frame in !lost.contains { $0.contains(frame) } }, "\(name)")
      #expect(finished.damage.count == (name == "two places" ? 2 : 1), "\(name)")
    }
  }

  @Test func `a damaged head costs no fragment, wherever the damage is`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 3)
    let head = fragments[0].lowerBound
    let reserve = try #require(bytes.range(of: Data("free".utf8))).upperBound
    let seed: UInt64 = 2
    var generator = SplitMix(seed: seed)
    // The headers of the boxes that hold all others, and any other bytes.
    let moov = reserve + 8
    let offsets = [0, 3, 4, reserve - 8, reserve - 4, moov, moov + 4, moov + 8, moov + 12, head - 1]
    for offset in offsets + (0..<30).map({ _ in Int.random(in: 0..<head, using: &generator) }) {
      var damaged = bytes
      let range = offset..<min(head, offset + Int.random(in: 1...4, using: &generator))
      for index in range { damaged[index] ^= UInt8.random(in: 1...255, using: &generator) }
      // A size is written there while a file is finished in place.
      let isSeen = range.contains { !(reserve..<moov).contains($0) }
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames == Array(0..<90), "seed \(seed), bytes \(range)")
      #expect(finished.damage.count == (isSeen ? 1 : 0), "seed \(seed), bytes \(range)")
      guard let damage = finished.damage.first else { continue }
      #expect(range.contains(damage.offset) && damage.byteCount <= range.count && damage.lostDuration == .zero)
    }
  }

  @Test func `a head that is overwritten, moved or lost costs what the damage touches`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 3)
    let head = fragments[0].lowerBound
    let block = head + 1000
    try #require(fragments[0].contains(block))
    for (name, lost, change) in [
      ("overwritten", 0, { $0.replaceSubrange(0..<head, with: Data(repeating: 0xE5, count: head)) }),
      ("moved", 0, { $0.insert(contentsOf: Data(count: 777), at: 300) }),
      ("shortened", 0, { $0.removeSubrange(300..<500) }),
      ("lost", 0, { $0.removeSubrange(0..<head) }),
      ("lost with the first fragment's tables", 30, { $0.replaceSubrange(0..<block, with: Data(count: block)) }),
    ] as [(String, Int, (inout Data) -> Void)] {
      var damaged = Data(bytes)
      change(&damaged)
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames == Array(lost..<90), "\(name): \(frames.count) frames")
      // Without a byte of the head there is no damaged byte.
      #expect(finished.damage.count == (name == "lost" ? 0 : 1), "\(name)")
      let seconds = finished.damage.first?.lostDuration?.seconds ?? 0
      #expect(abs(seconds - Double(lost) / 30) < 0.05, "\(name): \(seconds) s")
    }
  }

  @Test func `a large finished file whose index is damaged or cut off is finished again`() async throws {
    let (bytes, _) = try await self.openFile(seconds: 3)
    let plain = try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try bytes.write(to: URL(filePath: path))
      _ = try UnfinishedRecording(path, isRequested: true).repair(maximumCopiedByteCount: 0)
      return try Data(contentsOf: URL(filePath: path))
    }
    try #require(plain.count > bytes.count)
    for (name, change) in [
      ("cut off", { $0.removeLast($0.count - bytes.count - 40) }), ("cut in it", { $0.removeLast(300) }),
      ("damaged", { $0[bytes.count + 5] ^= 0xFF }),
    ] as [(String, (inout Data) -> Void)] {
      var damaged = plain
      change(&damaged)
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames == Array(0..<90), "\(name)")
      #expect(!finished.damage.isEmpty, "\(name)")
    }
  }

  @Test func `with a damaged head, and a copy of it that is damaged too, a file is unchanged`() async throws {
    let (bytes, _) = try await self.openFile(seconds: 2)
    let copy = try #require(bytes.range(of: Data("vidicon.headcopy".utf8))).upperBound
    for (name, change) in [
      ("checksum", { $0[copy] ^= 1 }), ("content", { $0[copy + 100] ^= 1 }),
      ("cut off", { $0.removeSubrange(copy...) }),
    ] as [(String, (inout Data) -> Void)] {
      var damaged = bytes
      change(&damaged)
      // The type of moov.
      damaged[try #require(bytes.range(of: Data("moov".utf8))).lowerBound] ^= 0xFF
      let file = damaged
      try await withTemporaryFolder { folder in
        let path = "\(folder)/out.mp4"
        try file.write(to: URL(filePath: path))
        let error = await #expect(throws: VidiconError.self) { try await Recordings.repair(path) }
        #expect(error?.code == .invalidData, "\(name)")
        #expect(error?.description.contains("nothing was changed") == true, "\(name): \(error!)")
        #expect(try Data(contentsOf: URL(filePath: path)) == file)
        #expect(names(in: folder) == ["out.mp4"])
      }
    }
  }

  @Test func `a damaged copy of the head loses nothing`() async throws {
    let (bytes, _) = try await self.openFile(seconds: 3)
    let copy = try #require(bytes.range(of: Data("vidicon.headcopy".utf8))).lowerBound
    for offset in [-8, -4, 0, 16, 20, 400] {
      var damaged = bytes
      damaged[copy + offset] ^= 0xFF
      let (finished, frames) = try await self.repair(damaged)
      #expect(frames == Array(0..<90), "offset \(offset)")
      #expect(finished.damage.map(\.lostDuration) == [.zero], "offset \(offset)")
    }
  }

  @Test func `no byte that is wrong costs a fragment that it is not part of`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 3)
    let seed: UInt64 = 1
    var generator = SplitMix(seed: seed)
    for _ in 0..<20 {
      var damaged = bytes
      let offset = Int.random(in: fragments[1], using: &generator)
      let bits = UInt8.random(in: 1...255, using: &generator)
      damaged[offset] ^= bits
      let place = "seed \(seed), byte \(offset - fragments[1].lowerBound), bits \(bits)"
      let (finished, frames) = try await self.repairTables(damaged)
      #expect(frames == 60 || frames == 90, "\(place): \(frames) frames")
      #expect(finished.lostByteCount == 0 || fragments[1].contains(finished.damage.first?.offset ?? 0), "\(place)")
    }
  }

  /// Repairs as ``repair(_:)`` does, and counts the frames in the tables: decoders report damaged media data.
  private func repairTables(_ bytes: Data) async throws -> (FinishedRecording, frames: Int) {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try bytes.write(to: URL(filePath: path))
      guard case .finished(let finished) = try await Recordings.repair(path) else {
        throw VidiconError(.failed, subject: path, cause: "not finished", nextStep: "")
      }
      return (finished, try Tools.packetCount(path, "v:0"))
    }
  }

  @Test(arguments: [
    "frag_keyframe+empty_moov", "frag_keyframe+empty_moov+default_base_moof", "cmaf", "dash+global_sidx",
    "frag_keyframe+empty_moov+default_base_moof+omit_tfhd_offset+separate_moof",
  ])
  func `fragmented files of other programs are left alone, whole and cut`(layout: String) async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/foreign.mp4"
      let make = try Tools.run(
        "ffmpeg",
        [
          "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3", "-c:v",
          "libx264", "-bf", "2", "-g", "25", "-c:a", "aac", "-movflags", layout, path,
        ])
      try #require(make.status == 0, "\(make.errors)")
      let whole = try Data(contentsOf: URL(filePath: path))
      // Within the head, behind it, and within and behind a fragment.
      for count in [whole.count, 200, 1500, 6000, whole.count * 2 / 3, whole.count - 10] where count <= whole.count {
        let bytes = whole.prefix(count)
        try bytes.write(to: URL(filePath: path))
        let error = await #expect(throws: VidiconError.self, "\(count)") { try await Recordings.repair(path) }
        #expect(error?.code == .invalidData)
        let text = "\(error!)"
        let isLeftAlone = text.contains("is not a recording of vidicon; nothing was changed")
        #expect(count < 2000 || isLeftAlone, "\(count): \(text)")
        #expect(!text.contains("remove it"), "\(count): \(text)")
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["foreign.mp4"])
      }
    }
  }

  @Test(arguments: ["title=Vidicon", "comment=vidicon: recorded", "title=vidicon: this recording is not finished"])
  func `a foreign file whose texts name this program is left alone`(tag: String) async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/foreign.mp4"
      let make = try Tools.run(
        "ffmpeg",
        [
          "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=3", "-c:v", "libx264", "-g", "25", "-metadata",
          tag,
          "-movflags", "frag_keyframe+empty_moov+default_base_moof", path,
        ])
      try #require(make.status == 0, "\(make.errors)")
      let whole = try Data(contentsOf: URL(filePath: path))
      for count in [whole.count, whole.count * 2 / 3] {
        let bytes = whole.prefix(count)
        try bytes.write(to: URL(filePath: path))
        let error = await #expect(throws: VidiconError.self, "\(count)") { try await Recordings.repair(path) }
        #expect(error?.description.contains("is not a recording of vidicon; nothing was changed") == true, "\(count)")
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
      }
    }
  }

  @Test func `the original of a damaged file is kept, however many there are`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 3)
    var damaged = bytes
    damaged[fragments[1].lowerBound + 4] ^= 0xFF
    try await withTemporaryFolder { folder in
      for number in 1...120 {
        let name = number == 1 ? "out.damaged.mp4" : "out.damaged-\(number).mp4"
        try Data().write(to: URL(filePath: "\(folder)/\(name)"))
      }
      let path = "\(folder)/out.mp4"
      try damaged.write(to: URL(filePath: path))
      _ = try await Recordings.repair(path)
      #expect(try Data(contentsOf: URL(filePath: "\(folder)/out.damaged-121.mp4")) == damaged)
    }
  }

  @Test func `recordings of earlier versions, without an identity or a marker, are finished`() async throws {
    let (bytes, fragments) = try await self.openFile(seconds: 3)
    let head = bytes.prefix(fragments[0].lowerBound)
    let moovEnd = try #require(head.range(of: Data("moov".utf8))).lowerBound - 4
    let moovLength = head[moovEnd..<moovEnd + 4].reduce(0) { $0 << 8 | Int($1) }
    let marker = moovEnd + moovLength
    let identity = marker + head[marker..<marker + 4].reduce(0) { $0 << 8 | Int($1) }
    for kept in [marker, identity] {
      var old = head.prefix(kept) + bytes.dropFirst(head.count)
      #expect(try await self.repair(old).frames == Array(0..<90))
      old[kept + (fragments[1].lowerBound - head.count) + 4] ^= 0xFF
      #expect(try await self.repair(old).frames == Array(0..<30) + Array(60..<90))
    }
  }

  @Test func `a file that the disk cannot read is not truncated`() async throws {
    let (bytes, _) = try await self.openFile(seconds: 2)
    let descriptor = try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      try bytes.write(to: URL(filePath: path))
      // A file that becomes shorter while it is read behaves as one with unreadable blocks.
      return try FileDescriptor(path, O_WRONLY)
    }
    let finalizer = RecordingFinalizer(file: descriptor, folder: descriptor, name: "out.mp4")
    let error = #expect(throws: VidiconError.self) { _ = try finalizer.scan() }
    #expect(error?.code == .failed && error?.description.contains("nothing was changed") == true)
  }
}
