extension MachineFault {
  /// A fault of a folder of recordings.
  private static func recording(
    _ description: String, _ plant: String, folder: String = "/srv/a b", _ cause: String, _ step: Step,
    later: String? = nil
  ) -> MachineFault {
    MachineFault(
      description: description, plant: plant, arguments: stream + Self.recording(in: folder), part: "recordings",
      subject: "recordings of live", cause: cause, step: step,
      laterArguments: later.map { stream + Self.recording(in: $0) })
  }

  /// Options of recordings for which this machine has space enough.
  private static func recording(in folder: String) -> [String] {
    ["--record", "\(folder)/%F_%H-%M-%S.mp4", "--keep-size", "100k", "--keep-free", "100k"]
  }

  private static let recordings: [MachineFault] = [
    recording(
      "the folder of recordings is missing", "true", folder: "/home/door/it's a b",
      "the folder /home/door/it's a b does not exist", .mends(#"mkdir -p '/home/door/it'\''s a b'"#)),
    recording(
      "the folder of recordings is missing in one of root", "true", "does not exist",
      .mends("sudo mkdir -p '/srv/a b' && sudo chown door '/srv/a b'")),
    recording(
      "the folder of recordings is root's", "mkdir '/srv/a b'", "this user may not write to /srv/a b",
      .mends("sudo chown door '/srv/a b'")),
    recording(
      "the folder of recordings is root's, and closed to its owner", "mkdir -m 555 '/srv/a b'",
      "this user may not write to /srv/a b", .mends("sudo chown door '/srv/a b' && chmod u+rwx '/srv/a b'")),
    recording(
      "the folder of recordings is closed by its mode", "mkdir -m 500 '/srv/a b'; chown door '/srv/a b'",
      "this user may not write to /srv/a b", .mends("chmod u+rwx '/srv/a b'")),
    recording(
      "the disk of recordings is read-only",
      "mkdir '/srv/a b'; mount -t tmpfs -o size=10m,mode=777 none '/srv/a b'; mount -o remount,ro '/srv/a b'",
      "mounted read-only", .mends(#"sudo mount -o remount,rw "$(findmnt -no TARGET -T '/srv/a b')""#)),
    recording(
      "a file has the path of the folder", "touch '/srv/a b'", "/srv/a b is a file",
      .advises("move that file", doing: "rm '/srv/a b'; mkdir -m 777 '/srv/a b'")),
    recording(
      "a folder above that of recordings is closed", "chmod 700 /root; mkdir -m 777 /home/door/b", folder: "/root/a",
      "this user may not enter a folder above /root/a", .advises("such as one in its home", doing: ""),
      later: "/home/door/b"),
    recording(
      "the disk of recordings is full",
      """
      mkdir '/srv/a b'; mount -t tmpfs -o size=1m,mode=777 none '/srv/a b'
      head -c 1M /dev/zero >'/srv/a b/other'
      """, "less than what is to stay free", .shows("df -h '/srv/a b'", "100%")),
  ]

  /// Makes a certificate for a name in the user's home, with options of its validity.
  private static func certificate(_ name: String = "a.example", days: Int = 60) -> String {
    """
    cd /home/door; openssl req -newkey rsa:2048 -nodes -keyout k.pem -subj /CN=\(name) -out r.pem 2>/dev/null
    echo subjectAltName=DNS:\(name) >e.cnf
    openssl x509 -req -in r.pem -signkey k.pem -extfile e.cnf -days \(days) -out c.pem 2>/dev/null
    chmod 600 k.pem; chown door k.pem c.pem
    """
  }

  private static let secure =
    stream + [
      "--https-port", "0", "--tls-cert", "/home/door/c.pem", "--tls-key", "/home/door/k.pem", "--host", "a.example",
    ]

  private static let twoNames = secure + ["--host", "b.example"]

  private static let certificates: [MachineFault] = [
    MachineFault(
      description: "the certificate has expired", plant: certificate(days: -1), arguments: secure, part: "certificates",
      subject: "certificate", cause: "has expired",
      step: .shows("openssl x509 -noout -dates -in /home/door/c.pem", "notAfter=")),
    MachineFault(
      description: "the certificate is not for a name", plant: certificate(),
      arguments: twoNames, part: "certificates", subject: "certificate", verdict: "warning",
      cause: "is not for b.example", step: .advises("leave --host b.example out", doing: ""), laterArguments: secure),
    MachineFault(
      description: "the key of the certificate is root's", plant: "\(certificate()); chown root k.pem",
      arguments: secure, part: "certificates", subject: "/home/door/k.pem", cause: "permission denied",
      step: .advises("that this user may read", doing: "chown door /home/door/k.pem")),
  ]

  private static let file = "/home/door/a b.yaml"

  /// A fault of the configuration file.
  private static func configuration(
    _ description: String, _ lines: String, mode: String = "600", owner: String = "door", subject: String = file,
    verdict: String, _ cause: String, _ step: Step
  ) -> MachineFault {
    MachineFault(
      description: description,
      plant: "printf '%s\\n' '\(lines)' >'\(file)'; chmod \(mode) '\(file)'; chown \(owner) '\(file)'",
      arguments: ["--config", file], part: "configuration", subject: subject, verdict: verdict, cause: cause, step: step
    )
  }

  private static let configurations: [MachineFault] = [
    configuration(
      "a key of the file is mistyped", "rtspPotr: 0", subject: "\(file):1:1", verdict: "fault", "unknown key",
      .advises("did you mean \"rtspPort\"?", doing: "sed -i s/rtspPotr/rtspPort/ '\(file)'")),
    configuration(
      "a setting has no effect",
      "streams: [{name: a, source: bars, record: x.mp4}, {name: b, source: bars, keepAge: 3d}]",
      subject: "keepAge of \"b\"", verdict: "warning", "it has no effect",
      .shows("vidicon config print '\(file)'", "keepAge")),
    configuration(
      "the file is root's", "rtspPort: 0", owner: "root", verdict: "fault", "this user may not read it",
      .advises("its owner", doing: "chown door '\(file)'")),
    configuration(
      "all users read the keys of pushes", "streams: [{name: a, source: bars, push: rtmp://192.0.2.1/app/key}]",
      mode: "644", verdict: "warning", "all users of this machine can read it", .mends("chmod 600 '\(file)'")),
  ]

  /// Faults of folders, certificates and the configuration file.
  static let files = recordings + certificates + configurations
}
