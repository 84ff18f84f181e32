internal import ControlAPI
internal import HTTPServer
internal import Media
internal import NIOCore
internal import StreamControl

/// Checks of request bodies that change a stream.
struct ControlFuzzCase {
  private let body: ByteBuffer

  init(_ input: ByteBuffer) {
    self.body = input
  }

  func run() {
    guard let json = JSONValue(parsing: self.body) else { return }
    do throws(HTTPRefusal) {
      let sources = try SourceNames(json)
      let texts = [sources.video, sources.audio].compactMap(\.self)
      precondition(!texts.isEmpty, "a change of sources names one")
      for text in texts { self.checkLine(text) }
    } catch {
      self.checkLine(error.reason)
    }
    do throws(HTTPRefusal) {
      let change = try StreamChange(json, startBitrate: 1)
      if let bitrate = change.bitrate {
        precondition(bitrate == 1 || StreamChange.bitrates.contains(bitrate), "a bitrate is in its range")
      }
      precondition(!change.resetsControls || change.controls.isEmpty, "controls are set or reset")
    } catch {
      self.checkLine(error.reason)
      precondition(error.reason.utf8.count < 2000, "a reason quotes the beginning only")
    }
  }

  private func checkLine(_ text: String) {
    precondition(!text.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "every reported text is one line")
  }
}
