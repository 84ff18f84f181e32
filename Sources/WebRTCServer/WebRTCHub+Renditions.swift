internal import Media
internal import NIOCore
internal import Serving
internal import Streaming
internal import Synchronization
internal import WebRTC

// MARK: Renditions

extension WebRTCHub {
  /// The renditions among which a viewer chooses, with their bitrates: the main one or its transcoding, then smaller ones.
  private struct Ladder {
    var renditions: [WebRTCLowerRendition]
    /// Bits per second with audio, of the top and of ``renditions``.
    var bitrates: [Int]
    /// Whether the encoder of the top follows its only viewer.
    var hasSoleViewer: Bool
    /// Bits per second of the top with audio, now and as configured.
    var top: (current: Int, configured: Int)

    init(_ viewer: WebRTCViewer) {
      let top = viewer.top
      self.renditions = viewer.home.lowerRenditions
      let (bitrate, audio) = (top.bitrate, top.audioBitrate)
      self.hasSoleViewer = top.hasSoleViewer
      self.top = (bitrate, top.configuredBitrate)
      // The top fits its only viewer down to this.
      let first = self.hasSoleViewer ? top.minimumBitrate(self.renditions) : bitrate
      self.bitrates = [first] + self.renditions.map { min($0.bitrate + audio, first) }
    }
  }

  /// Stores the counters of each viewer for readers on other threads.
  func listViewers() {
    var lists: [ObjectIdentifier: (WebRTCOutput, [WebRTCViewerStatistics])] = [:]
    for viewer in self.allViewers where viewer.wasReady {
      lists[ObjectIdentifier(viewer.home), default: (viewer.home, [])].1.append(viewer.statistics)
    }
    for (output, list) in lists.values {
      output.viewerList.withLock { $0 = list.sorted { $0.number < $1.number } }
    }
  }

  /// Chooses the rendition of each viewer by its own path, and lets an encoder follow its only viewer.
  func chooseRenditions(at now: MediaTime) {
    var updated: Set<ObjectIdentifier> = []
    func update(_ output: WebRTCOutput) {
      if updated.insert(ObjectIdentifier(output)).inserted { output.update(at: now) }
    }
    for viewer in self.allViewers where viewer.wasReady {
      viewer.session.hasRegularKeyframes = viewer.output.hasRegularKeyframes
      update(viewer.top)
      update(viewer.output)
      if let next = viewer.next { update(next) }
    }
    var ladders: [ObjectIdentifier: Ladder] = [:]
    for viewer in self.allViewers where viewer.wasReady {
      guard viewer.home.rendition.isMain else {
        viewer.session.setBitrates(media: viewer.top.bitrate, wanted: viewer.top.bitrate * 5 / 4)
        continue
      }
      let id = ObjectIdentifier(viewer.top)
      let ladder = ladders[id] ?? Ladder(viewer)
      ladders[id] = ladder
      self.choose(for: viewer, ladder, at: now)
      let followsViewer = ladder.hasSoleViewer && viewer.output === viewer.top && !viewer.isAudioOnly
      if followsViewer || !ladder.hasSoleViewer {
        viewer.top.follow(followsViewer ? viewer.session.estimatedBitrate : nil, at: now)
      }
    }
  }

  private func choose(for viewer: WebRTCViewer, _ ladder: Ladder, at now: MediaTime) {
    var wanted = ladder.top.current * 5 / 4
    if let capacity = viewer.session.capacity, var choice = viewer.choice {
      let change = choice.update(
        capacity: capacity, isMeasured: viewer.session.isCapacityMeasured(at: now), bitrates: ladder.bitrates, at: now)
      wanted = choice.desiredBitrate
      viewer.choice = choice
      if let change {
        if choice.isTrial { viewer.session.tryBitrate(wanted, at: now) }
        self.move(viewer, to: change, among: ladder.renditions)
      }
    }
    let isOnTop = viewer.output === viewer.top
    // The only viewer's path is asked for all that the encoder may make.
    if isOnTop, ladder.hasSoleViewer { wanted = max(wanted, ladder.top.configured * 5 / 4) }
    viewer.session.setBitrates(media: isOnTop ? ladder.top.current : viewer.output.bitrate, wanted: wanted)
  }

  /// Lets a viewer have its choice from the next keyframe of that on.
  ///
  /// - Parameter renditions: Those of the choice, from index 1 on.
  func move(
    _ viewer: WebRTCViewer, to choice: ViewerRendition.Choice, among renditions: [WebRTCLowerRendition]
  ) {
    switch choice {
    case .audioOnly:
      // Without audio, few frames are better than none.
      guard viewer.session.hasAudio else { return }
      viewer.isAudioOnly = true
      viewer.session.switchRendition()
    case .rendition(let index):
      viewer.isAudioOnly = false
      guard index > 0 else { return self.begin(viewer.top, for: viewer) }
      let id = viewer.id
      renditions[index - 1].find { [eventLoop] found in
        guard let found else { return }
        eventLoop.execute { self.begin(found, for: id, choice) }
      }
    }
  }

