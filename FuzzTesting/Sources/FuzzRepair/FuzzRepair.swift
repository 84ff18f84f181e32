import FuzzEntry

@main
enum FuzzRepair {
  static func main() {
    fuzz(.repair)
  }
}
