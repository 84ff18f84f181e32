import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import Serving

@Suite("Limit of accepted connections")
struct AcceptLimitHandlerTests {
  @Test func `connections are accepted when they are no longer held`() throws {
    let registry = ConnectionRegistry(maximumCount: 2)
    let counter = ReadCounter()
    let loop = EmbeddedEventLoop()
    registry.hold()
    let listener = EmbeddedChannel(handlers: [counter, AcceptLimitHandler(registry: registry)], loop: loop)
    listener.read()
    loop.advanceTime(by: .seconds(60))
    #expect(counter.count == 0 && registry.isHeld)
    registry.release()
    loop.advanceTime(by: AcceptLimitHandler.interval)
    #expect(counter.count == 1 && !registry.isHeld)
    listener.read()
    #expect(counter.count == 2)
  }

  @Test func `a connection beyond the limit is accepted when another one is closed`() throws {
    let registry = ConnectionRegistry(maximumCount: 2)
    let counter = ReadCounter()
    let loop = EmbeddedEventLoop()
    let listener = EmbeddedChannel(handlers: [counter, AcceptLimitHandler(registry: registry)], loop: loop)
    var accepted: [EmbeddedChannel] = []
    for _ in 0..<2 + ConnectionRegistry.acceptedMargin {
      listener.read()
      let channel = EmbeddedChannel(loop: loop)
      try listener.writeInbound(channel as any Channel)
      accepted.append(channel)
    }
    let count = counter.count
    #expect(count == accepted.count)
    listener.read()
    listener.read()
    loop.advanceTime(by: .seconds(1))
    #expect(counter.count == count)
    try accepted[0].close().wait()
    loop.advanceTime(by: AcceptLimitHandler.interval)
    #expect(counter.count == count + 1)
    // Once for both requests.
    loop.advanceTime(by: .seconds(1))
    #expect(counter.count == count + 1)
  }
}
