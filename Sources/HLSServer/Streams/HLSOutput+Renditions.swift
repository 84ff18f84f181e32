internal import HLS
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Streaming
internal import Synchronization

// The renditions beside the main one: their encoders are opened for the first request that may need them.
extension HLSOutput {
  /// Waits until a rendition, or each that is not late, is prepared or cannot be, at most 2 s: a driver may never open its encoder.
  func waitForPreparation(of name: String?) async {
    let deadline = self.now() + Rendition.preparationTimeout
    func isWaiting(_ state: State) -> Bool {
      self.now() < deadline
        && state.preparing.contains { item in
          name.map { $0 == item.rendition.name } ?? !state.late.contains(item.rendition)
        }
    }
    while !Task.isCancelled, self.state.withLock({ isWaiting($0) }) {
      let number = self.makeWaiterNumber()
      _ = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop ?? self.eventLoop
          var waits = false
          self.perform { (state: inout State) in
            waits = isWaiting(state)
            if waits {
              state.waiters[number] = Waiter(deadline: deadline, eventLoop: eventLoop, continuation: continuation)
            }
            return .none
          }
          if !waits {
            continuation.resume(returning: nil)
          } else if Task.isCancelled {
            self.cancel(number)
          }
        }
      } onCancel: {
        self.cancel(number)
      }
    }
    guard name == nil, self.now() >= deadline else { return }
    // Renditions behind one that hangs are in this playlist, also where its own wait ends a moment later.
    self.addPrepared { state in
      let pending = state.preparing.filter { $0.result == nil }.map { $0.rendition }
      state.late.removeAll { pending.contains($0) }
      state.late += pending
    }
  }

  /// Has the encoders opened of renditions that are in no playlist yet; returns at once.
  func prepareRenditions() {
    let all = self.stream.renditions
    let renditions = all.filter { $0.failure == nil }
    let known = renditions.filter { !$0.descriptions.isEmpty }
    let added = self.state.withLock { state in
      // One that has failed stays late until it is opened again, and prepared.
      state.late.removeAll { known.contains($0) || !all.contains($0) }
      let added = renditions.filter { rendition in
        !state.renditions.contains(rendition) && !state.preparing.contains { $0.rendition == rendition }
      }
      state.preparing += added.map { ($0, nil) }
      return added
    }
    for rendition in added {
      // Ends after ``Rendition/preparationTimeout``.
      Task { [weak self] in
        let result: Result<[CodecDescription], VidiconError>
        do throws(VidiconError) {
          result = .success(try await rendition.prepare())
        } catch {
          result = .failure(error)
        }
        self?.handle(result, of: rendition)
      }
    }
  }

  private func handle(_ result: Result<[CodecDescription], VidiconError>, of rendition: Rendition) {
    self.addPrepared { state in
      if let index = state.preparing.firstIndex(where: { $0.rendition == rendition }) {
        state.preparing[index].result = result
      }
      state.late.removeAll { $0 == rendition }
      if case .failure = result { state.late.append(rendition) }
    }
  }

  /// Adds the renditions whose parameter sets are known, unless one before them, which is not late, is not prepared yet: playlists
  /// name them in order.
  ///
  /// - Parameter change: Changes what is known of them, before and in the same step.
  private func addPrepared(after change: (inout State) -> Void) {
    let prepared = self.state.withLock { state in
      change(&state)
      var isBehind = false
      return state.preparing.filter { item in
        if item.result == nil, !state.late.contains(item.rendition) { isBehind = true }
        return item.result != nil && !isBehind
      }
    }
    for case (let rendition, .success(let descriptions)?) in prepared { self.add(rendition, descriptions) }
    self.perform { (state: inout State) in
      state.preparing.removeAll { item in prepared.contains { $0.rendition == item.rendition } }
      return HLSEffects(wakesRequests: true)
    }
  }

  /// Whether a rendition may be available later.
  func isNotReady(_ name: String) -> Bool {
    guard let rendition = self.stream.rendition(named: name), rendition.failure == nil else { return false }
    return self.state.withLock { state in
      state.endTime == nil && !state.renditions.contains(rendition)
    }
  }

  private func add(_ rendition: Rendition, _ descriptions: [CodecDescription]) {
    var configuration = self.configuration
    configuration.bitrate = rendition.bitrate + self.stream.audioSettings.bitrate
    let names = self.stream.renditions.map(\.name)
    let isAdded = self.state.withLock { state in
      guard !state.renditions.contains(rendition), state.endTime == nil else { return false }
      configuration.token += "r\(state.renditionCount)"
      state.renditionCount += 1
      state.renditions.append(rendition)
      if state.usesRenditions { rendition.beginUse() }
      state.machine.add(rendition.name, descriptions, configuration: configuration)
      // One whose encoder was busy comes later than those after it.
      state.machine.sort(like: names)
      return true
    }
    if isAdded { rendition.add(RenditionOutput(rendition, of: self)) }
  }

  /// Consumes a video sample of a rendition.
  func consume(_ sample: EncodedSample, of name: String) {
    guard self.isActive.load(ordering: .relaxed) else { return }
    let now = self.now()
    self.perform { machine in machine.consume(sample, of: name, at: now) }
  }

  func change(to description: CodecDescription, of name: String) {
    self.perform { (machine: inout HLSStreamGroup) in machine.change(to: description, of: name) }
  }

  /// Removes a rendition whose encoder has failed.
  func remove(_ rendition: Rendition) {
    self.perform { (state: inout State) in
      if state.usesRenditions, state.renditions.contains(rendition) {
        // The rendition may be used again, once its encoder can be opened.
        rendition.endUse(lingers: false)
      }
      state.renditions.removeAll { $0 == rendition }
      return state.machine.remove(rendition.name)
    }
  }
}

extension HLSOutput {
  /// The output of another rendition: its video, beside the audio of the stream.
  final class RenditionOutput: StreamOutput {
    private let rendition: Rendition
    private let hls: HLSOutput

    init(_ rendition: Rendition, of hls: HLSOutput) {
      self.rendition = rendition
      self.hls = hls
    }

    func consume(_ sample: EncodedSample) {
      if sample.kind == .video { self.hls.consume(sample, of: self.rendition.name) }
    }

    func descriptionChanged(to description: CodecDescription) {
      self.hls.change(to: description, of: self.rendition.name)
    }

    func streamEnded() {
      // At the end of the stream playlists get a last line.
      if self.rendition.failure?.code != .wrongState { self.hls.remove(self.rendition) }
    }
  }
}
