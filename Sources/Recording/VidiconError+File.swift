internal import Libc
internal import Media

extension VidiconError {
  /// Creates the error of a failed system call.
  ///
  /// - Parameters:
  ///   - number: The value of `errno` after the call.
  ///   - path: The file or folder that was passed to the call, as its user gave it.
  ///   - isNewName: Whether the call gives a file a name.
  init(errno number: Int32, path: String, isNewName: Bool = false) {
    let (code, cause, nextStep): (Code, String, String) =
      switch number {
      case ENOSPC: (.noSpace, "the disk is full", "free space, or record to another disk")
      case EDQUOT: (.noSpace, "the disk quota is used up", "free space, or record to another disk")
      case EFBIG:
        (.noSpace, "the file size limit is reached", "record in parts, or raise the limit (ulimit -f)")
      case ENOENT, ENOTDIR: (.notFound, "the folder does not exist", "create it, or give another one")
      case EISDIR: (.invalidSpecification, "it is a folder", "give the name of a file in it")
      case ENAMETOOLONG: (.invalidSpecification, "the name is too long", "give one of at most 250 bytes")
      case EINVAL where isNewName, EILSEQ:
        (
          .invalidSpecification, "the disk does not accept the name (\(String(cString: strerror(number))))",
          "leave characters such as : ? * < > | out of it, or record to another disk"
        )
      case EACCES, EPERM:
        (.notPermitted, "permission is denied", "check the owner and the write permission of the folder")
      case EROFS: (.notPermitted, "the disk is read-only", "record to another disk, or mount it writable")
      case EEXIST: (.alreadyExists, "it exists already", "give another name, or allow overwriting")
      case EMFILE, ENFILE: (.failed, "too many files are open", "raise the limit (ulimit -n)")
      default:
        (.failed, "the disk fails (\(String(cString: strerror(number))))", "check the disk, or record to another one")
      }
    self.init(code, path: path, cause: cause, nextStep: nextStep)
  }
}
