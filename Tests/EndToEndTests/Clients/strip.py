"""Reads the time of capture from a frame in a browser, as Harness/Timecode.swift does from a file, and draws it into frames of a camera."""

# Reads the timecode strip of the displayed frame: microseconds since 1970, or null. `window.strip()`
STRIP = """
window.strip = (source, width, height) => {
  const size = Math.floor(width / 160) * 2, canvas = document.createElement("canvas");
  canvas.width = 72 * size;
  canvas.height = size;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(source, 0, 0, canvas.width, size, 0, 0, canvas.width, size);
  const pixels = context.getImageData(0, 0, canvas.width, size).data;
  const bits = [];
  for (let cell = 0; cell < 72; cell += 1) {
    let sum = 0, count = 0;
    for (let y = Math.floor(size / 4); y < size - Math.floor(size / 4); y += 1) {
      for (let x = Math.floor(size / 4); x < size - Math.floor(size / 4); x += 1) {
        sum += pixels[(y * canvas.width + cell * size + x) * 4 + 1];
        count += 1;
      }
    }
    bits.push(sum / count > 126 ? 1 : 0);
  }
  let checksum = 0;
  for (let byte = 0; byte < 8; byte += 1) {
    checksum ^= parseInt(bits.slice(byte * 8, byte * 8 + 8).join(""), 2);
    for (let bit = 0; bit < 8; bit += 1) checksum = (checksum << 1 ^ (checksum & 0x80 ? 0x07 : 0)) & 0xff;
  }
  if (checksum !== parseInt(bits.slice(64).join(""), 2)) return null;
  const microseconds = BigInt("0b" + bits.slice(0, 64).join(""));
  return microseconds === 0n ? null : Number(microseconds);
};
"""

# A camera of 640x360 whose frames have the timecode strip, with the time at which they are drawn, above a bar that moves; and a
# microphone that hears a sine of 440 Hz at the left and one of 880 Hz at the right. `window.stripCamera()` returns a MediaStream.
STRIP_CAMERA = """
window.stripCamera = () => {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), [width, height, size] = [640, 360, 8];
  Object.assign(canvas, { width, height });
  let count = 0;
  const draw = () => {
    context.fillStyle = "#404060";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#c0c0c0";
    context.fillRect(count * 8 % 600, 60, 40, 280);
    count += 1;
    const bytes = new Uint8Array(9);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.round(performance.timeOrigin + performance.now())) * 1000n);
    for (let index = 0; index < 8; index += 1) {
      bytes[8] ^= bytes[index];
      for (let bit = 0; bit < 8; bit += 1) bytes[8] = bytes[8] & 0x80 ? bytes[8] << 1 ^ 0x07 : bytes[8] << 1;
    }
    for (let cell = 0; cell < 72; cell += 1) {
      context.fillStyle = bytes[cell >> 3] >> (7 - (cell & 7)) & 1 ? "white" : "black";
      context.fillRect(cell * size, 0, size, size);
    }
  };
  draw();
  setInterval(draw, 1000 / 30);
  const audio = new AudioContext(), channels = audio.createChannelMerger(2), output = audio.createMediaStreamDestination();
  for (const [channel, hertz] of [440, 880].entries()) {
    const tone = new OscillatorNode(audio, { frequency: hertz });
    tone.connect(channels, 0, channel);
    tone.start();
  }
  channels.connect(output);
  audio.resume();
  return new MediaStream([...canvas.captureStream(30).getVideoTracks(), ...output.stream.getAudioTracks()]);
};
"""

# A camera of 640x360 that is white for three of 30 frames a second, and a microphone that hears 1 kHz from the same instant on for as long.
# `window.flashCamera()` returns a MediaStream.
FLASH_CAMERA = """
window.flashCamera = () => {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), [width, height] = [640, 360];
  Object.assign(canvas, { width, height });
  const audio = new AudioContext(), tone = new OscillatorNode(audio, { frequency: 1000 }), volume = new GainNode(audio, { gain: 0 });
  const output = audio.createMediaStreamDestination();
  tone.connect(volume).connect(output);
  tone.start();
  audio.resume();
  const video = canvas.captureStream(0);
  let count = 0;
  setInterval(() => {
    const isWhite = count % 30 < 3;
    volume.gain.value = isWhite ? 0.5 : 0;
    context.fillStyle = isWhite ? "white" : "#404060";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#c0c0c0";
    context.fillRect(count * 8 % 600, 60, 40, 40);
    video.getVideoTracks()[0].requestFrame();
    count += 1;
  }, 1000 / 30);
  return new MediaStream([...video.getVideoTracks(), ...output.stream.getAudioTracks()]);
};
"""
