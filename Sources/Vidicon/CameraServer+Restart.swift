internal import ControlAPI
package import Media
internal import NIOCore
internal import Serving

extension CameraServer {
  /// Lets players of HLS go on where another process has stopped, once streams of the same names are served: their segments stay in the
  /// playlists, and numbers continue.
  ///
  /// - Parameter bytes: Those of ``stop(suspending:)``.
  /// - Throws: `ParsingError` for damaged bytes, which change nothing.
  package func resume(from bytes: [UInt8]) throws(ParsingError) {
    try self.http?.resumeStreams(of: ByteBuffer(bytes: bytes))
  }

  /// Ends as ``stop(finishingRecordingsWithin:)``, for a process that follows at once, and has descriptors of the ports: clients that
  /// connect meanwhile wait for it, and players of HLS are not shown the end of their streams.
  ///
  /// - Parameter keep: Called with the bytes for that process, unless there are no players of HLS.
  package func stop(suspending keep: ([UInt8]) -> Void) async {
    await self.http?.pause()
    for server in self.servers { await server.pause() }
    if let bytes = self.http?.suspendStreams() { keep(Array(buffer: bytes)) }
    await self.stop()
  }
}
