internal import ControlAPI
internal import HLSServer
package import Media
package import NIOCore
internal import Serving

extension CameraServer {
  /// Maximum number of bytes of ``stop(suspending:)``.
  package static var maximumSuspendedByteCount: Int { HLSServer.maximumSuspendedByteCount }

  /// Lets players of HLS go on where another process has stopped, once streams of the same names are served: their segments stay in the
  /// playlists, and numbers continue.
  ///
  /// - Parameter bytes: Those of ``stop(suspending:)``.
  /// - Throws: `ParsingError` for damaged bytes; where they are those of one stream, the others go on.
  package func resume(from bytes: ByteBuffer) throws(ParsingError) {
    try self.http?.resumeStreams(of: bytes)
  }

  /// Ends as ``stop(finishingRecordingsWithin:)``, for a process that follows at once, and has descriptors of the ports: clients that
  /// connect meanwhile wait for it, and players of HLS are not shown the end of their streams.
  ///
  /// - Parameter keep: Called with the bytes for that process, unless there are no players of HLS.
  package func stop(suspending keep: (ByteBuffer) -> Void) async {
    await self.pause()
    if let bytes = self.http?.suspendStreams() { keep(bytes) }
    await self.stop()
  }

  /// Stops accepting connections: further ones wait in the system's queue, for another process that has descriptors of the ports.
  func pause() async {
    await self.http?.pause()
    for server in self.servers { await server.pause() }
  }
}