  /// Lets a viewer have another rendition from its next keyframe on, if it still wants it: its transcoding, where the client
  /// does not decode it.
  private func begin(_ output: WebRTCOutput, for id: String, _ choice: ViewerRendition.Choice) {
    guard let viewer = self.viewer(named: id), viewer.choice?.choice == choice else { return }
    guard !viewer.decodes(output) else { return self.begin(output, for: viewer) }
    output.findTranscoding(for: viewer.session.packetizationMode) { [eventLoop] found in
      guard let found else { return }
      eventLoop.execute {
        guard let viewer = self.viewer(named: id), viewer.choice?.choice == choice, viewer.decodes(found) else {
          return
        }
        self.begin(found, for: viewer)
      }
    }
  }

  private func begin(_ output: WebRTCOutput, for viewer: WebRTCViewer) {
    if let next = viewer.next, next !== output {
      viewer.next = nil
      if next !== viewer.output { next.leave(viewer) }
    }
    guard output !== viewer.output else { return }
    viewer.next = output
    output.join(viewer)
  }

  /// Gives a viewer the rendition whose keyframe has come: numbers and times go on.
  func complete(_ viewer: WebRTCViewer) {
    guard let next = viewer.next else { return }
    let former = viewer.output
    viewer.count()
    viewer.session.switchRendition()
    (viewer.output, viewer.next, viewer.isVideoHeld) = (next, nil, false)
    former.leave(viewer)
  }

  /// Gives a viewer the top of its ladder, if it has a rendition that has ended.
  func leave(_ output: WebRTCOutput, _ viewer: WebRTCViewer) {
    if viewer.next === output { viewer.next = nil }
    guard viewer.output === output else { return }
    viewer.choice = ViewerRendition(.rendition(0), bitrate: viewer.top.bitrate, at: self.now)
    viewer.session.switchRendition()
    (viewer.output, viewer.isVideoHeld) = (viewer.top, false)
    viewer.top.join(viewer)
  }
}

// MARK: Changes of profile

extension WebRTCHub {
  /// Chooses between a stream or rendition whose profile has changed and its transcoding, for each viewer of it: formats are those of
  /// the answer as long as a session lasts.
  func checkDecoders(of output: WebRTCOutput) {
    self.eventLoop.preconditionInEventLoop()
    for viewer in self.allViewers where viewer.home === output {
      if viewer.decodes(output) {
        self.change(viewer, to: output)
      } else if viewer.top === output {
        if viewer.output === output { viewer.isVideoHeld = true }
        let id = viewer.id
        output.findTranscoding(for: viewer.session.packetizationMode) { [eventLoop] found in
          eventLoop.execute { self.change(id, of: output, to: found) }
        }
      }
    }
  }

  private func change(_ id: String, of output: WebRTCOutput, to transcoding: WebRTCOutput?) {
    guard let viewer = self.viewer(named: id), viewer.top === output, !viewer.decodes(output) else { return }
    guard let transcoding, viewer.decodes(transcoding) else {
      // Some decode more than they offer.
      viewer.isVideoHeld = false
      return
    }
    self.change(viewer, to: transcoding)
  }

  /// Gives a viewer another top of its ladder, from the next keyframe of that on.
  private func change(_ viewer: WebRTCViewer, to top: WebRTCOutput) {
    let former = viewer.top
    viewer.top = top
    guard viewer.wasReady else { return viewer.output = top }
    if viewer.output === top { viewer.isVideoHeld = false }
    if former !== top, viewer.next.map({ $0 === former }) ?? (viewer.output === former) {
      self.begin(top, for: viewer)
    }
  }
}

// MARK: Packets that leave later

extension WebRTCHub {
  /// Looks at a viewer again when it has something to send.
  func wait(for viewer: WebRTCViewer, until time: MediaTime) {
    if !viewer.isWaiting {
      viewer.isWaiting = true
      self.waiting.append(viewer)
    }
    let now = self.now
    let due = max(time, now + Self.minimumWait)
    if let nextSending = self.nextSending, nextSending <= due { return }
    self.nextSending = due
    self.eventLoop.scheduleTask(in: .nanoseconds((due - now).nanoseconds)) { self.sendWaiting() }
  }

  private func sendWaiting() {
    let now = self.now
    guard let nextSending = self.nextSending, now >= nextSending else { return }
    self.nextSending = nil
    let viewers = self.waiting
    self.waiting.removeAll(keepingCapacity: true)
    for viewer in viewers {
      viewer.isWaiting = false
      // A viewer that is not due yet waits again.
      self.settle(viewer)
    }
    self.flush()
  }
}
