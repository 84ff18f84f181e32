internal import CInference
internal import Media

/// Converts the nodes of a graph to steps of the C kernels, and packs their constants.
struct StepLowering {
  let kernels: vidicon_kernels
  let layout: ArenaLayout
  private(set) var constants: [Float] = []
  private(set) var multiplicationCount = 0
  private var steps: [vidicon_step] = []
  /// Maximum size of a row of zeros, and of the elements below a window, of any convolution, in floats.
  private var zeroCount = 0
  private var patchCount = 0

  init(kernels: vidicon_kernels, layout: ArenaLayout) {
    self.kernels = kernels
    self.layout = layout
  }

  /// Size of the arena in floats: values, a row of zeros, a window, and 64 floats that kernels may read beyond the end.
  var arenaSize: Int {
    self.layout.size + ArenaLayout.aligned(self.zeroCount) + ArenaLayout.aligned(self.patchCount) + 64
  }

  /// Returns the steps after all nodes were lowered, with the offsets of the shared scratch memory.
  func finish() -> [vidicon_step] {
    self.steps.map { step in
      var step = step
      step.zeros = self.layout.size
      step.patch = self.layout.size + ArenaLayout.aligned(self.zeroCount)
      return step
    }
  }

  /// Appends the step of a node.
  mutating func lower(_ node: Graph.Node) throws(ParsingError) {
    var step = vidicon_step()
    step.input = self.layout.places[node.input] ?? 0
    step.output = self.layout.places[node.output] ?? 0
    step.second = node.second.flatMap { self.layout.places[$0] } ?? 0
    (step.input_height, step.input_width, step.input_channels) = Self.sizes(node.inputShape)
    (step.output_height, step.output_width, step.output_channels) = Self.sizes(node.outputShape)
    try self.setActivation(node.activation, of: &step)
    switch node.operation {
    case .convolution(let window, let weights, let bias):
      step.kind = vidicon_step_convolution
      self.setWindow(window, of: &step)
      let depth = window.height * window.width * node.inputShape.channels
      let channels = node.outputShape.channels
      step.weights = try self.reserve(self.kernels.packed_size(channels, depth))
      self.constants.withUnsafeMutableBufferPointer { packed in
        weights.withUnsafeBufferPointer { weights in
          guard let packed = packed.baseAddress, let weights = weights.baseAddress else { return }
          self.kernels.pack(packed + step.weights, weights, channels, depth)
        }
      }
      step.bias = try self.append(bias)
      step.second_channels = node.secondChannels
      if node.secondChannels > 0, node.secondChannels < channels {
        let mask = (0..<channels).map { Float(bitPattern: $0 < node.secondChannels ? .max : 0) }
        step.mask = try self.append(mask)
      }
      self.patchCount = max(self.patchCount, depth)
      self.multiplicationCount += node.outputShape.count * depth
    case .depthwiseConvolution(let window, let weights, let bias):
      step.kind = vidicon_step_depthwise_convolution
      self.setWindow(window, of: &step)
      step.weights = try self.append(weights)
      step.bias = try self.append(bias)
      self.multiplicationCount += node.outputShape.count * window.height * window.width
    case .maxPool(let window):
      step.kind = vidicon_step_max_pool
      self.setWindow(window, of: &step)
    case .add: step.kind = vidicon_step_add
    case .activate: step.kind = vidicon_step_activate
    case .logistic: step.kind = vidicon_step_logistic
    case .resizeBilinear(let alignsCorners, let hasHalfPixelCenters):
      step.kind = vidicon_step_resize_bilinear
      step.aligns_corners = alignsCorners
      step.has_half_pixel_centers = hasHalfPixelCenters
    case .depthToSpace(let size):
      step.kind = vidicon_step_depth_to_space
      step.block_size = size
    case .copy(let copy):
      step.kind = vidicon_step_copy
      step.output += copy.outputOffset
      step.group_count = copy.groupCount
      step.input_group_stride = copy.inputGroupStride
      step.output_group_stride = copy.outputGroupStride
      step.run_count = copy.runCount
      step.run_length = copy.runLength
      step.input_run_stride = copy.inputRunStride
      step.output_run_stride = copy.outputRunStride
    case .clear: step.kind = vidicon_step_clear
    }
    self.steps.append(step)
  }

  private static func sizes(_ shape: Graph.ImageShape) -> (Int, Int, Int) {
    (shape.height, shape.width, shape.channels)
  }

  private mutating func setActivation(
    _ activation: Graph.Activation, of step: inout vidicon_step
  ) throws(ParsingError) {
    switch activation {
    case .none: step.activation = vidicon_activation_none
    case .relu: step.activation = vidicon_activation_relu
    case .relu6: step.activation = vidicon_activation_relu6
    case .prelu(let slopes):
      step.activation = vidicon_activation_prelu
      step.slopes = try self.append(slopes)
    }
  }

  private mutating func setWindow(_ window: Graph.Window, of step: inout vidicon_step) {
    step.kernel_height = window.height
    step.kernel_width = window.width
    step.stride_y = window.strideY
    step.stride_x = window.strideX
    step.pad_top = window.top
    step.pad_left = window.left
    self.zeroCount = max(self.zeroCount, step.input_width * step.input_channels)
  }

  /// Reserves aligned room for constants, and returns its offset in floats.
  private mutating func reserve(_ count: Int) throws(ParsingError) -> Int {
    let place = ArenaLayout.aligned(self.constants.count)
    guard count <= InferencePlan.maximumFloatCount - place else {
      throw ParsingError(.tooLarge, field: "memory of all weights")
    }
    // An array is copied at once; a debug build would iterate over `repeatElement`, for a second with all models.
    self.constants += [Float](repeating: 0, count: place + count - self.constants.count)
    return place
  }

  private mutating func append(_ values: [Float]) throws(ParsingError) -> Int {
    let place = try self.reserve(values.count)
    self.constants.replaceSubrange(place..., with: values)
    return place
  }
}
