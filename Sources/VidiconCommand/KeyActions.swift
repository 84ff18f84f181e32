import Media
import StreamControl
import Streaming
import Synchronization
import Vidicon

/// Performs the actions of terminal keys on the first stream.
final class KeyActions: Sendable {
  private let sources: StreamSources
  private let display: any StatusDisplay
  private let controlAddress: String?
  private let isSwitching = Mutex(false)

  /// - Parameters:
  ///   - sources: The sources of that stream.
  ///   - controlAddress: The address that makes a browser an operator; nil without a token.
  init(_ sources: StreamSources, display: any StatusDisplay, controlAddress: String?) {
    self.sources = sources
    self.controlAddress = controlAddress
    self.display = display
  }

  /// Performs keys until the quit key or the end of the input.
  ///
  /// - Returns: True for the quit key, false at the end of the input.
  func perform(_ keys: TerminalKeys) async -> Bool {
    let stream = self.sources.stream
    for await key in keys.pressed {
      switch key {
      case .quit: return true
      case .mirror:
        await self.change { $0.isMirrored = !stream.isMirrored }
        self.display.showKey(stream.isMirrored ? "video is mirrored" : "video is not mirrored")
      case .pause:
        await self.change { $0.isPaused = !stream.isEncodingPaused }
        self.display.showKey(
          stream.isEncodingPaused ? "encoding is paused; viewers see the last frame" : "encoding continues")
      case .nextSource: self.switchToNext()
      case .control: self.display.showControl(self.controlAddress)
      }
    }
    return false
  }

  /// Changes settings as an HTTP request does.
  private func change(_ set: (inout StreamChange) -> Void) async {
    var change = StreamChange()
    set(&change)
    do throws(VidiconError) {
      try await self.sources.change(change)
    } catch {
      Terminal.warn("\(error)")
    }
  }

  /// Switches in the background, since a camera may take seconds to open; without effect while a switch is in progress.
  private func switchToNext() {
    let isFirst = self.isSwitching.withLock { isSwitching in
      defer { isSwitching = true }
      return !isSwitching
    }
    guard isFirst else { return }
    // Ends at the latest with the stream.
    Task {
      let source = await self.sources.switchToNext { _, reason in
        Terminal.warn("\(reason); trying the next source")
      }
      if source == nil { self.display.showKey("there is no other source") }
      self.isSwitching.withLock { $0 = false }
    }
  }
}
