import Media
import RTSP
import Testing

@Suite("Transport header, RFC 2326 §12.39")
struct RTSPTransportTests {
  @Test(arguments: [
    // ffmpeg, GStreamer, live555, VLC
    ("RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=0-1"),
    ("RTP/AVP/UDP;unicast;client_port=33614-33615", "RTP/AVP/UDP;unicast;client_port=33614-33615"),
    ("RTP/AVP;unicast;client_port=59790-59791", "RTP/AVP;unicast;client_port=59790-59791"),
    ("RTP/AVP;multicast", "RTP/AVP;multicast"),
    ("rtp/avp/tcp; Interleaved=4 - 5 ;x=\"a;b\"", "RTP/AVP/TCP;unicast;interleaved=4-5"),
    ("RTP/AVP;client_port=4588", "RTP/AVP;unicast;client_port=4588-4589"),
    ("RTP/AVP/TCP;interleaved=7;mode=play", "RTP/AVP/TCP;unicast;interleaved=7-8;mode=\"PLAY\""),
    ("RTP/AVP/TCP;unicast;mode=\"RECORD\"", "RTP/AVP/TCP;unicast;mode=\"RECORD\""),
    (
      "RTP/AVP;unicast;destination=10.0.0.1;client_port=2-3;server_port=4-5;ssrc=00BC614E;mode=\"PLAY\"",
      "RTP/AVP;unicast;client_port=2-3;server_port=4-5;ssrc=00bc614e;mode=\"PLAY\""
    ),
    ("RTP/AVP/TCP;ssrc=123456789", "RTP/AVP/TCP;unicast"),
    ("RTP/AVP/TCP;interleaved=255-255", "RTP/AVP/TCP;unicast;interleaved=255-255"),
  ])
  func `a transport specification is parsed and serialized`(text: String, normal: String) throws {
    let transport = try RTSPTransport(parsing: text)
    #expect(transport.serialize() == normal)
    #expect(try RTSPTransport(parsing: normal) == transport)
  }

  @Test func `alternatives keep the client's order without the unsupported ones`() throws {
    let list = try RTSPTransport.alternatives(
      parsing: "RAW/RAW/UDP;client_port=1-2, RTP/AVP;unicast;client_port=x,RTP/AVP/UDP;client_port=8-9,RTP/AVP/TCP")
    #expect(list.map(\.lowerTransport) == [.udp, .tcp])
    #expect(list.first?.clientPorts == RTSPTransport.Pair(rtp: 8, rtcp: 9))
  }

  @Test(arguments: [
    ("", 400), (",", 400), (";", 400), ("RTP/AVP/TCP;interleaved=", 400), ("RTP/AVP/TCP;interleaved=a-b", 400),
    ("RTP/AVP/TCP;interleaved=256-257", 400), ("RTP/AVP/TCP;interleaved=255", 400),
    ("RTP/AVP/TCP;interleaved=1-2-3", 400), ("RTP/AVP/TCP;interleaved=-1", 400),
    ("RTP/AVP;client_port=65536-65537", 400), ("RTP/AVP;client_port=0-1", 400), ("RTP/AVP;client_port=65535", 400),
    ("RTP/SAVP;unicast", 461), ("nonsense", 461), ("RAW/RAW/UDP,RTP/AVP;client_port=-2", 400),
  ])
  func `a header without a usable alternative is refused`(text: String, status: Int) {
    let error = #expect(throws: ParsingError.self) { try RTSPTransport.alternatives(parsing: text) }
    #expect(error.map { RTSPStatus(rejecting: $0).code } == status)
  }
}
