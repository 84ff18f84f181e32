import CaptureDevices
import Testing

@Suite("The user of this process, for commands")
struct CurrentUserTests {
  @Test func `a user joins the group of a device, and the unit of a service has its groups`() {
    #expect(
      CurrentUser.nextStep(joining: "video", user: "door", isService: false)
        == "run: sudo usermod -aG video door, then log in again")
    #expect(CurrentUser.nextStep(joining: "a b", user: "'c d'", isService: false).contains("-aG 'a b' 'c d', then"))
    let service = CurrentUser.nextStep(joining: "plugdev", user: "door", isService: true)
    #expect(service.hasPrefix("add SupplementaryGroups=plugdev to the unit of the service with sudo systemctl edit"))
  }

  @Test func `sudo runs the commands of another user, in whose place it names this one`() {
    let isOfRoot = CurrentUser.substitute == "sudo"
    #expect(isOfRoot || CurrentUser.substitute.hasPrefix("sudo -u "))
    #expect(isOfRoot || !CurrentUser.substitute.contains(CurrentUser.variable))
  }
}
