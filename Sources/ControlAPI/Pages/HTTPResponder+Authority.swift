internal import HTTPServer
internal import HTTPTypes
internal import NIOCore

extension HTTPResponder {
  /// `/ca`: for browsers the page that says how a phone is made to trust the authority; `?form=der` and `?form=pem`, and for
  /// other clients without it, the certificate.
  ///
  /// Its entity tag is the SHA-256 fingerprint of the certificate.
  func authority(_ target: HTTPTarget, _ request: HTTPRequest) -> ServerResponse {
    guard let document = self.http.authority else {
      return .notFound("this server has no certificate authority of its own")
    }
    let body: ByteBuffer
    switch target.parameter("form") {
    case "der": body = document.der
    case "pem": body = document.pem
    case nil where request.headerFields[.accept]?.contains("text/html") == true:
      var page = self.page(.authority, from: target)
      // A cache keeps the certificate apart.
      page.fields[.vary] = "Accept"
      return page
    case nil: body = document.pem
    default: return .text(.badRequest, "the parameter form is der or pem")
    }
    var response = ServerResponse(
      .ok,
      [
        .contentType: "application/x-x509-ca-cert",
        // Without "attachment", which has iOS save the file and not install it. Android asks for the ending.
        .contentDisposition: "inline; filename=\"vidicon-ca.crt\"", .vary: "Accept",
      ], body: .bytes(body), caching: .revalidated)
    response.etag = "\"\(document.fingerprint)\""
    return response
  }
}
