/// A configuration file that is a copy, which systemd has made for a service at its start (`LoadCredential=`): systemd 252 makes none at a
/// reload.
struct ServiceCopy: Equatable {
  /// Folder of the copies of the package's service, systemd.exec(5).
  private static let packageFolder = "/run/credentials/\(SystemService.unit)"

  /// Whether the service is that of the package: its reload has root send the text of the file itself, so that the copy is never read again.
  let isOfPackage: Bool

  /// The copy at a path; nil for other files.
  init?(_ path: String, environment: [String: String]) {
    guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty, path.hasPrefix(folder + "/") else {
      return nil
    }
    self.isOfPackage = folder == Self.packageFolder
  }

  /// The line for an owner that expects the file to be read again.
  var note: String {
    self.isOfPackage
      ? "the service has a copy of the file, made at its start; \"systemctl reload vidicon\" has the file itself read, and certificates are "
        + "read again whenever they change"
      : "the service reads a copy of the file, made at its start; have another one made with \"systemctl restart\""
  }
}
