import Authentication
import Testing

@testable import ControlAPI

@Suite("Memory of uploads")
struct ImageUploadsTests {
  private let uploads = ImageUploads()
  private let stranger = IPAddress(parsing: "192.0.2.7")
  private let owner = IPAddress(parsing: "192.0.2.8")

  @Test func `an address uploads one image at a time, another address is not disturbed`() throws {
    let first = try self.uploads.start(from: self.stranger, length: 1000)
    #expect(throws: ImageUploads.Refusal.busy) { try self.uploads.start(from: self.stranger, length: 1000) }
    let second = try self.uploads.start(from: self.owner, length: 500)
    #expect(self.uploads.byteCount == 3000)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `the end of an upload releases its memory and its address`() throws {
    do {
      let upload = try self.uploads.start(from: self.stranger, length: 1000)
      #expect(upload.reserve(5000))
      #expect(self.uploads.byteCount == 7000)
    }
    #expect(self.uploads.byteCount == 0)
    _ = try self.uploads.start(from: self.stranger, length: 1000)
  }

  @Test(arguments: [(nil, 16 << 20), (1 << 40, 16 << 20), (-1, 0)] as [(Int?, Int)])
  func `an upload of unknown length counts as one of the maximum length`(length: Int?, byteCount: Int) throws {
    let upload = try self.uploads.start(from: self.owner, length: length)
    #expect(self.uploads.byteCount == byteCount)
    withExtendedLifetime(upload) {}
  }

  @Test func `the memory of all uploads has a limit`() throws {
    var uploads: [ImageUploads.Upload] = []
    for host in UInt32(0)..<17 { uploads.append(try self.uploads.start(from: .v4(host), length: nil)) }
    #expect(self.uploads.byteCount == ImageUploads.maximumBytes)
    #expect(throws: ImageUploads.Refusal.full) { try self.uploads.start(from: self.stranger, length: 1) }
    #expect(!uploads[0].reserve(1))
    uploads.removeLast()
    #expect(uploads[0].reserve(16 << 20))
    #expect(!uploads[0].reserve(1))
  }

  @Test func `the largest image fits alone`() throws {
    let upload = try self.uploads.start(from: self.owner, length: nil)
    #expect(upload.reserve(16 * (16 << 20)))
  }
}
