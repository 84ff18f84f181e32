import Capture
import Foundation
import Media
import Recording
import Streaming
import TestSupport
import Testing

@testable import StreamControl

@Suite("Recording control", .timeLimit(.minutes(5)))
struct RecordingControlTests {
  /// Runs a stream with silence only, and the control of a recorder in a folder of its own.
  ///
  /// - Parameters:
  ///   - mayBegin: Lets the recording have samples.
  ///   - mayFinish: Lets a recording that has ended finish its files.
  private func withControl(
    mayBegin: Gate? = nil, mayFinish: Gate? = nil, _ body: (RecordingControl, String) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-control-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover folder is harmless.
    let stream = LiveStream("live")
    stream.attachAudio(SilenceCapturer())
    try await stream.start()
    let source = RecordingSource(
      descriptions: { stream.descriptions }, requestKeyframe: { stream.requestKeyframe() },
      add: { output in
        guard let mayBegin else { return stream.add(output) }
        Thread.detachNewThread {
          mayBegin.pass()
          stream.add(output)
        }
      },
      remove: { output in
        stream.remove(output)
        mayFinish?.pass()
      })
    let recorder = Recorder(source, settings: RecordingSettings(try FilePattern(folder.path + "/a.mp4")))
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
    let (mayBegin, mayFinish) = (Gate(), Gate())
    try await self.withControl(mayBegin: mayBegin, mayFinish: mayFinish) { control, folder in
      #expect(await self.code(control, .start) == nil)
      #expect(control.status().state == .waiting)
      #expect(await self.code(control, .pause) == nil)
      #expect(control.status().state == .paused)
      #expect(await self.code(control, .resume) == nil)
      #expect(control.status().state == .waiting)
      mayBegin.open()
      try await eventually { control.status().state == .recording && control.status().byteCount > 0 }
      for _ in 0..<2 {
        #expect(await self.code(control, .stop) == nil)
        #expect(control.status().state == .finishing)
      }
      mayFinish.open()
      try await eventually { control.status().state == .idle }
      #expect(await self.code(control, .stop) == .wrongState)
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
