import Libc
import NIOCore
import NIOEmbedded
import Serving
import Testing

@Suite("Failures to accept connections")
struct AcceptFailureHandlerTests {
  @Test(arguments: [(EMFILE, 1), (ENFILE, 1), (ENOBUFS, 1), (ENOMEM, 1), (ECONNABORTED, 0)])
  func `a lack of descriptors or memory is counted`(number: CInt, count: Int) throws {
    let registry = ConnectionRegistry(maximumCount: 1)
    let channel = EmbeddedChannel(handler: AcceptFailureHandler(registry: registry))
    let error = IOError(errnoCode: number, reason: "accept")
    channel.pipeline.fireErrorCaught(error)
    #expect(registry.acceptFailures == count)
    // The handler behind it pauses accepting.
    #expect(throws: IOError.self) { try channel.throwIfErrorCaught() }
  }
}
