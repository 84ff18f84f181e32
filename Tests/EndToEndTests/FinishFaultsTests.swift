import Containers
import FaultyDisk
import Foundation
import NIOCore
import Testing

extension EndToEnd {
  /// A recording that a kill has cut off, larger than the 16 MiB up to which media data are copied, and finished many times by
  /// the program itself.
  @Suite("Recording: faults while a large file is finished in place")
  struct FinishFaults {
    /// A recording that is not finished.
    private struct Recording {
      let path: String
      /// Number of its samples, all of which are on the disk.
      let sampleCount: Int
    }

    /// Size of the file when its recorder is killed; its last fragment, of up to 5 MB, may be torn.
    private static let byteCount = 24_000_000
    /// Number of copies of the recording that exist at once.
    private static let batch = 12

    private static func record(to path: String) async throws -> Recording {
      let child = try ChildProcess(
        VidiconProcess.path(),
        ["record", path, "--json", "--source", "noise", "--audio", "tone", "--size", "1280x720", "--fps", "10"]
          + ["--bitrate", "40M"])
      defer { child.kill() }
      func size() -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
      }
      for await _ in child.output.pieces {
        if size() > Self.byteCount { break }
      }
      child.kill()
      let exit = await child.end(within: MachineShare.timeout(.seconds(5)))
      #expect(exit == .signal(SIGKILL), "\(child.errors.text)")
      // A torn fragment, which is cut off in place.
      let file = try FileHandle(forUpdating: URL(filePath: path))
      try file.truncate(atOffset: UInt64(size() - 100_000))
      try file.close()
      let samples = try #require(try Self.samples(path))
      try #require(!samples.isFinished && samples.count > 100, "\(samples)")
      return Recording(path: path, sampleCount: samples.count)
    }

    private static func bytes(_ path: String) throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    private static func samples(_ path: String) throws -> RecordedSamples? { RecordedSamples(try Self.bytes(path)) }

    /// Number of packets that another demuxer finds.
    private static func packetCount(_ path: String) async throws -> Int {
      let run = try await Tool.run(
        "ffprobe",
        ["-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path],
        within: .seconds(20))
      #expect(run.succeeded && run.errors == "", "\(path): \(run.errors)")
      return run.outputText.split(separator: "\n").compactMap { Int($0.trimmingCharacters(in: [",", " "])) }.reduce(
        0, +)
    }

    /// Repairs files on a working disk, and expects all samples in finished files, and no other file beside them.
    ///
    /// - Parameter mayKeepOriginal: Whether the file may count as damaged, so that it is kept beside the finished one.
    private static func expectRepair(
      _ folders: [String], of recording: Recording, mayKeepOriginal: Bool = false
    ) async throws {
      let paths = folders.map { "\($0)/out.mp4" }
      let run = try await VidiconProcess.run(["repair"] + paths)
      #expect(run.exit == .status(0) && run.errors == "", "\(run.errors)")
      for folder in folders {
        let samples = try Self.samples("\(folder)/out.mp4")
        #expect(samples?.isFinished == true && samples?.count == recording.sampleCount, "\(folder): \(samples as Any)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(
          names == ["out.mp4"] || mayKeepOriginal && names == ["out.damaged.mp4", "out.mp4"], "\(folder): \(names)")
      }
    }

    /// Finishes the recording without a fault.
    ///
    /// - Returns: The calls.
    private static func finish(_ recording: Recording, on disk: FaultyDisk) async throws -> [DiskCall] {
      let path = "\(disk.root)/plain/out.mp4"
      try FileManager.default.createDirectory(atPath: "\(disk.root)/plain", withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: recording.path, toPath: path)
      let run = try await VidiconProcess.run(["repair", path], environment: disk.environment())
      try #require(run.exit == .status(0) && run.errors == "", "\(run.errors)")
      let types = try MP4Box.boxes(in: ByteBuffer(bytes: Self.bytes(path))).map(\.type)
      try #require(types == ["ftyp", "mdat", "moov", "free", "uuid"], "\(types)")
      #expect(try await Self.packetCount(path) == recording.sampleCount)
      return try disk.journal()
    }

