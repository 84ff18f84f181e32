import FuzzEntry

@main
enum FuzzAccess {
  static func main() {
    fuzz(.access)
  }
}
