import FuzzEntry

@main
enum FuzzControl {
  static func main() {
    fuzz(.control)
  }
}
