import Media
import Testing

@Suite("Texts for messages, without passwords and tokens")
struct StringCredentialsTests {
  @Test(arguments: [
    ("rtsp://camera/live", "rtsp://camera/live"), ("RTSP://u:p@camera:554/live", "rtsp://…@camera:554/live"),
    ("rtsp://u:p@ss@camera/", "rtsp://…@camera/"), ("rtsp://token@camera/", "rtsp://…@camera/"),
    ("rtsp://u:p@[fe80::1%25eth0]:8554/a?b=c", "rtsp://…@[fe80::1%25eth0]:8554/a?…"),
    ("rtsp://u:pa/ss@camera/a", "rtsp://…"), ("rtsp://u:pa?ss@camera/a", "rtsp://…"),
    ("rtsp://u:pa#ss@camera/a", "rtsp://…"), ("rtsp://u:pass/a", "rtsp://…"), ("rtsp://u:p@ho st/", "rtsp://…@ho/…"),
    ("rtsp://h/a#transport=udp", "rtsp://h/a"), ("rtsp://h/user=a&password=b", "rtsp://h/…"),
    ("rtmp://h/app/key", "rtmp://h/app/…"), ("rtmp://h/app", "rtmp://h/app"), ("https://", "https://"),
    ("file:http://u:p@h/a", "file:http://…@h/a"), ("--source=rtsp://u:p@h/a", "…rtsp://…@h/a"),
    ("rtps://camera/a", "rtps://camera/a"), ("sesame://u@camera/a", "…"), ("u:sesame://camera", "…"),
    ("anna:sesame", "anna:…"), ("anna:", "anna:"), ("key=value", "key=…"), ("sesame@camera", "…"), ("@", "…"),
    ("plasma", "plasma"), ("", ""), ("v4l2:/dev/video0?fps=30", "v4l2:/dev/video0?fps=30"),
    ("screen::0?region=1,2,3,4", "screen::0?region=1,2,3,4"), ("mic:hw:1,0", "mic:hw:1,0"), ("mic:a@b", "mic:…"),
    ("file:/home/me@work/a.mp4", "file:/home/me@work/a.mp4"), ("file:http:/u:p@h/a", "file:…"),
    ("/etc/vidicon.yaml", "/etc/vidicon.yaml"), ("rtsp:/u:p@h", "…"), ("rtsp:u", "rtsp:…"),
  ])
  func `what may be a password is not shown, and the rest is`(text: String, shown: String) {
    #expect(text.withoutCredentials() == shown)
    #expect(shown.withoutCredentials() == shown, "a text that is shown stays")
  }

  /// A password or token within an address or an argument, raw or percent-encoded, also where parts are missing.
  static func placements(of secret: String) -> [String] {
    [
      "rtsp://anna:\(secret)@cam:554/live", "rtsp://\(secret)@cam/live", "rtsp://\(secret):@cam/live",
      "rtsp://anna:\(secret)@cam", "rtsp://anna:\(secret)/live", "rtsp://anna:\(secret)", "rtsp://anna:\(secret)@/live",
      "rtsp://anna:\(secret)@", "RTSPS://anna:\(secret)@cam/",
      "rtsp:/anna:\(secret)@cam/live", "rtsp:anna:\(secret)@cam/live", "rtsp//anna:\(secret)@cam/live",
      "anna:\(secret)@cam/live", "//anna:\(secret)@cam", "rtsp ://anna:\(secret)@cam/", "rtsp://anna:\(secret)@ca m/",
      "rtsp://an na:\(secret)@cam/", "x://anna:\(secret)@cam/", "rtsp:///anna:\(secret)@cam/",
      "rtsp://anna:\(secret)@cam:0/", "rtsp://anna:\(secret)@cam:65536/", "rtsp://anna:\(secret)@cam:80x/",
      "rtsp://anna:\(secret)@[::1/", "rtsp://[::1]:80/anna:\(secret)@", "rtsp://anna:\(secret)@cam/\"",
      "http://cam/x?token=\(secret)", "http://cam/x?a=b&password=\(secret)&c=d", "http://cam?\(secret)",
      "rtsp://cam/user=anna&password=\(secret)&channel=1", "rtsp://cam/live#\(secret)",
      "srt://cam:9?passphrase=\(secret)",
      "rtmp://cam/app/\(secret)", "rtmps://anna:\(secret)@cam/app/key", "file:http://anna:\(secret)@cam/a.mp4",
      "file:https://cam/a.mp4?token=\(secret)", "file:http:/anna:\(secret)@cam/a.mp4", "anna:\(secret)",
      "password=\(secret)",
      "--user=anna:\(secret)", "source=rtsp://anna:\(secret)@cam/", "mic:anna:\(secret)@cam", "v4l2:anna:\(secret)@cam",
      "screen:anna:\(secret)@cam:0",
    ]
  }

