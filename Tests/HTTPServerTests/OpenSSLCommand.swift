import Foundation
import TestSupport
import Testing

/// Certificates as the program openssl makes, prints and verifies them.
enum OpenSSLCommand {
  /// The lines that openssl prints of a certificate, without surrounding white space.
  static func lines(of certificate: String) async throws -> [String] {
    let text = try await output(ofShell: #"openssl x509 -noout -text -nameopt RFC2253 <<<"$1""#, certificate)
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// Whether a client that trusts an authority accepts the certificate of a server.
  ///
  /// - Parameters:
  ///   - options: What is verified, such as `-verify_hostname cam.local`.
  ///   - intermediate: A certificate that the server sends behind its own.
  static func accepts(
    _ certificate: String, of authority: String, _ options: String, intermediate: String = ""
  ) async throws -> Bool {
    let script = #"""
      folder=$(mktemp -d)
      trap 'rm -rf "$folder"' EXIT
      printf %s "$1" >"$folder/certificate"
      printf %s "$2" >"$folder/authority"
      printf %s "$4" >"$folder/intermediate"
      [ -z "$4" ] || chain=(-untrusted "$folder/intermediate")
      # Each option is a word.
      openssl verify -CAfile "$folder/authority" "${chain[@]}" -purpose sslserver $3 "$folder/certificate" 2>&1
      """#
    let text = String(
      decoding: try await output(ofShell: script, certificate, authority, options, intermediate), as: UTF8.self)
    let isAccepted = text.contains("certificate: OK\n")
    // No verdict is neither.
    try #require(isAccepted || text.contains("verification failed"), "\(text)")
    return isAccepted
  }

  /// A key and a certificate, signed by the key and the certificate of a signer: as by a thief of its file.
  ///
  /// - Parameter name: The subject alternative name, such as `DNS:a.local`.
  static func forged(_ name: String, by signer: String, isAuthority: Bool = false) async throws -> String {
    let script = #"""
      set -e
      folder=$(mktemp -d)
      trap 'rm -rf "$folder"' EXIT
      printf %s "$2" >"$folder/signer"
      printf 'basicConstraints=critical,CA:%s\nsubjectAltName=%s\n' "$3" "$1" >"$folder/extensions"
      openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=forged $1" \
        -keyout "$folder/key" -out "$folder/request"
      openssl x509 -req -in "$folder/request" -CA "$folder/signer" -CAkey "$folder/signer" -set_serial 1 -days 90 \
        -extfile "$folder/extensions" -out "$folder/forged"
      cat "$folder/key" "$folder/forged"
      """#
    return try Self.pem(
      await output(ofShell: script, name, signer, isAuthority ? "TRUE" : "FALSE"))
  }

  /// A key and the certificate of an authority for end entities, with one more extension.
  ///
  /// - Parameter line: A line of x509v3_config(5); empty for none.
  static func authority(with line: String) async throws -> String {
    let script = #"""
      set -e
      folder=$(mktemp -d)
      trap 'rm -rf "$folder"' EXIT
      printf '%s\n' '[req]' 'distinguished_name=name' 'x509_extensions=extensions' '[name]' '[extensions]' \
        'basicConstraints=critical,CA:TRUE,pathlen:0' 'keyUsage=critical,keyCertSign' "$1" >"$folder/settings"
      openssl req -x509 -config "$folder/settings" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
        -subj /CN=foreign -keyout "$folder/key" -out "$folder/certificate"
      cat "$folder/key" "$folder/certificate"
      """#
    return try Self.pem(await output(ofShell: script, line))
  }

  private static func pem(_ output: Data) throws -> String {
    let text = String(decoding: output, as: UTF8.self)
    try #require(text.hasSuffix("-----END CERTIFICATE-----\n"), "openssl made none")
    return text
  }
}
