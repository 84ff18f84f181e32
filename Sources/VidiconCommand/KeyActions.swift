import Streaming
import Synchronization
import Vidicon

/// Does what the keys of the terminal ask for, to the first stream.
final class KeyActions: Sendable {
  private let sources: StreamSources
  private let display: any StatusDisplay
  private let isSwitching = Mutex(false)

  /// - Parameter sources: Those of the stream.
  init(_ sources: StreamSources, display: any StatusDisplay) {
    self.sources = sources
    self.display = display
  }

  /// Performs keys as they come.
  ///
  /// - Returns: True when the program is to end, false when there will be no more keys.
  func perform(_ keys: TerminalKeys) async -> Bool {
    let stream = self.sources.stream
    for await key in keys.pressed {
      switch key {
      case .quit: return true
      case .mirror:
        stream.isMirrored.toggle()
        self.display.showKey(stream.isMirrored ? "the picture is mirrored" : "the picture is not mirrored any more")
      case .pause:
        stream.isEncodingPaused.toggle()
        self.display.showKey(stream.isEncodingPaused ? "encoding pauses; the picture stands still" : "encoding goes on")
      case .nextSource: self.switchToNext()
      }
    }
    return false
  }

  /// Switches while other keys are heard: a camera may take seconds to open. Pressed again meanwhile it does nothing.
  private func switchToNext() {
    let isFirst = self.isSwitching.withLock { isSwitching in
      defer { isSwitching = true }
      return !isSwitching
    }
    guard isFirst else { return }
    // It ends by itself, at the latest when the stream ends.
    Task {
      let source = await self.sources.switchToNext { _, reason in
        Terminal.warn("\(reason); trying the next source")
      }
      if source == nil { self.display.showKey("there is no other source") }
      self.isSwitching.withLock { $0 = false }
    }
  }
}