  static let secrets = [
    "Xq7Zw9", "Xq7/Zw9", "Xq7?Zw9", "Xq7#Zw9", "Xq7:Zw9", "Xq7@Zw9", "Xq7@Zw9/Kp3", "Xq7/Zw9@Kp3", "Xq7#Zw9?Kp3/Vb5",
    "Xq7 Zw9",
    "Xq7://Zw9", "Xq7\\Zw9", "Xq7%Zw9", "Xq7%2FZw9", "Xq7&Zw9=Kp3", "Xq7é\u{301}Zw9", "Xq7;Zw9,Kp3", "Xq7[Zw9]", "?Xq7",
    "#Xq7", "/Xq7",
  ]

  @Test(arguments: Self.secrets) func `a secret at no place is shown, and no part of it`(secret: String) {
    let parts = secret.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }.map(String.init)
    for text in Self.placements(of: secret) {
      let shown = text.withoutCredentials()
      // Behind an at sign, a part of a password cannot be distinguished from a host.
      let hidden = secret.contains("@") ? [secret, parts[0]] : parts
      for part in hidden {
        #expect(!shown.contains(part), "\(text) is shown as \(shown)")
      }
      #expect(!shown.contains(secret))
      #expect(shown.withoutCredentials() == shown)
      if text.contains("://") {
        let error = VidiconError(.failed, subject: text, cause: "", nextStep: "")
        #expect(!error.description.contains("Xq7"), "\(text)")
      }
    }
  }

  @Test(arguments: [
    ("rtsp://anna:Xq7@cam/a", "rtsp://…@cam/a"), ("anna:Xq7", "anna:…"), ("password=Xq7/x", "password=…"),
    ("anna:Xq7/clip.mp4", "anna:…"),
    ("rtsp:/anna:Xq7@cam", "rtsp:…"), ("/a/anna:Xq7@cam/b", "/a/…"), ("./anna:Xq7@cam", "./…"),
    ("anna:Xq/7@cam", "anna:…"),
    ("/a/2026-11-22_12:30.mp4", "/a/2026-11-22_12:30.mp4"), ("logo@2x.png", "logo@2x.png"), ("/a b/c", "/a b/c"),
    ("a:", "a:"), ("", ""),
  ])
  func `a path is shown without what may be a password`(path: String, shown: String) {
    #expect(path.pathWithoutCredentials() == shown)
    #expect(shown.pathWithoutCredentials() == shown)
    #expect(VidiconError(.failed, path: path, cause: "x", nextStep: "y").subject == shown)
  }

  @Test func `no bytes make it trap, and what is shown stays`() {
    let alphabet = Array("rtsp://u:p@h[]:#?=%/.é\u{301}\u{0}4 ".unicodeScalars)
    for _ in 0..<20_000 {
      var text = Bool.random() ? "rtsp://" : ""
      for _ in 0..<Int.random(in: 0...24) { text.unicodeScalars.append(alphabet.randomElement()!) }
      let shown = text.withoutCredentials()
      #expect(shown.withoutCredentials() == shown, "\(text.debugDescription)")
    }
  }
}
