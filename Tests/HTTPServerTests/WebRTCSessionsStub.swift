import Authentication
import NIOCore
import Serving
import Synchronization

/// Sessions of viewers and publishers without WebRTC, which respond as tests want.
final class WebRTCSessionsStub: WHEPService, WHIPService {
  struct State {
    var admitted: [String] = []
    var opened: [String] = []
    var changed: [String] = []
    var sessions: Set<String> = []
    var admission: WebRTCRefusal?
    var refusal: WebRTCRefusal?
    var change = WHEPChange.candidates
  }

  let state = Mutex(State())
  let links: [String]

  init(links: [String] = []) { self.links = links }

  // MARK: WHEP

  func open(
    path: String, offer: ByteBuffer, client: IPAddress, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession {
    try self.open(path, "\(client) \(Self.list(serverAddresses)) \(String(buffer: offer))")
  }

  func change(
    _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange {
    let (refusal, change) = self.state.withLock { state in
      state.changed.append("\(path) \(id) \(entityTags ?? "-") \(String(buffer: fragment))")
      return (state.refusal, state.change)
    }
    if let refusal { throw refusal }
    return change
  }

  func close(_ id: String, path: String) async -> Bool {
    self.state.withLock { $0.sessions.remove("\(path) \(id)") != nil }
  }

  // MARK: WHIP

  func admitPublication(of name: String, takesOver: Bool) async throws(WebRTCRefusal) {
    let refusal = self.state.withLock { state in
      state.admitted.append("\(name) \(takesOver)")
      return state.admission
    }
    if let refusal { throw refusal }
  }

  func openPublication(
    of name: String, offer: ByteBuffer, takesOver: Bool, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession {
    try self.open(name, "\(Self.list(serverAddresses)) \(takesOver) \(String(buffer: offer))")
  }

  func changePublication(
    _ id: String, of name: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange {
    try await self.change(id, path: name, fragment: fragment, entityTags: entityTags)
  }

  func closePublication(_ id: String, of name: String) async -> Bool {
    await self.close(id, path: name)
  }

  // MARK: Both

  private func open(_ name: String, _ request: String) throws(WebRTCRefusal) -> WHEPSession {
    let refusal = self.state.withLock { state in
      state.opened.append("\(name) \(request)")
      state.sessions.insert("\(name) 0a")
      return state.refusal
    }
    if let refusal { throw refusal }
    return WHEPSession(id: "0a", entityTag: "\"tag\"", answer: ByteBuffer(string: "answer"))
  }

  private static func list(_ addresses: [IPAddress]) -> String {
    addresses.map { "\($0)" }.joined(separator: ",")
  }
}
