internal import Media

/// Times for which the server waits for HLS viewers, which request a playlist once per target duration.
struct HLSViewerTimes {
  /// `EXT-X-TARGETDURATION` of the stream.
  let target: MediaDuration
  /// ``HTTPServerLimits/viewerIdleTime``.
  let idleTime: MediaDuration

  /// Time after the last request during which a viewer is counted.
  var viewing: MediaDuration { max(self.idleTime, self.target * 3) }

  /// Time for which playlists and segments of an ended stream are served: a player is about three target durations behind, and
  /// plays to the end.
  var retention: MediaDuration { max(self.idleTime, self.target * 10) }

  /// Maximum time for which a stopping server waits until viewers have reloaded the playlist, so that they see the end. Viewers
  /// of segments longer than 4 s may miss it: stopping takes no longer for them.
  var farewell: MediaDuration { min(self.target, .seconds(4)) + .milliseconds(300) }

  /// Time before the end of the stream within which a viewer has requested a playlist, if it still plays.
  var reloading: MediaDuration { self.target * 3 }
}