    @Test(.tags(.demanding)) func `whichever call fails, is short or is the last one, no sample is lost`() async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let recording = try await Self.record(to: "\(folder)/recording.mp4")
        let disk = FaultyDisk(root: "\(folder)/disk", journalPath: "\(folder)/journal")
        let calls = try await Self.finish(recording, on: disk)
        let counts = calls.compactMap(\.faultName).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        // The index, the size and the header; no copy, whose file would be created and renamed.
        try #require(Set(counts.keys) == ["read", "write", "sync", "truncate"], "\(counts)")
        #expect(counts["write"] == 3 && counts["sync"] == 2 && counts["truncate"] == 1, "\(counts)")
        let quiet = FaultyDisk(root: disk.root)
        var faults: [String] = []
        for (name, count) in counts {
          for number in 1...count {
            // A read that fails once is repeated.
            faults.append(
              name == "read"
                ? number % 2 == 0 ? "read-\(number)+-EIO" : "read-\(number)-short" : "\(name)-\(number)-EIO")
            if name == "write" { faults += ["write-\(number)-short", "write-\(number)+-ENOSPC"] }
          }
        }
        for start in stride(from: 0, to: faults.count, by: Self.batch) {
          try await Self.fail(Array(faults[start...].prefix(Self.batch)), on: quiet, recording)
        }
        for name in ["write", "sync", "truncate"] {
          for number in 1...(counts[name] ?? 1) { try await Self.kill("\(name)-\(number)-kill", on: quiet, recording) }
        }
        try await Self.losePower(calls, in: "\(folder)/lost", recording)
      }
    }

    /// Finishes a copy for each fault, all in one run of the program, and repairs them.
    private static func fail(_ faults: [String], on disk: FaultyDisk, _ recording: Recording) async throws {
      let folders = faults.map { "\(disk.root)/\($0)" }
      for folder in folders {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: recording.path, toPath: "\(folder)/out.mp4")
      }
      let run = try await VidiconProcess.run(
        ["repair"] + folders.map { "\($0)/out.mp4" }, environment: disk.environment())
      let lines = run.errors.split(separator: "\n")
      let failing = faults.filter { !$0.hasSuffix("short") }
      #expect(run.exit == .status(failing.isEmpty ? 0 : 1), "\(faults): \(lines)")
      #expect(lines.count == failing.count, "\(faults): \(lines)")
      for (fault, folder) in zip(faults, folders) {
        #expect(lines.contains { $0.contains("\(folder)/") } == failing.contains(fault), "\(fault): \(lines)")
        let samples = try Self.samples("\(folder)/out.mp4")
        #expect(samples?.count == recording.sampleCount, "\(fault): \(samples as Any)")
        #expect(samples?.isFinished == true || failing.contains(fault), "\(fault)")
        guard !fault.hasPrefix("read") else { continue }
        // Another demuxer also finds some of a torn fragment.
        #expect(try await Self.packetCount("\(folder)/out.mp4") >= recording.sampleCount, "\(fault)")
      }
      try await Self.expectRepair(folders, of: recording)
      for folder in folders { try FileManager.default.removeItem(atPath: folder) }
    }

    /// Kills the program in a call while it finishes a copy, and repairs that.
    private static func kill(_ fault: String, on disk: FaultyDisk, _ recording: Recording) async throws {
      let folder = "\(disk.root)/\(fault)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try FileManager.default.copyItem(atPath: recording.path, toPath: "\(folder)/out.mp4")
      let run = try await VidiconProcess.run(["repair", "\(folder)/out.mp4"], environment: disk.environment())
      #expect(run.exit == .signal(SIGKILL), "\(fault): \(run.errors)")
      #expect(try await Self.packetCount("\(folder)/out.mp4") >= recording.sampleCount, "\(fault)")
      try await Self.expectRepair([folder], of: recording)
      try FileManager.default.removeItem(atPath: folder)
    }

    /// Judges the files that a power loss or a kill at each call can leave, of whose unsynchronized pages any survive.
    private static func losePower(_ calls: [DiskCall], in folder: String, _ recording: Recording) async throws {
      let path = try #require(calls.first { $0.kind == .write }?.path)
      var replay = DiskReplay()
      replay.add(path, inode: try #require(calls.first { $0.kind == .write }).inode, content: try bytes(recording.path))
      var count = 0
      // Half of the header, which no disk leaves of eight bytes in one sector, is damage.
      var isHeaderPending = false
      func judge(_ images: [DiskReplay.Image], _ name: String) async throws {
        var folders: [String] = []
        for image in images {
          count += 1
          let place = "\(folder)/\(count)"
          try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
          let bytes = try #require(image[path])
          try Data(bytes).write(to: URL(filePath: "\(place)/out.mp4"))
          let samples = RecordedSamples(bytes)
          #expect(samples?.count == recording.sampleCount, "\(name): \(samples as Any)")
          folders.append(place)
        }
        try await Self.expectRepair(folders, of: recording, mayKeepOriginal: isHeaderPending)
        for folder in folders { try FileManager.default.removeItem(atPath: folder) }
      }
      for call in calls where call.path == path && call.kind != .read && call.kind != .open {
        try await judge(replay.killedImages(in: call), "killed in \(call.kind) at \(call.offset)")
        try await judge(replay.lostPowerImages, "power lost before \(call.kind) at \(call.offset)")
        replay.perform(call)
        isHeaderPending = call.kind == .write && call.offset < 32
      }
      #expect(try replay.cachedImage[path] == Self.bytes(path), "the calls are all that changed the file")
      try await judge(replay.lostPowerImages, "power lost at the end")
      #expect(count > 30, "\(count)")
    }
  }
}
