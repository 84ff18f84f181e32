import CLibav
import Foundation
import Media
import Testing

@testable import MediaInput

@Suite("Errors of network sources, for users")
struct NetworkErrorTests {
  private static let address = "rtsp://joe:s3cret@192.168.1.9:554/door?token=abc"

  @Test(
    arguments: [
      (vidicon_averror_http_unauthorized, .notPermitted, "the user name or password is wrong"),
      (vidicon_averror_http_forbidden, .notPermitted, "the server denies access (403)"),
      (vidicon_averror_http_not_found, .notFound, "the server has no such stream (404)"),
      (vidicon_averror_http_other_4xx, .failed, "the server refuses the request (4xx)"),
      (vidicon_averror_http_server_error, .failed, "the server has failed (5xx)"),
      (-ECONNREFUSED, .failed, "no server listens there (connection refused)"),
      (-EHOSTUNREACH, .failed, "the host cannot be reached"), (-ENETUNREACH, .failed, "the host cannot be reached"),
      (-ETIMEDOUT, .failed, "no data arrived in time"), (vidicon_averror_exit, .failed, "no data arrived in time"),
      (-EIO, .failed, "its host is unknown, or the connection was lost"),
      (-EPIPE, .failed, "its host is unknown, or the connection was lost"),
      (-ECONNRESET, .failed, "its host is unknown, or the connection was lost"),
      (vidicon_averror_eof, .failed, "the stream has ended"),
      (vidicon_averror_invaliddata, .invalidData, "its stream cannot be parsed"),
      (vidicon_averror_protocol_not_found, .invalidSpecification, "libavformat was built without its protocol"),
      (-ENOMEM, .failed, "Cannot allocate memory"),
    ] as [(Int32, VidiconError.Code, String)])
  func `a status has a cause and a next step, without the password`(
    status: Int32, code: VidiconError.Code, cause: String
  ) throws {
    let error = VidiconError(network: status, of: try NetworkSpecification(parsing: Self.address))
    #expect(error.code == code && error.cause == cause && !error.nextStep.isEmpty)
    #expect(error.subject.hasPrefix("rtsp://") && error.subject.contains("192.168.1.9:554/door"))
    for secret in ["s3cret", "joe:", "abc"] { #expect(!error.description.contains(secret)) }
  }

  @Test func `without a user name the error says where to write it`() throws {
    let source = try NetworkSpecification(parsing: "http://10.0.0.1/stream.m3u8")
    let error = VidiconError(network: vidicon_averror_http_unauthorized, of: source)
    #expect(error.code == .notPermitted && error.cause == "it asks for a user name and password")
    #expect(error.nextStep == "write them in front of the host: http://USER:PASSWORD@HOST/PATH")
  }
}
