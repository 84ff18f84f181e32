internal import CLibav
internal import Codecs
package import Media

extension VidiconError {
  /// The error of a source at, or leading to, an address that is not allowed.
  package static func refusedLinkLocal(_ source: String) -> VidiconError {
    VidiconError(
      .notPermitted, subject: source,
      cause: "it leads to a link-local or metadata address, where cloud machines keep secrets",
      nextStep: "start the server with this source, or with --link-local")
  }

  /// The error of a source whose connections cannot be checked.
  static func uncheckedConnections(_ source: String) -> VidiconError {
    VidiconError(
      .unsupported, subject: source, cause: "the addresses that it leads to cannot be checked on this system",
      nextStep: "start the server with this source, or with --link-local")
  }

  /// The error of RTSP over TLS where libavformat cannot verify certificates.
  static func unverifiableRTSPS(_ source: String) -> VidiconError {
    VidiconError(
      .unsupported, subject: source, cause: "this version of libavformat does not verify certificates of rtsps",
      nextStep: "add ?insecure=1 to the address to accept any certificate")
  }

  /// Whether trying a network source again may succeed: the host boots, the stream is not there yet.
  var mayPass: Bool {
    switch self.code {
    case .failed, .notFound, .timedOut, .missingTrack, .invalidData: true
    default: false
    }
  }

  /// The error of a snapshot in a format whose images are not requested again and again.
  static func unsupportedImage(_ format: String, of source: String) -> VidiconError {
    VidiconError(
      .unsupported, subject: source, cause: "it is a single image of the format \(format)",
      nextStep: "let the server send JPEG, PNG or WebP")
  }

  /// The reason why a publisher's track is not taken.
  package static func unsupportedCodec(_ codec: String) -> VidiconError {
    VidiconError(
      .unsupported, subject: "publisher", cause: "\(codec) is not supported", nextStep: "send H.264 and AAC")
  }

  /// The reason why a connected source has no frame yet.
  static func missingStart(of source: String, dropped count: Int) -> VidiconError {
    VidiconError(
      .invalidData, subject: source,
      cause: "connected, no frame yet: no keyframe has come, \(count) frames were dropped",
      nextStep: "wait for it, or set the keyframe interval of the camera to 2 s")
  }

  /// The error for a status of libavformat on a network source.
  init(network status: Int32, of specification: NetworkSpecification) {
    let source = specification.description
    let (code, cause, nextStep): (Code, String, String) =
      switch status {
      case vidicon_averror_http_unauthorized where specification.hasCredentials:
        (.notPermitted, "the user name or password is wrong", "check them; special characters are percent-encoded")
      case vidicon_averror_http_unauthorized:
        (
          .notPermitted, "it asks for a user name and password",
          "write them in front of the host: \(specification.scheme)://USER:PASSWORD@HOST/PATH"
        )
      case vidicon_averror_http_forbidden:
        (.notPermitted, "the server denies access (403)", "check the permissions of this user")
      case vidicon_averror_http_not_found:
        (.notFound, "the server has no such stream (404)", "check the path of the address")
      case vidicon_averror_http_other_4xx:
        (.failed, "the server refuses the request (4xx)", "check the address")
      case vidicon_averror_http_server_error:
        (.failed, "the server has failed (5xx)", "look into its log, or try again later")
      case -ECONNREFUSED:
        (.failed, "no server listens there (connection refused)", "check the port, and that the server runs")
      case -EHOSTUNREACH, -ENETUNREACH:
        (.failed, "the host cannot be reached", "check its address and the network")
      case -ETIMEDOUT, vidicon_averror_exit:
        (.failed, "no data arrived in time", "check that it can be reached and that it sends")
      case -EIO where ["https", "rtsps", "rtmps"].contains(specification.scheme) && !specification.isInsecure:
        (
          .failed, "its host is unknown, its certificate is not trusted, or the connection was lost",
          "check the address; ?insecure=1 accepts any certificate, as of cameras with self-made ones"
        )
      case -EIO, -EPIPE, -ECONNRESET:
        (.failed, "its host is unknown, or the connection was lost", "check the address, and that the server runs")
      case -EINVAL where specification.scheme == "https" && !specification.isInsecure:
        (
          .unsupported, "it has a format, such as DASH, whose requests are not verified",
          "use its HLS playlist, or add ?insecure=1 to the address to accept any certificate"
        )
      case vidicon_averror_eof:
        (.failed, "the stream has ended", "check that the server still sends it")
      case vidicon_averror_invaliddata:
        (.invalidData, "its stream cannot be parsed", "check it with: ffprobe \(source)")
      case vidicon_averror_protocol_not_found:
        (
          .invalidSpecification, "libavformat was built without its protocol",
          "use one that is listed by: ffmpeg -protocols"
        )
      default:
        (.failed, libavMessage(status), "check it with: ffprobe \(source)")
      }
    self.init(code, subject: source, cause: cause, nextStep: nextStep)
  }
}
