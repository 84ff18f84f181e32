import Capture
import Foundation
import Media
import Recording
import Streaming
import Testing

@testable import StreamControl

@Suite("Recording control", .timeLimit(.minutes(5)))
struct RecordingControlTests {
  /// Runs a stream with silence only, and the control of a recorder in a folder of its own.
  private func withControl(_ body: (RecordingControl, String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-control-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover folder is harmless.
    let stream = LiveStream("live")
    stream.attachAudio(SilenceCapturer())
    try await stream.start()
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern(folder.path + "/a.mp4")))
    do {
      try await body(RecordingControl(recorder), folder.path)
    } catch {
      await stream.stop()
      throw error
    }
    await recorder.stop()
    await stream.stop()
  }

  private func code(_ control: RecordingControl, _ action: RecordingControl.Action) async -> VidiconError.Code? {
    do throws(VidiconError) {
      try await control.perform(action)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `actions that do not fit the state are refused`() async throws {
    try await self.withControl { control, _ in
      #expect(control.status().state == .idle)
      for action in [RecordingControl.Action.stop, .pause, .resume] {
        #expect(await self.code(control, action) == .wrongState, "\(action)")
      }
      #expect(await self.code(control, .start) == nil)
      #expect(await self.code(control, .start) == .wrongState)
    }
  }

  @Test func `a requested pause shows at once, and files have names without folders`() async throws {
    try await self.withControl { control, folder in
      #expect(await self.code(control, .start) == nil)
      #expect([.waiting, .recording].contains(control.status().state))
      #expect(await self.code(control, .pause) == nil)
      #expect(control.status().state == .paused)
      #expect(await self.code(control, .resume) == nil)
      #expect([.waiting, .recording].contains(control.status().state))
      while control.status().byteCount == 0 { await Task.yield() }
      #expect(await self.code(control, .stop) == nil)
      #expect([.finishing, .idle].contains(control.status().state))
      while control.status().state == .finishing { await Task.yield() }
      #expect(control.status().state == .idle)
      #expect(control.status().file == "a.mp4")
      #expect(control.files().map(\.name) == ["a.mp4"])
      #expect(control.files().map(\.path) == [folder + "/a.mp4"])
    }
  }

  @Test func `a reason is cause and next step, without the file`() {
    let error = VidiconError(.noSpace, subject: "/secret/a.mp4", cause: "the disk is full", nextStep: "make room")
    #expect(error.reason == "the disk is full; make room")
  }
}
