import FuzzEntry

@main
enum FuzzSTUN {
  static func main() {
    fuzz(.stun)
  }
}
