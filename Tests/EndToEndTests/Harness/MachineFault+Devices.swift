extension MachineFault {
  private static let camera = ["--source", "v4l2:", "--size", "640x480", "--audio", "none"] + VidiconProcess.freePorts

  private static let screen = ["--source", "screen:", "--size", "64x48", "--audio", "none"] + VidiconProcess.freePorts

  private static let missing = ["--source", "v4l2:/dev/video9"] + VidiconProcess.freePorts

  private static let large = ["--source", "bars", "--size", "3840x2160", "--fps", "120"] + VidiconProcess.freePorts

  private static let unknown = stream + ["--encoder", "h264_none"]

  /// A line that starts an X server at the display :7, with options, and waits until it is ready.
  private static func server(_ options: String = "") -> String {
    "mkfifo /tmp/ready && { Xvfb :7 -displayfd 3 \(options) 3>/tmp/ready >/dev/null 2>&1 & } && read ready </tmp/ready"
  }

  /// Faults of cameras, microphones, screens and encoders.
  static let devices: [MachineFault] = [
    MachineFault(
      description: "the user is not in the group of the camera",
      plant: "touch /dev/video0; chgrp video /dev/video0; chmod 660 /dev/video0", arguments: camera, part: "cameras",
      subject: "camera v4l2:/dev/video0", cause: "this user is not in the group video",
      step: .mends("sudo usermod -aG video door  # then log in again"), camera: "card=Door"),
    MachineFault(
      description: "another program has the camera open",
      plant: """
        touch /dev/video0; chmod 666 /dev/video0; cp "$(readlink -f /bin/sleep)" /srv/obs
        setpriv --reuid=door --regid=door --init-groups /srv/obs infinity 3</dev/video0 >/dev/null 2>&1 &
        """, arguments: camera, part: "cameras", subject: "camera v4l2:/dev/video0", verdict: "warning",
      cause: "obs (process ",
      step: .advises("close that program", doing: "kill $(pidof obs) && while pidof obs; do :; done"),
      camera: "card=Door"),
    MachineFault(
      description: "the camera is not connected", plant: "true",
      arguments: missing, part: "cameras", subject: "camera v4l2:/dev/video9", cause: "not connected",
      step: .shows("vidicon devices", "cameras")),
    MachineFault(
      description: "the camera is too small", plant: "true",
      arguments: camera.map { $0 == "640x480" ? "1280x720" : $0 }, part: "cameras",
      subject: "camera v4l2:/dev/video0", verdict: "warning", cause: "YUYV 640x480 at 30 fps is its best",
      step: .advises("lower --size", doing: ""), camera: "card=Door", laterArguments: camera),
    MachineFault(
      description: "the user is not in the group of the microphones",
      plant: "mkdir /dev/snd; touch /dev/snd/pcmC0D0c; chgrp audio /dev/snd/pcmC0D0c; chmod 660 /dev/snd/pcmC0D0c",
      arguments: stream.map { $0 == "none" ? "mic:" : $0 }, part: "microphones",
      subject: "microphone mic:", cause: "you may not use this machine's audio devices",
      step: .mends("sudo usermod -aG audio door  # then log in again"), leavesAnother: true),
    MachineFault(
      description: "there is no display", plant: "true", arguments: screen, part: "screen", subject: "screen",
      cause: "DISPLAY is not set", step: .advises("in the session of the screen", doing: server("-ac")),
      laterEnvironment: ["DISPLAY": ":7"]),
    MachineFault(
      description: "no X server has the display", plant: "true", arguments: screen, part: "screen", subject: "screen",
      cause: "there is no X server at :7", step: .advises("that the X server runs", doing: server("-ac")),
      environment: ["DISPLAY": ":7"]),
    MachineFault(
      description: "the screen is another user's",
      plant: """
        xauth -f /home/door/authority add :7 . "$(mcookie)" 2>/dev/null; chown door /home/door/authority
        \(server("-auth /home/door/authority"))
        """, arguments: screen, part: "screen", subject: "screen", cause: "the X server at :7 rejects the connection",
      step: .advises("set XAUTHORITY to that user's file", doing: ""), environment: ["DISPLAY": ":7"],
      laterEnvironment: ["XAUTHORITY": "/home/door/authority"]),
    MachineFault(
      description: "the encoder is too slow", plant: "true",
      arguments: large, part: "encoder", subject: "encoder of live",
      cause: "times real time, so that frames are dropped",
      step: .advises("give a smaller --size", doing: ""), laterArguments: stream),
    MachineFault(
      description: "the encoder does not exist", plant: "true", arguments: unknown, part: "encoder",
      subject: "encoder of live", cause: "there is no such H.264 encoder",
      step: .advises("choose one of", doing: ""), laterArguments: stream),
  ]
}
