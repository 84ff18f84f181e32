import FaultyDisk
import Foundation
import Media
import TestSupport
import Testing
import Threading

@testable import Recording

@Suite("Names that no other file has, on disks that lack calls")
struct ExclusiveNameTests {
  /// Disks by the calls that they lack: FAT and exFAT, SMB, a directory that counts no links, 9P and NFS under FUSE, old kernels.
  static let disks = [
    "plain", "link-1+-EPERM", "link-1+-EOPNOTSUPP", "link-1+-EMLINK", "link-1+-EPERM,noreplace-1+-EINVAL",
    "link-1+-ENOSYS,noreplace-1+-ENOSYS",
  ]

  private func probe(_ arguments: [String], on disk: FaultyDisk) throws -> [Substring] {
    let variables = try disk.environment().map { "\($0)=\($1)" }
    let run = try Tools.run("env", variables + [BuiltProgram("RecordingProbe").url.path] + arguments)
    return run.text.split(separator: "\n")
  }

  @Test func `a file gets a free name and never the name of another file`() async throws {
    try await withTemporaryFolder { folder in
      let (file, taken, free) = ("\(folder)/file", "\(folder)/taken", "\(folder)/free")
      try Data("file".utf8).write(to: URL(filePath: file))
      try Data("taken".utf8).write(to: URL(filePath: taken))
      #expect(ExclusiveName.give(taken, to: file) == .taken)
      #expect(try Data(contentsOf: URL(filePath: taken)) == Data("taken".utf8))
      #expect([.linked, .renamed].contains(ExclusiveName.give(free, to: file)))
      #expect(try Data(contentsOf: URL(filePath: free)) == Data("file".utf8))
      #expect(ExclusiveName.give("\(folder)/other", to: "\(folder)/none") == .failed(ENOENT))
      #expect(!names(in: folder).contains("other"))
    }
  }

  @Test(arguments: Self.disks)
  func `snapshots of one second are two whole files, with nothing beside them`(fault: String) async throws {
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      let path = "\(disk.root)/\(fault)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let lines = try self.probe(["snapshot", path], on: disk)
      #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("saved ") }, "\(lines)")
      #expect(Set(lines).count == 2 && names(in: path).count == 2, "\(lines), \(names(in: path))")
      for (index, line) in lines.enumerated() {
        let bytes = try Data(contentsOf: URL(filePath: String(line.dropFirst(6))))
        #expect(bytes == Data("snapshot \(index + 1)".utf8))
      }
    }
  }

  @Test(arguments: ["create-1+-EROFS", "write-1+-EROFS", "limit-4-EFBIG", "link-1+-EROFS"])
  func `a snapshot that cannot be written leaves nothing and says why`(fault: String) async throws {
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      let path = "\(disk.root)/\(fault)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      let lines = try self.probe(["snapshot", path], on: disk)
      let code = fault.hasPrefix("limit") ? "noSpace" : "notPermitted"
      #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("refused \(code) ") }, "\(lines)")
      #expect(names(in: path) == [])
    }
  }

  @Test(arguments: Self.disks) func `a damaged file is repaired, and the original is kept`(fault: String) async throws {
    var damaged = try await EncodedStream.shared.get().unfinishedFile(seconds: 4)
    let second = try #require(damaged.range(of: Data("moof".utf8))).upperBound
    let moof = try #require(damaged.range(of: Data("moof".utf8), in: second..<damaged.endIndex))
    damaged[moof.lowerBound] ^= 0xFF
    try await withTemporaryFolder { folder in
      let disk = FaultyDisk(root: "\(folder)/disk")
      let path = "\(disk.root)/\(fault)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try damaged.write(to: URL(filePath: "\(path)/out.mp4"))
      try Data("another".utf8).write(to: URL(filePath: "\(path)/out.damaged.mp4"))
      let lines = try self.probe(["repair", "\(path)/out.mp4"], on: disk)
      #expect(lines.last?.hasPrefix("repaired") == true, "\(lines)")
      #expect(names(in: path) == ["out.damaged-2.mp4", "out.damaged.mp4", "out.mp4"])
      #expect(try Data(contentsOf: URL(filePath: "\(path)/out.damaged-2.mp4")) == damaged)
      #expect(try Data(contentsOf: URL(filePath: "\(path)/out.damaged.mp4")) == Data("another".utf8))
      #expect(try RecordedSamples([UInt8](Data(contentsOf: URL(filePath: "\(path)/out.mp4"))))?.isFinished == true)
    }
  }
}
