import Media
import StreamControl
import Streaming
import Synchronization
import Vidicon

/// Performs the actions of terminal keys on the first stream.
final class KeyActions: Sendable {
  private let sources: @Sendable () -> StreamSources?
  private let display: any StatusDisplay
  private let controlAddress: @Sendable () -> String?
  private let isSwitching = Mutex(false)

  /// - Parameters:
  ///   - controlAddress: The address of its page that makes a browser an operator; nil without a token.
  ///   - sources: The sources of that stream now; nil while there is none.
  init(
    display: any StatusDisplay, controlAddress: @escaping @Sendable () -> String?,
    sources: @escaping @Sendable () -> StreamSources?
  ) {
    self.sources = sources
    self.controlAddress = controlAddress
    self.display = display
  }

  /// Performs keys until the quit key or the end of the input.
  ///
  /// - Returns: True for the quit key, false at the end of the input.
  func perform(_ keys: TerminalKeys) async -> Bool {
    for await key in keys.pressed {
      switch key {
      case .quit: return true
      case .control: self.display.showControl(self.controlAddress())
      case .mirror, .pause, .nextSource:
        if let sources = self.sources() { await self.perform(key, on: sources) }
      }
    }
    return false
  }

  private func perform(_ key: TerminalKey, on sources: StreamSources) async {
    let stream = sources.stream
    switch key {
    case .mirror:
      await self.change(sources) { $0.isMirrored = !stream.isMirrored }
      self.display.showKey(stream.isMirrored ? "video is mirrored" : "video is not mirrored")
    case .pause:
      await self.change(sources) { $0.isPaused = !stream.isEncodingPaused }
      self.display.showKey(
        stream.isEncodingPaused ? "encoding is paused; viewers see the last frame" : "encoding continues")
    case .nextSource: self.switchToNext(sources)
    case .control, .quit: break
    }
  }

  /// Changes settings as an HTTP request does.
  private func change(_ sources: StreamSources, _ set: (inout StreamChange) -> Void) async {
    var change = StreamChange()
    set(&change)
    do throws(VidiconError) {
      try await sources.change(change)
    } catch {
      Terminal.warn("\(error)")
    }
  }

  /// Switches in the background, since a camera may take seconds to open; without effect while a switch is in progress.
  private func switchToNext(_ sources: StreamSources) {
    let isFirst = self.isSwitching.withLock { isSwitching in
      defer { isSwitching = true }
      return !isSwitching
    }
    guard isFirst else { return }
    // Ends at the latest with the stream.
    Task {
      let source = await sources.switchToNext { _, reason in
        Terminal.warn("\(reason); trying the next source")
      }
      if source == nil { self.display.showKey("there is no other source") }
      self.isSwitching.withLock { $0 = false }
    }
  }
}
