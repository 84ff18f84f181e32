package import Authentication

/// A client that answers a Digest challenge, RFC 7616 §3.4, or RFC 2069 without `qop`.
package struct DigestClient {
  package let nonce: String
  package let algorithm: DigestAlgorithm
  package var user: String
  package var password: String
  package var usesProtection = false
  package var namesAlgorithm = false

  /// Parses nonce and algorithm of a challenge.
  package init(challenge: String, user: String, password: String) {
    let parts = challenge.split(separator: "\"")
    self.nonce = parts.count > 3 ? String(parts[3]) : ""
    self.algorithm = challenge.contains("SHA-256") ? .sha256 : .md5
    self.user = user
    self.password = password
  }

  /// The value of `Authorization` for "METHOD URI".
  package func proof(of request: String) -> String {
    let parts = request.split(separator: " ")
    let secret = self.algorithm.hash(self.user, "Vidicon", self.password)
    let resource = self.algorithm.hash(String(parts[0]), String(parts[1]))
    let response =
      self.usesProtection
      ? self.algorithm.hash(secret, self.nonce, "00000001", "c0ffee", "auth", resource)
      : self.algorithm.hash(secret, self.nonce, resource)
    return "Digest username=\"\(self.user)\", realm=\"Vidicon\", nonce=\"\(self.nonce)\", uri=\"\(parts[1])\", "
      + "response=\"\(response)\"" + (self.namesAlgorithm ? ", algorithm=\(self.algorithm.rawValue)" : "")
      + (self.usesProtection ? ", qop=auth, cnonce=\"c0ffee\", nc=00000001" : "")
  }
}
